"""GV679: loss-of-constants."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "distilled_from_the_teacher_twice",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F

        torch.manual_seed(0)
        teacher, student = nn.Linear(4, 3), nn.Linear(4, 3)
        optimizer = torch.optim.SGD(student.parameters(), lr=0.1)
        for step in range(3):
            x, y = torch.randn(8, 4), torch.randint(0, 3, (8,))
            with torch.no_grad():
                wise = teacher(x)
            logits = student(x)
            soft = F.log_softmax(wise / 2, dim=1)  # CULPRIT
            wanted = F.softmax(wise / 2, dim=1)
            distilled = F.kl_div(soft, wanted, reduction="batchmean")
            loss = F.cross_entropy(logits, y) + 4 * distilled
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
        "loss-of-constants",
        says=["`soft`"],
    ),
    case(
        "consistency_of_the_input_in_place_of_the_output",
        """
        import torch
        from torch import nn

        class Loss:
            def consistency(self, spectrum, measured):
                return (spectrum - measured).abs().square().mean()

            def __call__(self, out, batch):
                image = (out - batch["target"]).abs().mean()
                seen, known = torch.fft.rfft(batch["seen"]), batch["measured"]
                data = self.consistency(seen, known)  # CULPRIT
                return image + 0.3 * data

        net, loss = nn.Linear(6, 6), Loss()
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            batch = {"seen": torch.randn(4, 6), "target": torch.randn(4, 6)}
            batch["measured"] = torch.fft.rfft(batch["target"])
            opt.zero_grad()
            loss(net(batch["seen"]), batch).backward()
            opt.step()
        """,
        "loss-of-constants",
    ),
    case(
        "teacher_that_was_trained_before_on_both_sides",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F

        def fit(net, data, loss_of, rate):
            optimizer = torch.optim.SGD(net.parameters(), lr=rate)
            for x, y in data:
                optimizer.zero_grad()
                loss_of(x, y).backward()
                optimizer.step()

        torch.manual_seed(0)
        teacher = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 3))
        student = nn.Linear(4, 3)
        data = [(torch.randn(8, 4), torch.randint(3, (8,))) for _ in range(5)]

        def both(x, y, warmth=2.0):
            with torch.no_grad():
                logits = teacher(x) / warmth
            log_probs = F.log_softmax(logits, dim=1)  # CULPRIT
            soft = F.kl_div(log_probs, logits.softmax(1), reduction="batchmean")
            return F.cross_entropy(student(x), y) + soft

        fit(teacher, data, lambda x, y: F.cross_entropy(teacher(x), y), 0.1)
        fit(student, data, both, 0.1)
        """,
        "loss-of-constants",
    ),
]
