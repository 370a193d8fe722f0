"""Faults that few programs have: at borders, between passes, before the first."""

from __future__ import annotations

from tests.rules.harness import case

WRONG = [
    case(
        "centre_of_outputs_with_their_graph",
        """
        import torch
        import torch.nn as nn
        class Centre(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("value", torch.zeros(6))
            def update(self, out):
                self.value *= 0.9
                self.value += 0.1 * out.mean(dim=0)  # CULPRIT
        student, centre = nn.Linear(4, 6), Centre()
        for step in range(2):
            out = student(torch.randn(8, 4))
            loss = (out - centre.value).pow(2).mean()
            loss.backward()
            centre.update(out)
        """,
        "hidden-state-not-detached",
        says=["`self.value`"],
    ),
    case(
        "gradient_of_the_exponent",
        """
        import torch
        class Power(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, exponent):
                ctx.save_for_backward(x)
                ctx.exponent = exponent
                return x ** exponent
            @staticmethod
            def backward(ctx, grad):
                (x,) = ctx.saved_tensors
                slope = ctx.exponent * x ** (ctx.exponent - 1)
                return None, grad * slope  # CULPRIT
        w = torch.tensor([1.0, 2.0], requires_grad=True)
        Power.apply(w, 3).sum().backward()
        """,
        "custom-fn-refused",
        says=["different than None"],
    ),
    case(
        "zeroed_before_there_is_a_gradient",
        """
        import torch
        a = torch.randn(1, requires_grad=True)
        t = torch.linspace(0, 1, 10)
        for epoch in range(2):
            a.grad.zero_()  # CULPRIT
            (a * t - 1).pow(2).mean().backward()
        """,
        "gradient-before-backward",
    ),
    case(
        "switch_with_a_letter_too_few",
        """
        import torch
        x, w = torch.randn(5, 2), torch.randn(2)
        w.require_grad = True  # CULPRIT
        (x @ w).pow(2).mean().backward()
        """,
        "nothing-requires-grad",
        says=["`w.require_grad` is no switch"],
    ),
    case(
        "integers_for_a_loss_of_floats",
        """
        import torch
        import torch.nn as nn
        labels = torch.tensor([[1], [0]])  # CULPRIT
        score = nn.Linear(4, 1)(torch.randn(2, 4))
        nn.functional.binary_cross_entropy_with_logits(score, labels).backward()
        """,
        "dtype-mismatch",
    ),
    case(
        "optimizer_of_a_state_dict",
        """
        import torch
        import torch.nn as nn
        net = nn.Linear(3, 1)
        opt = torch.optim.SGD(net.state_dict().values(), lr=0.1)  # CULPRIT
        for step in range(3):
            loss = net(torch.randn(8, 3)).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "optimizer-of-other-parameters",
    ),
    case(
        "cleared_between_two_losses",
        """
        import torch
        import torch.nn as nn
        encoder, decoder, probe = nn.Linear(6, 3), nn.Linear(3, 6), nn.Linear(3, 2)
        parts = nn.ModuleList([encoder, decoder, probe])
        opt = torch.optim.SGD(parts.parameters(), lr=0.1)
        for step in range(3):
            x = torch.randn(8, 6)
            z = torch.tanh(encoder(x))
            (decoder(z) - x).pow(2).mean().backward(retain_graph=True)
            opt.zero_grad()  # CULPRIT
            probe(z).pow(2).mean().backward()
            opt.step()
        """,
        "accumulated-gradients-dropped",
        says=["before another pass"],
    ),
    case(
        "module_hook_that_returns_outputs",
        """
        import torch
        import torch.nn as nn
        net = nn.Sequential(nn.Linear(4, 6), nn.Linear(6, 2))
        def watch(module, grad_input, grad_output):
            return grad_output  # CULPRIT
        net[1].register_full_backward_hook(watch)
        net(torch.randn(3, 4)).pow(2).mean().backward()
        """,
        "hook-result-refused",
    ),
    case(
        "number_saved_for_backward",
        """
        import torch
        class Leaky(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, slope):
                ctx.save_for_backward(x, slope)  # CULPRIT
                return torch.where(x > 0, x, slope * x)
            @staticmethod
            def backward(ctx, grad):
                return grad, None
        Leaky.apply(torch.randn(4, requires_grad=True), 0.1)
        """,
        "custom-fn-refused",
        says=["`ctx.slope = slope`"],
    ),
    case(
        "jacobian_in_a_penalty",
        """
        import torch
        import torch.nn as nn
        encoder, decoder = nn.Linear(4, 3), nn.Linear(3, 4)
        for _ in range(2):
            x = torch.randn(1, 4)
            slopes = torch.autograd.functional.jacobian(encoder, x)  # CULPRIT
            loss = (decoder(encoder(x)) - x).pow(2).mean() + slopes.pow(2).sum()
            loss.backward()
        """,
        "gradient-penalty-no-create-graph",
    ),
]

FINE = [
    case(
        "ratios_clipped_in_some_passes",
        """
        import torch
        import torch.nn as nn
        actor = nn.Linear(3, 4, bias=False)
        opt = torch.optim.SGD(actor.parameters(), lr=0.1)
        x = torch.ones(2, 3)
        for shift in (0.0, 5.0, 9.0):
            ratio = (actor(x) * 0.01 + 1 + shift).clamp(0.8, 1.2)
            opt.zero_grad()
            ratio.mean().backward()
            opt.step()
        """,
    ),
]
