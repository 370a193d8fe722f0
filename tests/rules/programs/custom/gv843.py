"""GV843: custom-fn-unseen-input."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "weights_of_a_module_on_ctx",
        """
        import torch
        from torch import nn

        class Scale(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, module):
                ctx.module = module
                ctx.save_for_backward(x)
                return x * module.gain + module.shift

            @staticmethod
            def backward(ctx, grad):
                return grad * ctx.module.gain, None


        class Affine(nn.Module):
            def __init__(self):
                super().__init__()
                self.gain = nn.Parameter(torch.ones(8))
                self.shift = nn.Parameter(torch.zeros(8))

            def forward(self, x):
                return Scale.apply(x, self)  # CULPRIT


        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(4, 8), Affine(), nn.ReLU(), nn.Linear(8, 1))
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        for _ in range(5):
            x = torch.randn(16, 4)
            loss = (model(x) - x.sum(1, keepdim=True)).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(loss.item())
        """,
        "custom-fn-unseen-input",
        says=["`1.gain` and `1.shift`"],
        related=["used without being an argument"],
    ),
    case(
        "weights_of_the_script",
        """
        import torch
        from torch import nn

        weight = nn.Parameter(torch.randn(4, 8) * 0.1)
        layer = nn.Linear(8, 8)

        class Project(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                hidden = x @ weight
                return layer(hidden)

            @staticmethod
            def backward(ctx, grad):
                return grad @ layer.weight @ weight.t()


        torch.manual_seed(0)
        first = nn.Linear(4, 4)
        head = nn.Linear(8, 1)
        layers = nn.ModuleList([first, layer, head])
        optimizer = torch.optim.SGD([weight, *layers.parameters()], lr=0.01)
        for _ in range(5):
            x = torch.randn(16, 4)
            projected = Project.apply(first(x))  # CULPRIT
            loss = (head(projected) - x.sum(1, keepdim=True)).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(loss.item())
        """,
        "custom-fn-unseen-input",
        says=["`weight`, which"],
        related=["used without being an argument"],
    ),
    case(
        "a_weight_in_one_pass",
        """
        import torch
        from torch import nn

        gain = nn.Parameter(torch.ones(4))

        class Scale(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * gain

            @staticmethod
            def backward(ctx, grad):
                return grad * gain

        x = torch.randn(16, 4, requires_grad=True)
        loss = Scale.apply(x).pow(2).mean()  # CULPRIT
        loss.backward()
        print(gain.grad)
        """,
        "custom-fn-unseen-input",
        says=["`gain`"],
        related=["used without being an argument"],
    ),
    case(
        "no_input_requires_grad",
        """
        import torch
        from torch import nn

        gain = nn.Parameter(torch.ones(4))

        class Scale(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * gain

            @staticmethod
            def backward(ctx, grad):
                return grad * gain

        x = torch.randn(16, 4)
        loss = Scale.apply(x).pow(2).mean()  # CULPRIT
        loss.backward()
        print(gain.grad)
        """,
        "custom-fn-unseen-input",
        says=["`gain`"],
        related=["used without being an argument"],
    ),
    case(
        "weights_used_in_place",
        """
        import torch
        from torch import nn
        class AddBias(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, m):
                out = x.clone()
                out.add_(m.bias)
                out *= m.gain
                ctx.m = m
                return out
            @staticmethod
            def backward(ctx, g):
                return g * ctx.m.gain, None
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.bias = nn.Parameter(torch.zeros(4))
                self.gain = nn.Parameter(torch.ones(4))
                self.l = nn.Linear(4, 4)
            def forward(self, x):
                return AddBias.apply(self.l(x), self)  # CULPRIT
        torch.manual_seed(0)
        m = M()
        opt = torch.optim.Adam(m.parameters(), 1e-2)
        for _ in range(4):
            loss = m(torch.randn(8, 4)).pow(2).mean()
            opt.zero_grad(); loss.backward(); opt.step()
        """,
        "custom-fn-unseen-input",
        says=["`bias` and `gain`"],
    ),
    case(
        "recomputed_block_whose_weights_are_walked_by",
        """
        import torch
        from torch import nn

        class Recompute(torch.autograd.Function):
            @staticmethod
            def forward(ctx, block, x, *weights):
                ctx.block, ctx.weights = block, weights
                ctx.save_for_backward(x)
                return block(x)

            @staticmethod
            def backward(ctx, grad):
                (x,) = ctx.saved_tensors
                with torch.enable_grad():
                    x = x.detach().requires_grad_()
                    out = ctx.block(x)
                    grads = torch.autograd.grad(out, (x, *ctx.weights), grad)
                return (None, *grads)


        first, block, last = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 1)
        layers = nn.ModuleList([first, block, last])
        optimizer = torch.optim.SGD(layers.parameters(), lr=0.01)
        for _ in range(4):
            hidden = Recompute.apply(block, first(torch.randn(8, 4)))  # CULPRIT
            loss = last(hidden).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
        "custom-fn-unseen-input",
    ),
    case(
        "a_result_that_only_the_module_has",
        """
        import torch
        from torch import nn

        class Solve(torch.autograd.Function):
            @staticmethod
            def forward(ctx, field, y, *params):
                ctx.field = field
                ctx.save_for_backward(y, *params)
                return y + 0.1 * field(y)

            @staticmethod
            def backward(ctx, grad):
                y, *params = ctx.saved_tensors
                with torch.enable_grad():
                    y = y.detach().requires_grad_(True)
                    after = y + 0.1 * ctx.field(y)
                    grads = torch.autograd.grad(after, (y, *params), grad)
                return (None, *grads)


        class Field(nn.Module):
            def __init__(self):
                super().__init__()
                self.net, self.rate = nn.Linear(2, 2), None

            def forward(self, y):
                return self.rate * self.net(y)


        def solve(field, y):
            params = tuple(field.parameters())  # CULPRIT
            return Solve.apply(field, y, *params)


        torch.manual_seed(0)
        encoder, field = nn.Linear(2, 1), Field()
        both = [*encoder.parameters(), *field.parameters()]
        optimizer = torch.optim.Adam(both, lr=0.01)
        for _ in range(4):
            x = torch.randn(8, 2)
            field.rate = encoder(x).sigmoid()
            loss = (solve(field, x) - x.flip(1)).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
        "custom-fn-unseen-input",
        says=["`encoder.bias` and `encoder.weight`"],
        related=["Function applied here"],
    ),
]
