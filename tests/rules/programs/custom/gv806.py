"""GV806: custom-fn-wrong-formula."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "wrong_power",
        """
        import torch
        class Cube(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x ** 3
            @staticmethod
            def backward(ctx, g):
                x, = ctx.saved_tensors
                return 2 * x ** 2 * g  # CULPRIT
        x = torch.tensor([2.0, 3.0], requires_grad=True)
        Cube.apply(x).sum().backward()
        """,
        "custom-fn-wrong-formula",
        says=["0.6667"],
    ),
    case(
        "wrong_sign_in_a_helper_line",
        """
        import torch
        class Sub(torch.autograd.Function):
            @staticmethod
            def forward(ctx, a, b):
                return a - b
            @staticmethod
            def backward(ctx, g):
                ga = g
                gb = g  # CULPRIT
                return ga, gb
        a = torch.ones(2, requires_grad=True)
        b = torch.ones(2, requires_grad=True)
        Sub.apply(a, b).pow(2).sum().backward()
        """,
        "custom-fn-wrong-formula",
    ),
    case(
        "wrong_formula_found_by_gradcheck",
        """
        import torch
        class Square(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * x
            @staticmethod
            def backward(ctx, g):
                x, = ctx.saved_tensors
                return x * g  # CULPRIT
        x = torch.tensor([2.0], dtype=torch.float64, requires_grad=True)
        torch.autograd.gradcheck(Square.apply, (x,))
        """,
        "custom-fn-wrong-formula",
    ),
    case(
        "gradients_in_the_wrong_order",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        class Gate(torch.autograd.Function):
            @staticmethod
            def forward(ctx, value, gate):
                part = gate.sigmoid()
                ctx.save_for_backward(value, part)
                return value * part
            @staticmethod
            def backward(ctx, grad):
                value, part = ctx.saved_tensors
                grad_value = grad * part
                grad_gate = grad * value * part * (1 - part)
                return grad_gate, grad_value  # CULPRIT
        net = nn.Linear(40, 400)
        opt = torch.optim.Adam(net.parameters())
        for _ in range(3):
            value, gate = net(torch.randn(60, 40)).chunk(2, dim=-1)
            opt.zero_grad()
            Gate.apply(value, gate).square().mean().backward()
            opt.step()
        """,
        "custom-fn-wrong-formula",
        says=["`value` and `gate` in the wrong order"],
    ),
    case(
        "gradient_that_was_given_is_not_used",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        class Swish(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                s = x.sigmoid()
                ctx.save_for_backward(x, s)
                return x * s
            @staticmethod
            def backward(ctx, grad):
                x, s = ctx.saved_tensors
                local = s * (1 + x * (1 - s))
                return local  # CULPRIT
        net = nn.Linear(4, 3)
        opt = torch.optim.Adam(net.parameters())
        for _ in range(3):
            opt.zero_grad()
            Swish.apply(net(torch.randn(6, 4))).square().mean().backward()
            opt.step()
        """,
        "custom-fn-wrong-formula",
        says=["backward` ignores `grad", "Return `grad"],
    ),
    case(
        "rounding_by_the_largest_weight",
        """
        import torch

        class FakeQuant(torch.autograd.Function):
            @staticmethod
            def forward(ctx, w):
                peak = w.abs().amax()
                return torch.round(w / peak * 7) * peak / 7

            @staticmethod
            def backward(ctx, grad):
                return grad

        w = torch.randn(8, 4, requires_grad=True)
        FakeQuant.apply(w).square().sum().backward()
        """,
    ),
    case(
        "gradient_by_hand_without_the_weight_of_its_term",
        """
        import torch
        class Given(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, gradient):
                ctx.save_for_backward(gradient)
                return x.new_zeros(1)
            @staticmethod
            def backward(ctx, grad_output):
                (gradient,) = ctx.saved_tensors
                return gradient, None  # CULPRIT
        w = torch.nn.Parameter(torch.ones(3))
        opt = torch.optim.SGD([w], lr=0.1)
        for step in range(3):
            guided = Given.apply(w * 2, torch.tensor([0.1, -0.2, 0.3]))
            loss = 5 * guided + 0.01 * w.square().sum()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "custom-fn-wrong-formula",
        says=["backward` ignores `grad", "Return `grad"],
    ),
]
