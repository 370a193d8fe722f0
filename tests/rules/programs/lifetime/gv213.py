"""GV213: unused-input-in-grad."""

from __future__ import annotations

from tests.rules.harness import Case, case
from tests.rules.shared import script

PROGRAMS: list[Case] = [
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
        "grad_of_a_view_made_later",
        """
        import torch
        x = torch.randn(2, 3, requires_grad=True)
        y = x.pow(2).sum()
        flat = x.view(-1)  # CULPRIT
        (g,) = torch.autograd.grad(y, flat)
        """,
        "unused-input-in-grad",
        says=["`flat`", "later", "`x`"],
    ),
    case(
        "grad_of_an_unused_leaf",
        """
        import torch
        a = torch.tensor(2.0, requires_grad=True)
        b = torch.tensor(3.0, requires_grad=True)
        loss = a ** 2
        print(b)
        ga, gb = torch.autograd.grad(loss, [a, b])  # CULPRIT
        """,
        "unused-input-in-grad",
        says=["`b`"],
    ),
    case(
        "second_input_unused",
        """
        import torch
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        y = torch.tensor([3.0], requires_grad=True)
        loss = (x ** 2).sum()
        gx, gy = torch.autograd.grad(loss, (x, y))  # CULPRIT
        """,
        "unused-input-in-grad",
    ),
    case(
        "clone_made_later",
        """
        import torch
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        loss = (x ** 2).sum()
        x2 = x.clone()  # CULPRIT
        (g,) = torch.autograd.grad(loss, [x2])
        """,
        "unused-input-in-grad",
    ),
    case(
        "slice_made_for_the_call",
        """
        import torch
        x = torch.randn(3, requires_grad=True)
        loss = (x ** 2).sum()
        g0 = torch.autograd.grad(loss, x[0])  # CULPRIT
        """,
        "unused-input-in-grad",
    ),
    case(
        "second_derivative_of_a_linear_term",
        """
        import torch
        w = torch.ones(3, requires_grad=True)
        x = torch.ones(3, requires_grad=True)
        (slope,) = torch.autograd.grad((w * x).sum(), x, create_graph=True)
        (bend,) = torch.autograd.grad(slope.sum(), x)  # CULPRIT
        """,
        "unused-input-in-grad",
        says=["`slope.sum()`", "the gradient that line 4 took", "linear in it"],
    ),
    case(
        "derivative_through_a_list",
        script("""
t = torch.rand(5, 4, requires_grad=True)
first, = torch.autograd.grad(net(t).sum(), t, create_graph=True)
first = torch.tensor(first.tolist(), requires_grad=True)  # CULPRIT
second, = torch.autograd.grad(first.sum(), t)
"""),
        "unused-input-in-grad",
        says=("the graph between them was cut in line 11",),
    ),
    case(
        "gradient_of_a_parameter_that_forward_forgot",
        """
        import torch
        from torch import nn

        class Scaled(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = nn.Linear(3, 1)
                self.gain = nn.Parameter(torch.ones(1))

            def forward(self, x):
                return self.inner(x)

        net = Scaled()
        for step in range(2):
            loss = net(torch.randn(4, 3)).pow(2).mean()
            wanted = list(net.parameters())
            grads = torch.autograd.grad(loss, wanted)  # CULPRIT
            with torch.no_grad():
                for p, g in zip(wanted, grads):
                    p -= 0.1 * g
        """,
        "unused-input-in-grad",
        says=[
            "It was computed from `inner.bias` and `inner.weight`",
            "Compute `loss` from `gain`.",
        ],
    ),
]

# Each can be mended in a second line, too: the one marked ``# INSTEAD``.
TWO_PLACES: list[Case] = [
    case(
        "slope_of_a_product_that_nothing_used",
        """
        import torch
        a, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
        product = a * b  # CULPRIT
        total = (a + 1).sum()
        torch.autograd.grad(total, [product])  # INSTEAD
        """,
        "unused-input-in-grad",
        says=["`total` was not computed from `product`"],
    ),
]
