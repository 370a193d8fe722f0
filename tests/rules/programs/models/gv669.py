"""GV669: result-not-kept."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "mask_without_underscore",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        class Attention(nn.Module):
            def __init__(self, width):
                super().__init__()
                self.q, self.k = nn.Linear(width, width), nn.Linear(width, width)
                self.out = nn.Linear(width, 1)
            def forward(self, x, mask):
                scores = self.q(x) @ self.k(x).transpose(1, 2)
                scores.masked_fill(mask, -1e9)  # CULPRIT
                return self.out(torch.softmax(scores, -1) @ x)
        net = Attention(4)
        opt = torch.optim.SGD(net.parameters(), lr=0.01)
        mask = torch.ones(3, 3).triu(1).bool()
        for step in range(3):
            x = torch.randn(2, 3, 4)
            loss = (net(x, mask) - x.sum(-1, keepdim=True)).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "result-not-kept",
        says=["`scores` stays as it was"],
    ),
    case(
        "activation_called_and_forgotten",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner, self.outer = nn.Linear(3, 8), nn.Linear(8, 1)
            def forward(self, x):
                h = self.inner(x)
                F.relu(h)  # CULPRIT
                return self.outer(h)
        net = Net()
        opt = torch.optim.SGD(net.parameters(), lr=0.01)
        x = torch.randn(16, 3)
        for step in range(3):
            loss = (net(x) - x[:, :1].abs()).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "result-not-kept",
    ),
    case(
        "layer_without_parameters_called_and_forgotten",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner, self.outer = nn.Linear(3, 8), nn.Linear(8, 1)
                self.act = nn.Tanh()
            def forward(self, x):
                h = self.inner(x)
                self.act(h)  # CULPRIT
                return self.outer(h)
        net = Net()
        opt = torch.optim.SGD(net.parameters(), lr=0.01)
        x = torch.randn(16, 3)
        for step in range(3):
            loss = (net(x) - x[:, :1].abs()).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "result-not-kept",
    ),
    case(
        "features_standardised_and_forgotten",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        x = 3 * torch.randn(32, 3) + 2
        y = x.sum(1, keepdim=True)
        (x - x.mean(0)) / x.std(0)  # CULPRIT
        net = nn.Linear(3, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.01)
        for start in (0, 8, 16):
            loss = (net(x[start:start + 8]) - y[start:start + 8]).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "result-not-kept",
    ),
    case(
        "results_clamped_in_a_loop_and_forgotten",
        """
        import torch
        from torch import nn
        one, other = nn.Linear(3, 4), nn.Linear(3, 4)
        opt = torch.optim.SGD([*one.parameters(), *other.parameters()], lr=0.1)
        for step in range(3):
            x = torch.randn(8, 3)
            outs = [one(x), other(x)]
            for out in outs:
                out.clamp(min=0)  # CULPRIT
            loss = (outs[0] - 1).square().mean() + (outs[1] + 1).square().mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "result-not-kept",
        says=["`[out.clamp(min=0) for out in outs]`"],
    ),
    case(
        "a_function_that_is_applied_for_nothing",
        """
        import torch

        class Attach(torch.autograd.Function):
            @staticmethod
            def forward(ctx, output, loss):
                ctx.save_for_backward(loss)
                return output.view_as(output)

            @staticmethod
            def backward(ctx, grad):
                (loss,) = ctx.saved_tensors
                return grad, torch.ones_like(loss)

        torch.manual_seed(0)
        gate, head = torch.nn.Linear(4, 3), torch.nn.Linear(3, 1)
        both = [*gate.parameters(), *head.parameters()]
        optimizer = torch.optim.SGD(both, lr=0.1)
        for _ in range(4):
            x = torch.randn(8, 4)
            weights = gate(x).softmax(-1)
            balance = weights.mean(0).pow(2).sum()
            Attach.apply(weights, balance)  # CULPRIT
            loss = (head(weights) - x[:, :1]).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            print(balance.item())
        """,
        "result-not-kept",
        says=["`weights = Attach.apply(weights, balance)`"],
    ),
    case(
        "weights_cut_off_for_nothing",
        """
        import torch
        from torch import nn
        critic = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
        opt = torch.optim.SGD(critic.parameters(), lr=0.5)
        for step in range(3):
            real, fake = torch.randn(8, 3) + 1, torch.randn(8, 3)
            loss = critic(fake).mean() - critic(real).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            with torch.no_grad():
                for weight in critic.parameters():
                    torch.clamp(weight, -0.1, 0.1)  # CULPRIT
        """,
        "result-not-kept",
        says=["`weight.copy_(torch.clamp(weight, -0.1, 0.1))`"],
    ),
]
