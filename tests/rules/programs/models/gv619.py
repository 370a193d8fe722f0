"""GV619: softmax-over-batch."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "gather_of_a_softmax_over_the_batch",
        """
        import torch
        from torch import nn
        def cross_entropy(logits, y):
            logp = torch.log_softmax(logits, dim=0)  # CULPRIT
            return -logp.gather(1, y.unsqueeze(1)).mean()
        net = nn.Linear(5, 3)
        cross_entropy(net(torch.randn(4, 5)), torch.tensor([0, 1, 2, 0])).backward()
        """,
        "softmax-over-batch",
        says=["`gather`", "dimension 1"],
    ),
    case(
        "log_softmax_layer_over_the_batch",
        """
        import torch
        import torch.nn as nn

        class Head(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(4, 3)
                self.norm = nn.LogSoftmax(dim=0)  # CULPRIT

            def forward(self, x):
                return self.norm(self.fc(x))

        torch.manual_seed(0)
        head = Head()
        opt = torch.optim.SGD(head.parameters(), lr=0.1)
        loss_fn = nn.NLLLoss()
        x, y = torch.randn(12, 4), torch.randint(0, 3, (12,))
        for _ in range(3):
            loss = loss_fn(head(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "softmax-over-batch",
    ),
    case(
        "log_softmax_over_the_batch",
        """
        import torch
        import torch.nn as nn
        net = nn.Linear(4, 3)
        x, y = torch.randn(8, 4), torch.randint(0, 3, (8,))
        scores = net(x)
        logp = torch.log_softmax(scores, dim=0)  # CULPRIT
        loss = nn.functional.nll_loss(logp, y)
        loss.backward()
        """,
        "softmax-over-batch",
        says=["dimension 0 of shape (8, 3)", "dimension 1"],
    ),
    case(
        "softmax_layer_over_the_batch",
        """
        import torch
        import torch.nn as nn
        net = nn.Sequential(nn.Linear(4, 3), nn.ReLU())
        def classify(x):
            return torch.softmax(net(x), 0)  # CULPRIT
        loss_fn = nn.NLLLoss()
        for step in range(2):
            p = classify(torch.randn(6, 4))
            loss = loss_fn(torch.log(p + 1e-8), torch.randint(0, 3, (6,)))
            loss.backward()
        """,
        "softmax-over-batch",
    ),
    case(
        "classes_of_a_softmax_by_index",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        net = nn.Linear(4, 3)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        x, y = torch.randn(8, 4), torch.randint(0, 3, (8,))
        for _ in range(3):
            p = torch.softmax(net(x), dim=0)  # CULPRIT
            loss = -p[torch.arange(8), y].log().mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "softmax-over-batch",
    ),
    case(
        "softmax_layer_judged_by_argmax",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.f = nn.Linear(4, 3)
                self.out = nn.Softmax(dim=0)  # CULPRIT
            def forward(self, x):
                return self.out(self.f(x))
        net = Net()
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        x, y = torch.randn(8, 4), torch.randint(0, 3, (8,))
        onehot = F.one_hot(y, 3).float()
        for _ in range(3):
            p = net(x)
            loss = F.mse_loss(p, onehot)
            opt.zero_grad()
            loss.backward()
            opt.step()
            acc = (p.argmax(dim=1) == y).float().mean()
        """,
        "softmax-over-batch",
        says=["`eq`"],
    ),
    case(
        "softmax_over_steps_of_a_tagger",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        seq = torch.randn(5, 7, 3)
        tags = torch.randint(0, 4, (5, 7))
        o = nn.Linear(3, 4)
        opt = torch.optim.SGD(o.parameters(), lr=0.1)
        for _ in range(3):
            lp = F.log_softmax(o(seq), dim=1)  # CULPRIT
            loss = F.nll_loss(lp.view(-1, 4), tags.view(-1))
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "softmax-over-batch",
        says=["dimension 2"],
    ),
    case(
        "soft_targets_of_a_teacher",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F
        teacher, student = nn.Linear(5, 4), nn.Linear(5, 4)
        opt = torch.optim.SGD(teacher.parameters(), lr=0.1)
        x, y = torch.randn(8, 5), torch.randint(0, 4, (8,))
        F.cross_entropy(teacher(x), y).backward()
        opt.step()

        def soften(logits, log=False):
            how = F.log_softmax if log else F.softmax
            return how(logits / 2, dim=0)  # CULPRIT

        opt = torch.optim.SGD(student.parameters(), lr=0.1)
        x = torch.randn(8, 5)
        with torch.no_grad():
            wanted = soften(teacher(x))
        loss = F.kl_div(soften(student(x), log=True), wanted, reduction="batchmean")
        loss.backward()
        opt.step()
        """,
        "softmax-over-batch",
        says=["Write `dim=1`"],
    ),
]
