"""Modules with a method ``backward`` that is what it should be."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "module_that_runs_its_own_pass",
        """
        import torch
        from torch import nn
        class Task(nn.Module):
            def __init__(self):
                super().__init__()
                self.net = nn.Linear(3, 1)
            def forward(self, x):
                return self.net(x)
            def backward(self, loss, gradient=None):
                loss.backward(gradient)
            def unused(self, loss):
                self.backward(loss)
        task = Task()
        optimizer = torch.optim.SGD(task.parameters(), lr=0.1)
        for step in range(3):
            optimizer.zero_grad()
            (task(torch.randn(5, 3)) - 1).pow(2).mean().backward()
            optimizer.step()
        """,
    ),
    case(
        "inverse_of_a_flow_that_is_not_sampled_yet",
        """
        import torch
        from torch import nn
        class Affine(nn.Module):
            def __init__(self):
                super().__init__()
                self.log_scale = nn.Parameter(torch.zeros(2))
                self.shift = nn.Parameter(torch.zeros(2))
            def forward(self, x):
                return (x - self.shift) * torch.exp(-self.log_scale)
            def backward(self, z):
                return z * torch.exp(self.log_scale) + self.shift
        flow = Affine()
        optimizer = torch.optim.Adam(flow.parameters(), lr=0.05)
        for step in range(4):
            z = flow(torch.randn(16, 2) * 2 + 1)
            loss = (z.pow(2) / 2 + flow.log_scale).sum(1).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
    ),
    case(
        "layers_with_gradients_by_hand_compared_with_autograd",
        """
        import torch
        from torch import nn
        class Dense(nn.Module):
            def __init__(self, n_in, n_out):
                super().__init__()
                self.weight = nn.Parameter(torch.randn(n_out, n_in) / 2)
            def forward(self, x):
                self.x = x
                return x @ self.weight.t()
            def backward(self, grad):
                self.by_hand = grad.t() @ self.x
                return grad @ self.weight
        layers = nn.Sequential(Dense(3, 5), Dense(5, 2))
        out = layers(torch.randn(6, 3))
        out.pow(2).sum().backward()
        with torch.no_grad():
            grad = 2 * out
            for layer in reversed(layers):
                grad = layer.backward(grad)
                print(torch.allclose(layer.by_hand, layer.weight.grad, atol=1e-4))
        """,
    ),
    case(
        "reversal_by_a_function_beside_a_method",
        """
        import torch
        from torch import nn
        class Reverse(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x.view_as(x)
            @staticmethod
            def backward(ctx, grad):
                return -grad
        class GradReverse(nn.Module):
            def forward(self, x):
                return Reverse.apply(x)
            def backward(self, grad):
                return -grad
        encoder, critic = nn.Linear(3, 4), nn.Linear(4, 1)
        reverse = GradReverse()
        both = [*encoder.parameters(), *critic.parameters()]
        optimizer = torch.optim.SGD(both, lr=0.1)
        for step in range(3):
            loss = (critic(reverse(encoder(torch.randn(5, 3)))) - 1).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
    ),
    case(
        "method_that_a_hook_calls",
        """
        import torch
        from torch import nn
        class GradReverse(nn.Module):
            def forward(self, x):
                y = x.view_as(x)
                if y.requires_grad:
                    y.register_hook(self.backward)
                return y
            def backward(self, grad):
                return -grad
        encoder, critic = nn.Linear(3, 4), nn.Linear(4, 1)
        reverse = GradReverse()
        both = [*encoder.parameters(), *critic.parameters()]
        optimizer = torch.optim.SGD(both, lr=0.1)
        for step in range(3):
            loss = (critic(reverse(encoder(torch.randn(5, 3)))) - 1).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
    ),
    case(
        "layer_that_is_not_used",
        """
        import torch
        from torch import nn
        class GradReverse(nn.Module):
            def forward(self, x):
                return x.view_as(x)
            def backward(self, grad):
                return -grad
        class Net(nn.Module):
            def __init__(self, adversarial):
                super().__init__()
                self.body, self.head = nn.Linear(3, 4), nn.Linear(4, 1)
                self.reverse = GradReverse()
                self.adversarial = adversarial
            def forward(self, x):
                h = self.body(x).relu()
                return self.head(self.reverse(h) if self.adversarial else h)
        net = Net(adversarial=False)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(3):
            loss = (net(torch.randn(5, 3)) - 1).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
    ),
    case(
        "reversal_that_evaluation_alone_runs",
        """
        import torch
        from torch import nn
        class GradReverse(nn.Module):
            def forward(self, x):
                return x.view_as(x)
            def backward(self, grad):
                return -grad
        net, reverse = nn.Linear(3, 1), GradReverse()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(3):
            loss = (net(torch.randn(5, 3)) - 1).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            with torch.no_grad():
                print(reverse(net(torch.randn(5, 3))).mean().item())
        """,
    ),
]
