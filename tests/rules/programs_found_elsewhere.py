"""Programs whose culprit is not the line that fails, nor the one where it shows."""

from __future__ import annotations

from tests.rules.harness import case
from tests.rules.programs_without_effect import STEPS

REFUSED = [
    case(
        "computed_weights_in_a_dict",
        """
        import torch

        def draw(*shape):
            return 0.1 * torch.randn(shape, requires_grad=True)  # CULPRIT

        weights = {"w": draw(3, 2), "b": torch.zeros(2, requires_grad=True)}
        torch.optim.Adam(weights.values())
        """,
        "optimizer-given-nonleaf",
    ),
    case(
        "copy_of_a_module_that_keeps_its_features",
        """
        import copy
        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.first, self.last = nn.Linear(3, 4), nn.Linear(4, 1)

            def forward(self, x):
                hidden = torch.relu(self.first(x))
                self.features = hidden  # CULPRIT
                return self.last(hidden)

        net = Net()
        net(torch.randn(5, 3)).mean().backward()
        best = copy.deepcopy(net)
        """,
        "copy-of-a-result",
        related=["copied here"],
    ),
    case(
        "backward_of_a_sum_of_numbers",
        """
        import torch
        from torch import nn
        nets = [nn.Linear(3, 1), nn.Linear(3, 1)]
        total = 0.0
        for net in nets:
            total += net(torch.randn(5, 3)).square().mean().item()  # CULPRIT
        total.backward()
        """,
        "backward-of-a-number",
        says=["`total.backward` (line 7)"],
    ),
    case(
        "output_and_state_taken_for_one_tensor",
        """
        import torch
        from torch import nn
        rnn, head = nn.GRU(3, 4), nn.Linear(4, 1)
        hidden = rnn(torch.randn(5, 2, 3))  # CULPRIT
        head(hidden).sum().backward()
        """,
        "call-refused",
        related=["takes the tuple"],
    ),
]

_MOMENTUM = """
        import torch
        from torch import nn
        net, velocity = nn.Linear(3, 1), {}
        x = torch.randn(6, 3)
        for step in range(3):
            net.zero_grad(set_to_none=False)
            (net(x) - 1).square().mean().backward()
            for p in net.parameters():
                if p in velocity:
                    velocity[p].mul_(0.9).add_(p.grad)
                else:
                    velocity[p] = KEPT
                p.data.sub_(0.1 * velocity[p])
"""

OTHERS = [
    case(
        "momentum_that_is_the_gradient",
        _MOMENTUM.replace("KEPT", "p.grad  # CULPRIT"),
        "gradient-kept-by-reference",
    ),
    case("momentum_of_its_own", _MOMENTUM.replace("KEPT", "p.grad.clone()")),
    case(
        "search_whose_closure_clears_nothing",
        """
        import torch
        from torch import nn
        net = nn.Linear(3, 1)
        optimizer = torch.optim.LBFGS(net.parameters(), max_iter=4)
        x = torch.randn(6, 3)
        def closure():
            loss = (net(x).tanh() - 0.5).square().mean()
            loss.backward()  # CULPRIT
            return loss
        optimizer.step(closure)
        """,
        "gradients-not-zeroed",
    ),
    case(
        "search_over_two_batches",
        """
        import torch
        from torch import nn
        net = nn.Linear(3, 1)
        optimizer = torch.optim.LBFGS(net.parameters(), max_iter=4)
        x = torch.randn(6, 3)
        def closure():
            optimizer.zero_grad()
            total = 0.0
            for part in x.split(3):
                loss = (net(part).tanh() - 0.5).square().mean()
                loss.backward()
                total += loss.item()
            return total
        optimizer.step(closure)
        """,
    ),
    case(
        "gradient_of_a_detached_feature",
        """
        import torch
        from torch import nn
        kept = {}
        net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
        def keep(module, args, output):
            kept["map"] = output.detach().requires_grad_()  # CULPRIT
        net[0].register_forward_hook(keep)
        scores = net(torch.randn(5, 3))
        torch.autograd.grad(scores[:, 0].sum(), kept["map"])
        """,
        "unused-input-in-grad",
    ),
    case(
        "picture_clamped_to_another_range",
        """
        import torch
        from torch import nn
        net = nn.Linear(4, 4)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        picture = 20 + 200 * torch.rand(6, 4)
        def step_loss():
            better = picture + net(picture / 255)
            return (better.clamp(0, 1) - picture).abs().mean()  # CULPRIT
        """
        + STEPS,
        "saturated-tanh",
        related=["made that large here"],
    ),
    case(
        "logarithm_of_a_quotient_by_inf",
        """
        import torch
        from torch import nn
        net = nn.Linear(2, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        x = torch.tensor([[1.0, 2.0], [400.0, 400.0]])
        with torch.no_grad():
            net.weight.fill_(1.0)
        def step_loss():
            mean = torch.log(1 + torch.exp(net(x)))  # CULPRIT
            share = 2 / (2 + mean)
            return -torch.log(share).mean()
        """
        + STEPS,
        "nan-exp-overflow",
    ),
    case(
        "a_pass_for_each_head",
        """
        import torch
        from torch import nn
        trunk = nn.Sequential(nn.Linear(3, 4), nn.Tanh())
        heads = nn.ModuleDict({"kind": nn.Linear(4, 2), "size": nn.Linear(4, 1)})
        hidden = trunk(torch.randn(5, 3))
        results = {name: head(hidden) for name, head in heads.items()}
        for name, result in results.items():
            loss = result.square().mean()
            loss.backward()  # CULPRIT
        """,
        "shared-trunk-two-backwards",
    ),
]
