"""GV634: weights-of-an-average."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "an_average_that_runs_away",
        """
        import torch

        torch.manual_seed(0)
        net = torch.nn.Linear(4, 2)
        shadow = [p.detach().clone() for p in net.parameters()]
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(12):
            x = torch.randn(8, 4)
            optimizer.zero_grad()
            (net(x) - x[:, :2]).pow(2).mean().backward()
            optimizer.step()
            with torch.no_grad():
                for kept, p in zip(shadow, net.parameters()):
                    gap = kept - p
                    kept.add_(gap * (1 - 0.95))  # CULPRIT
        """,
        "weights-of-an-average",
        says=["without bound"],
        related=["average created here"],
    ),
    case(
        "an_average_of_a_list_that_runs_away",
        """
        import torch

        torch.manual_seed(0)
        net = torch.nn.Linear(4, 2)
        kept = [p.detach().clone() for p in net.parameters()]
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(12):
            x = torch.randn(8, 4)
            optimizer.zero_grad()
            (net(x) - x[:, :2]).pow(2).mean().backward()
            optimizer.step()
            with torch.no_grad():
                gap = torch._foreach_sub(kept, list(net.parameters()))
                torch._foreach_add_(kept, gap, alpha=1 - 0.95)  # CULPRIT
        """,
        "weights-of-an-average",
        says=["without bound"],
    ),
    case(
        "an_average_whose_weights_are_both_large",
        """
        import copy
        import torch

        torch.manual_seed(0)
        net = torch.nn.Linear(4, 2)
        teacher = copy.deepcopy(net).requires_grad_(False)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(12):
            x = torch.randn(8, 4)
            loss = (net(x) - x[:, :2]).pow(2).mean()
            loss = loss + 0.1 * (net(x) - teacher(x)).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            with torch.no_grad():
                for slow, fast in zip(teacher.parameters(), net.parameters()):
                    slow.mul_(0.9).add_(fast, alpha=0.9)  # CULPRIT
        """,
        "weights-of-an-average",
        says=["add up to 1.8"],
    ),
    case(
        "a_target_that_keeps_a_hundredth",
        """
        import copy
        import torch

        torch.manual_seed(0)
        critic = torch.nn.Linear(4, 1)
        target = copy.deepcopy(critic)
        optimizer = torch.optim.Adam(critic.parameters(), lr=0.01)
        tau = 0.01
        for _ in range(12):
            state, after = torch.randn(8, 4), torch.randn(8, 4)
            with torch.no_grad():
                wanted = state.sum(1, keepdim=True) + 0.9 * target(after)
            loss = (critic(state) - wanted).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            for slow, fast in zip(target.parameters(), critic.parameters()):
                slow.data.copy_(tau * slow.data + (1 - tau) * fast.data)  # CULPRIT
        """,
        "weights-of-an-average",
        says=["Exchange the two weights"],
    ),
    case(
        "averages_of_a_list_that_follow",
        """
        import copy
        import torch

        torch.manual_seed(0)
        net = torch.nn.Linear(4, 2)
        teacher = copy.deepcopy(net).requires_grad_(False)
        kept = [p.detach().clone() for p in net.parameters()]
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(12):
            x = torch.randn(8, 4)
            optimizer.zero_grad()
            (net(x) - x[:, :2]).pow(2).mean().backward()
            optimizer.step()
            with torch.no_grad():
                own = list(net.parameters())
                torch._foreach_lerp_(list(teacher.parameters()), own, 0.05)
                gap = torch._foreach_sub(kept, own)
                torch._foreach_mul_(gap, 0.05)
                torch._foreach_sub_(kept, gap)
        """,
    ),
]
