"""GV308: stack-of-items."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "numbers_as_a_list",
        """
        import torch
        w = torch.tensor([1.0, 2.0], requires_grad=True)
        b = torch.tensor([1.0], requires_grad=True)
        vals = (w * 2).tolist()  # CULPRIT
        loss = (torch.tensor(vals) * b).sum()
        loss.backward()
        """,
        "stack-of-items",
    ),
    case(
        "numbers_in_a_legacy_constructor",
        """
        import torch
        from torch import nn
        net, head = nn.Linear(2, 1), nn.Linear(1, 1)
        outs = []
        for x in torch.randn(3, 2):
            outs.append(net(x).item())  # CULPRIT
        feat = torch.Tensor(outs).unsqueeze(1)
        loss = head(feat).pow(2).mean()
        loss.backward()
        """,
        "stack-of-items",
    ),
    case(
        "items_collected_in_a_loop",
        """
        import torch
        from torch import nn

        policy, baseline = nn.Linear(3, 2), nn.Linear(3, 1)
        opt = torch.optim.Adam([*policy.parameters(), *baseline.parameters()])
        for episode in range(2):
            log_probs, values = [], []
            for t in range(4):
                state = torch.randn(3)
                logp = torch.log_softmax(policy(state), 0)[t % 2]
                log_probs.append(logp.item())  # CULPRIT
                values.append(baseline(state))
            stacked = torch.tensor(log_probs)
            loss = -(stacked * torch.cat(values)).sum()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "stack-of-items",
        says=["makes one of a list"],
        related=["comes back as a constant"],
    ),
    case(
        "item_scales_the_loss",
        """
        import torch

        w = torch.tensor([1.5], requires_grad=True)
        scale = torch.tensor([0.7], requires_grad=True)
        factor = (scale * 3).exp().item()  # CULPRIT
        loss = (w * factor).pow(2).sum()
        loss.backward()
        """,
        "stack-of-items",
    ),
    case(
        "losses_logged_before_a_constructor_takes_them",
        """
        import torch
        from torch import nn

        class Weighted(nn.Module):
            def __init__(self, tasks):
                super().__init__()
                self.tasks = nn.ModuleList(tasks)
                self.sigma = nn.Parameter(torch.ones(len(tasks)))

            def forward(self, x):
                losses = [task(x).pow(2).mean() for task in self.tasks]
                self.last = [each.item() for each in losses]
                both = torch.Tensor(losses)  # CULPRIT
                return (both / self.sigma**2 + self.sigma.log()).sum()

        model = Weighted([nn.Linear(3, 1), nn.Linear(3, 1)])
        opt = torch.optim.Adam(model.parameters(), lr=0.01)
        for step in range(3):
            loss = model(torch.randn(4, 3))
            opt.zero_grad()
            loss.backward()
            opt.step()
            print(model.last)
        """,
        "stack-of-items",
        says=["the tensors of `losses`"],
        engines=("torch",),  # the other one records the constructor: a copy
    ),
    case(
        "losses_logged_before_a_list_of_floats",
        """
        import torch
        from torch import nn
        tasks = [nn.Linear(3, 1), nn.Linear(3, 1)]
        sigma = torch.ones(2, requires_grad=True)
        opt = torch.optim.SGD([*tasks[0].parameters(), *tasks[1].parameters(), sigma])
        for step in range(3):
            x = torch.randn(4, 3)
            losses = [task(x).pow(2).mean() for task in tasks]
            print([each.item() for each in losses])
            both = torch.tensor([float(each) for each in losses])  # CULPRIT
            opt.zero_grad()
            (both / sigma**2 + sigma.log()).sum().backward()
            opt.step()
        """,
        "stack-of-items",
    ),
]

# Each can be mended in a second line, too: the one marked ``# INSTEAD``.
TWO_PLACES: list[Case] = [
    case(
        "numbers_kept_and_made_a_tensor_later",
        """
        import torch
        policy, value = torch.nn.Linear(3, 1), torch.nn.Linear(3, 1)
        opt = torch.optim.SGD([*policy.parameters(), *value.parameters()], lr=0.1)
        kept, rewards = [], []
        for step in range(4):
            state = torch.randn(3)
            kept.append(policy(state).squeeze().item())  # CULPRIT
            rewards.append(0.3 * step)
        returns = torch.tensor(rewards)
        scores = torch.tensor(kept)  # INSTEAD
        error = value(torch.ones(3)) - returns
        loss = (scores * error.detach()).sum() + error.pow(2).sum()
        loss.backward()
        """,
        "stack-of-items",
        says=["come back in line 10"],
    ),
]
