"""GV847: custom-fn-derivative-in-forward."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "a_field_that_differentiates_in_a_function",
        """
        import torch

        torch.manual_seed(0)

        class Field(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.energy = torch.nn.Sequential(
                    torch.nn.Linear(2, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1)
                )

            def forward(self, y):
                if not y.requires_grad:
                    y = y.detach().requires_grad_(True)
                h = self.energy(y).sum()  # CULPRIT
                slope, = torch.autograd.grad(h, y, create_graph=True)
                return slope.flip(1)

        class Solve(torch.autograd.Function):
            @staticmethod
            def forward(ctx, field, y, *params):
                ctx.field = field
                ctx.save_for_backward(y, *params)
                return y + 0.1 * field(y).detach()

            @staticmethod
            def backward(ctx, grad):
                y, *params = ctx.saved_tensors
                with torch.enable_grad():
                    y = y.detach().requires_grad_(True)
                    after = y + 0.1 * ctx.field(y)
                    grads = torch.autograd.grad(after, (y, *params), grad)
                return (None, *grads)

        field = Field()
        optimizer = torch.optim.Adam(field.parameters(), lr=0.01)
        y = torch.randn(8, 2)
        loss = Solve.apply(field, y, *field.parameters()).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        """,
        "custom-fn-derivative-in-forward",
        related=["the Function runs here"],
    ),
]
