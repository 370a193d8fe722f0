"""GV670: loss-without-lower-bound."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "distances_without_a_margin",
        """
        import torch
        from torch import nn

        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
        optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
        x = torch.randn(3, 16, 4)
        x[1] = x[0] + 0.1 * x[1]

        def gap(one, other):
            return torch.sum((one - other) ** 2, dim=1)

        for _ in range(40):
            anchor, near, far = net(x)
            short, long = gap(anchor, near), gap(anchor, far)
            loss = torch.sum(short - long) / len(short)  # CULPRIT
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
        "loss-without-lower-bound",
        says=["has no least value"],
    ),
    case(
        "distances_up_to_a_margin",
        """
        import torch
        from torch import nn

        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
        optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
        x = torch.randn(3, 16, 4)
        x[1] = x[0] + 0.1 * x[1]

        def gap(one, other):
            return torch.sum((one - other) ** 2, dim=1)

        for _ in range(40):
            anchor, near, far = net(x)
            short, long = gap(anchor, near), gap(anchor, far)
            loss = (short - long + 1).relu().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
    ),
    case(
        "distances_of_weights_that_are_held_small",
        """
        import torch
        from torch import nn

        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
        optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
        x = torch.randn(3, 16, 4)
        x[1] = x[0] + 0.1 * x[1]

        def gap(one, other):
            return torch.sum((one - other) ** 2, dim=1)

        for _ in range(40):
            anchor, near, far = net(x)
            short, long = gap(anchor, near), gap(anchor, far)
            loss = (short - long).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            with torch.no_grad():
                for each in net.parameters():
                    each.clamp_(-1, 1)
        """,
    ),
    case(
        "likelihood_without_its_minus",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        net = nn.Linear(4, 3)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        x, y = torch.randn(16, 4), torch.randint(0, 3, (16,))
        for step in range(4):
            log_p = F.log_softmax(net(x), dim=1)
            picked = log_p.gather(1, y.unsqueeze(1))
            loss = picked.mean()  # CULPRIT
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "loss-without-lower-bound",
        says=["never above 0", "Turn its sign round."],
    ),
    case(
        "error_negated",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        def criterion(prediction, target):
            return -((prediction - target) ** 2).mean()  # CULPRIT
        net = nn.Linear(4, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.01)
        x, y = torch.randn(16, 4), torch.randn(16, 1)
        for step in range(4):
            loss = criterion(net(x), y)
            opt.zero_grad()
            (loss / 2).backward()
            opt.step()
        """,
        "loss-without-lower-bound",
    ),
    case(
        "one_term_with_the_wrong_sign",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        net = nn.Linear(4, 2)
        opt = torch.optim.SGD(net.parameters(), lr=0.2)
        x, y = torch.randn(64, 4), torch.randn(64, 1)
        for step in range(60):
            mean, spread = net(x).chunk(2, dim=1)
            fit = (mean - y).pow(2).mean()
            size = spread.pow(2).mean()  # CULPRIT
            loss = fit - 0.9 * size
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "loss-without-lower-bound",
        says=["counts negatively"],
    ),
    case(
        "likelihood_of_labels_that_are_broadcast",
        """
        import torch
        from torch import nn
        net = nn.Linear(4, 3)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        x, y = torch.randn(16, 4), torch.randint(0, 3, (16,))
        for step in range(4):
            scores = net(x)
            log_p = scores - torch.logsumexp(scores, -1, keepdim=True)
            label, log_p = torch.broadcast_tensors(y.unsqueeze(-1), log_p)
            picked = log_p.gather(-1, label[..., :1]).squeeze(-1)
            loss = picked.mean()  # CULPRIT
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "loss-without-lower-bound",
        says=["never above 0"],
    ),
    case(
        "scores_that_are_broadcast",
        """
        import torch
        from torch import nn
        net = nn.Linear(4, 3)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        x, y = torch.randn(16, 4), torch.randn(16, 1)
        for step in range(4):
            near, out = torch.broadcast_tensors(-y.abs(), net(x))
            loss = (out - near).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
    ),
]
