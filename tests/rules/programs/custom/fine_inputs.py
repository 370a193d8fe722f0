"""Functions that use more than ``apply`` is given, and may."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "a_pass_inside_backward",
        """
        import torch
        from torch import nn

        class Checkpoint(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, run):
                ctx.run = run
                ctx.save_for_backward(x)
                return run(x)

            @staticmethod
            def backward(ctx, grad):
                (x,) = ctx.saved_tensors
                x = x.detach().requires_grad_(True)
                with torch.enable_grad():
                    y = ctx.run(x)
                torch.autograd.backward(y, grad)
                return x.grad, None

        first, layer = nn.Linear(4, 8), nn.Linear(8, 1)
        optimizer = torch.optim.SGD([*first.parameters(), *layer.parameters()], lr=0.01)
        for _ in range(4):
            x = torch.randn(16, 4)
            loss = Checkpoint.apply(first(x), layer).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
    ),
    case(
        "backward_fills_grad",
        """
        import torch
        from torch import nn

        class Linear(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, layer):
                ctx.layer = layer
                ctx.save_for_backward(x)
                return x @ layer.weight.t()

            @staticmethod
            def backward(ctx, grad):
                (x,) = ctx.saved_tensors
                weight = ctx.layer.weight
                mine = grad.t() @ x
                if weight.grad is None:
                    weight.grad = mine
                else:
                    weight.grad += mine
                return grad @ weight, None

        first, layer = nn.Linear(4, 8), nn.Linear(8, 1, bias=False)
        optimizer = torch.optim.SGD([*first.parameters(), *layer.parameters()], lr=0.01)
        for _ in range(4):
            x = torch.randn(16, 4)
            loss = Linear.apply(first(x), layer).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
    ),
    case(
        "codes_that_follow_averages",
        """
        import torch
        from torch import nn

        class Quantise(torch.autograd.Function):
            @staticmethod
            def forward(ctx, z, book):
                index = torch.cdist(z, book.codes).argmin(1)
                book.index = index
                return book.codes[index]

            @staticmethod
            def backward(ctx, grad):
                return grad, None

        class Book(nn.Module):
            def __init__(self):
                super().__init__()
                self.codes = nn.Parameter(torch.randn(6, 8))

            def forward(self, z):
                out = Quantise.apply(z, self)
                with torch.no_grad():
                    for k in range(6):
                        picked = z[self.index == k]
                        if len(picked):
                            self.codes[k].lerp_(picked.mean(0), 0.1)
                return out

        model = nn.Sequential(nn.Linear(4, 8), Book(), nn.Linear(8, 4))
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        for _ in range(4):
            x = torch.randn(16, 4)
            loss = (model(x) - x).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
    ),
    case(
        "frozen_and_detached",
        """
        import torch
        from torch import nn

        class Scale(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, module):
                ctx.gain = module.gain.detach()
                return x * ctx.gain

            @staticmethod
            def backward(ctx, grad):
                return grad * ctx.gain, None

        class Affine(nn.Module):
            def __init__(self):
                super().__init__()
                self.gain = nn.Parameter(torch.ones(8), requires_grad=False)
                self.proj = nn.Linear(8, 8)
                for p in self.proj.parameters():
                    p.requires_grad = False

            def forward(self, x):
                return Scale.apply(self.proj(x), self)

        model = nn.Sequential(nn.Linear(4, 8), Affine(), nn.Linear(8, 1))
        learning = [p for p in model.parameters() if p.requires_grad]
        optimizer = torch.optim.Adam(learning, lr=0.01)
        for _ in range(4):
            x = torch.randn(16, 4)
            loss = model(x).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
    ),
    case(
        "given_and_read_from_the_layer",
        """
        import torch
        from torch import nn

        class Cast(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, layer, weight):
                ctx.save_for_backward(x, weight)
                return x.type_as(layer.bias) @ layer.weight.t()

            @staticmethod
            def backward(ctx, grad):
                x, weight = ctx.saved_tensors
                return grad @ weight, None, grad.t() @ x

        first, layer = nn.Linear(4, 8), nn.Linear(8, 1, bias=True)
        optimizer = torch.optim.SGD([*first.parameters(), *layer.parameters()], lr=0.01)
        for _ in range(4):
            x = torch.randn(16, 4)
            y = Cast.apply(first(x), layer, layer.weight) + layer.bias
            loss = y.pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
    ),
    case(
        "only_the_gradient_of_an_image",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        class Guided(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, layer):
                ctx.layer = layer
                y = layer(x)
                ctx.save_for_backward(y)
                return y.relu()
            @staticmethod
            def backward(ctx, g):
                (y,) = ctx.saved_tensors
                return (g.clamp(min=0) * (y > 0)) @ ctx.layer.weight, None
        net = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3)).eval()
        x = torch.randn(1, 6, requires_grad=True)
        score = net[2](Guided.apply(x, net[0]))[0, 1]
        score.backward()
        print(x.grad)
        """,
    ),
]
