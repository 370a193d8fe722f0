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
]
