"""Programs with an ``autograd.Function`` of the user, wrong and right."""

from __future__ import annotations

from tests.rules.harness import case

WRONG = [
    # ---- what backward returns ------------------------------------------------------
    case(
        "one_gradient_for_two_inputs",
        """
        import torch
        from torch.autograd import Function
        class Scale(Function):
            @staticmethod
            def forward(ctx, x, factor):
                ctx.factor = factor
                return x * factor
            @staticmethod
            def backward(ctx, g):
                scaled = g * ctx.factor
                return scaled  # CULPRIT
        y = Scale.apply(torch.ones(2, requires_grad=True), 3.0)
        y.sum().backward()
        """,
        "custom-fn-wrong-number-of-grads",
        says=["2 inputs (x, factor)", "1 gradient"],
    ),
    case(
        "too_many_gradients",
        """
        import torch
        class Add(torch.autograd.Function):
            @staticmethod
            def forward(ctx, a, b):
                return a + b
            @staticmethod
            def backward(ctx, g):
                if g is None:
                    return None, None
                return g, g, g  # CULPRIT
        a = torch.ones(2, requires_grad=True)
        Add.apply(a, torch.ones(2)).sum().backward()
        """,
        "custom-fn-wrong-number-of-grads",
    ),
    case(
        "reduction_not_undone",
        """
        import torch
        class Total(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x.sum(0)
            @staticmethod
            def backward(ctx, g):
                return g  # CULPRIT
        x = torch.ones(4, 3, requires_grad=True)
        Total.apply(x).sum().backward()
        """,
        "custom-fn-wrong-shape",
    ),
    case(
        "gradients_swapped",
        """
        import torch
        class Linear(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, w):
                ctx.save_for_backward(x, w)
                return x @ w
            @staticmethod
            def backward(ctx, g):
                x, w = ctx.saved_tensors
                return x.T @ g, g @ w.T  # CULPRIT
        x = torch.ones(4, 3, requires_grad=True)
        w = torch.ones(3, 2, requires_grad=True)
        Linear.apply(x, w).sum().backward()
        """,
        "custom-fn-wrong-shape",
        says=["input 0", "[4, 3]"],
    ),
    case(
        "gradient_of_the_weight_forgotten",
        """
        import torch
        import torch.nn as nn
        class Mul(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, w):
                ctx.save_for_backward(x, w)
                return x * w
            @staticmethod
            def backward(ctx, g):
                x, w = ctx.saved_tensors
                return g * w, None  # CULPRIT
        class Gate(nn.Module):
            def __init__(self):
                super().__init__()
                self.w = nn.Parameter(torch.ones(3))
            def forward(self, x):
                return Mul.apply(x, self.w)
        net = nn.Sequential(nn.Linear(2, 3), Gate())
        net(torch.ones(1, 2)).sum().backward()
        """,
        "custom-fn-none-gradient",
        says=["input 1"],
    ),
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
    # ---- what forward does ----------------------------------------------------------
    case(
        "input_changed_without_mark_dirty",
        """
        import torch
        class Double(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                x.mul_(2)  # CULPRIT
                return x
            @staticmethod
            def backward(ctx, g):
                return 2 * g
        w = torch.ones(3, requires_grad=True)
        y = Double.apply(w * 1)
        y.sum().backward()
        """,
        "custom-fn-missing-mark-dirty",
        says=["Double.forward"],
    ),
    case(
        "input_clamped_in_place",
        """
        import torch
        class Clip(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.mask = x > 0
                x[x < 0] = 0  # CULPRIT
                return x.clone()
            @staticmethod
            def backward(ctx, g):
                return g * ctx.mask
        w = torch.tensor([-1.0, 2.0], requires_grad=True)
        Clip.apply(w * 3).sum().backward()
        """,
        "custom-fn-missing-mark-dirty",
    ),
    case(
        "output_kept_on_ctx_and_changed",
        """
        import torch
        class Exp(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                result = x.exp()
                ctx.result = result  # CULPRIT
                return result
            @staticmethod
            def backward(ctx, g):
                return g * ctx.result
        x = torch.tensor([1.0], requires_grad=True)
        y = Exp.apply(x)
        with torch.no_grad():
            y += 1
        y.sum().backward()
        """,
        "custom-fn-tensor-on-ctx",
        related=["changed here"],
    ),
    case(
        "weight_kept_on_ctx_and_stepped",
        """
        import torch
        class Mul(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, w):
                ctx.x = x
                ctx.w = w  # CULPRIT
                return x * w
            @staticmethod
            def backward(ctx, g):
                return g * ctx.w, g * ctx.x
        x = torch.ones(2, requires_grad=True)
        w = torch.full((2,), 3.0, requires_grad=True)
        opt = torch.optim.SGD([w], lr=1.0)
        y = Mul.apply(x, w)
        w.grad = torch.ones(2)
        opt.step()
        y.sum().backward()
        """,
        "custom-fn-tensor-on-ctx",
    ),
]

FINE = [
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
]
