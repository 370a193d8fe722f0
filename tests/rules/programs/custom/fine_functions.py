"""Functions of the user that are right."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "a_right_function",
        """
        import torch
        class Mul(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, w, scale):
                ctx.save_for_backward(x, w)
                ctx.scale = scale
                return x * w * scale
            @staticmethod
            def backward(ctx, g):
                x, w = ctx.saved_tensors
                gx = gw = None
                if ctx.needs_input_grad[0]:
                    gx = g * w * ctx.scale
                if ctx.needs_input_grad[1]:
                    gw = g * x * ctx.scale
                return gx, gw, None
        x = torch.ones(3)
        w = torch.ones(3, requires_grad=True)
        Mul.apply(x, w, 2.0).sum().backward()
        """,
    ),
    case(
        "a_straight_through_estimator",
        """
        import torch
        class Round(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x.round()
            @staticmethod
            def backward(ctx, g):
                return g
        w = torch.tensor([0.3, 1.7], requires_grad=True)
        Round.apply(w).sum().backward()
        """,
    ),
    case(
        "a_gradient_reversal",
        """
        import torch
        class Reverse(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, alpha):
                ctx.alpha = alpha
                return x.view_as(x)
            @staticmethod
            def backward(ctx, g):
                return -ctx.alpha * g, None
        w = torch.ones(2, requires_grad=True)
        Reverse.apply(w * 2, 0.5).sum().backward()
        """,
    ),
    case(
        "an_in_place_function_that_says_so",
        """
        import torch
        class Double(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                x.mul_(2)
                ctx.mark_dirty(x)
                return x
            @staticmethod
            def backward(ctx, g):
                return 2 * g
        w = torch.ones(3, requires_grad=True)
        Double.apply(w * 1).sum().backward()
        """,
    ),
    case(
        "running_statistics_updated",
        """
        import torch
        class Center(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, running):
                running.mul_(0.9).add_(0.1 * x.mean())
                return x - 1.0
            @staticmethod
            def backward(ctx, g):
                return g, None
        running = torch.zeros(())
        w = torch.ones(3, requires_grad=True)
        for _ in range(2):
            Center.apply(w * 2, running).sum().backward()
        """,
    ),
    case(
        "a_mask_on_ctx",
        """
        import torch
        class Relu(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.mask = x > 0
                return x.clamp(min=0)
            @staticmethod
            def backward(ctx, g):
                return g * ctx.mask
        w = torch.tensor([1.0, -1.0], requires_grad=True)
        Relu.apply(w).sum().backward()
        """,
    ),
    case(
        "broadcasting_summed_by_autograd",
        """
        import torch
        class Add(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, b):
                return x + b
            @staticmethod
            def backward(ctx, g):
                return g, g
        x = torch.ones(4, 3, requires_grad=True)
        b = torch.ones(3, requires_grad=True)
        Add.apply(x, b).sum().backward()
        """,
    ),
    case(
        "apply_of_an_instance_that_keeps_nothing",
        """
        import torch
        class Half(torch.autograd.Function):
            def __init__(self):
                self.factor = 0.5
            @staticmethod
            def forward(ctx, x):
                ctx.factor = 0.5
                return x * ctx.factor
            @staticmethod
            def backward(ctx, g):
                return g * ctx.factor
        w = torch.tensor([1.0, -1.0], requires_grad=True)
        Half().apply(w).sum().backward()
        """,
    ),
    case(
        "saves_its_output_and_a_mask_for_a_second_derivative",
        """
        import torch
        class Soft(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                out, positive = torch.tanh(x), (x > 0).float()
                ctx.save_for_backward(out, positive)
                return out
            @staticmethod
            def backward(ctx, grad):
                out, positive = ctx.saved_tensors
                return grad * (1 - out * out) + 0 * positive
        torch.manual_seed(0)
        layer = torch.nn.Linear(1, 4)
        t = torch.randn(6, 1, requires_grad=True)
        u = Soft.apply(layer(t)).sum(1)
        (du,) = torch.autograd.grad(u.sum(), t, create_graph=True)
        (du - 2).pow(2).mean().backward()
        """,
    ),
    case(
        "intermediate_saved_and_a_graph_that_nobody_differentiates",
        """
        import torch
        class Swish(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                sig = torch.sigmoid(x)
                ctx.save_for_backward(x, sig)
                return x * sig
            @staticmethod
            def backward(ctx, grad):
                x, sig = ctx.saved_tensors
                return grad * (sig + x * sig * (1 - sig))
        torch.manual_seed(0)
        layer = torch.nn.Linear(1, 4)
        t = torch.randn(6, 1, requires_grad=True)
        u = Swish.apply(layer(t)).sum(1)
        (du,) = torch.autograd.grad(u.sum(), t, create_graph=True)
        print(du.norm().item())
        (u - 1).pow(2).mean().backward()
        """,
    ),
    case(
        "tangents_by_two_backward_passes",
        """
        import torch
        class Swish(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                sig = torch.sigmoid(x)
                ctx.save_for_backward(x, sig)
                return x * sig
            @staticmethod
            def backward(ctx, grad):
                x, sig = ctx.saved_tensors
                return grad * (sig + x * sig * (1 - sig))
        x = torch.randn(6, requires_grad=True)
        v = torch.ones(6, requires_grad=True)
        y = Swish.apply(x)
        (vjp,) = torch.autograd.grad(y, x, v, create_graph=True)
        (tangent,) = torch.autograd.grad(vjp, v, torch.ones(6))
        print(tangent)
        """,
    ),
    case(
        "gradient_by_hand_of_a_term_without_a_weight",
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
                return gradient, None
        w = torch.nn.Parameter(torch.ones(3))
        opt = torch.optim.SGD([w], lr=0.1)
        for step in range(3):
            guided = Given.apply(w * 2, torch.tensor([0.1, -0.2, 0.3]))
            loss = guided + 0.01 * w.square().sum()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
    ),
    case(
        "marked_write_of_a_function_that_is_written_again",
        """
        import torch

        class Jitter(torch.autograd.Function):
            @staticmethod
            def forward(ctx, values):
                values += torch.full_like(values, 0.1)
                ctx.mark_dirty(values)
                return values

            @staticmethod
            def backward(ctx, grad):
                return grad

        w = torch.randn(6, requires_grad=True)
        for step in range(2):
            seen = Jitter.apply(w * 2)
            seen.clamp_(min=0)
            w.grad = None
            seen.sum().backward()
        """,
    ),
]
