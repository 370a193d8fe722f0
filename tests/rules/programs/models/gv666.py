"""GV666: changed-before-it-is-read."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "body_begins_in_place",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        class Block(nn.Module):
            def __init__(self, c):
                super().__init__()
                first = nn.ReLU(inplace=True)  # CULPRIT
                convs = [nn.Conv2d(c, c, 3, padding=1) for _ in range(2)]
                self.body = nn.Sequential(first, convs[0], nn.ReLU(), convs[1])
            def forward(self, x):
                return self.body(x) + x
        net = nn.Sequential(
            nn.Conv2d(1, 4, 3, padding=1),
            Block(4),
            Block(4),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Linear(4, 2),
        )
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        x, y = torch.randn(4, 1, 6, 6), torch.randint(0, 2, (4,))
        for _ in range(3):
            opt.zero_grad()
            F.cross_entropy(net(x), y).backward()
            opt.step()
        """,
        "changed-before-it-is-read",
        says=["reads `x`"],
    ),
    case(
        "activation_under_another_name",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        class Block(nn.Module):
            def __init__(self, c):
                super().__init__()
                self.conv1 = nn.Conv1d(c, c, 3, padding=1)
                self.conv2 = nn.Conv1d(c, c, 3, padding=1)
                self.relu = nn.ReLU(inplace=True)  # CULPRIT
            def forward(self, x):
                out = self.relu(x)
                out = self.conv1(out)
                out = self.conv2(F.relu(out))
                return out + x
        net = nn.Sequential(
            nn.Conv1d(1, 4, 3, padding=1),
            Block(4),
            nn.AdaptiveAvgPool1d(1),
            nn.Flatten(),
            nn.Linear(4, 2),
        )
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        x, y = torch.randn(4, 1, 6), torch.randint(0, 2, (4,))
        for _ in range(3):
            opt.zero_grad()
            F.cross_entropy(net(x), y).backward()
            opt.step()
        """,
        "changed-before-it-is-read",
    ),
    case(
        "gate_reads_the_activated",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a, self.b, self.c = (
                    nn.Linear(4, 6),
                    nn.Linear(6, 6),
                    nn.Linear(6, 2),
                )
            def forward(self, x):
                h = self.a(x)
                g = F.relu(h, inplace=True)  # CULPRIT
                g = self.b(g)
                return self.c(g * torch.sigmoid(h))
        net = Net()
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        x, y = torch.randn(8, 4), torch.randint(0, 2, (8,))
        for _ in range(3):
            opt.zero_grad()
            F.cross_entropy(net(x), y).backward()
            opt.step()
        """,
        "changed-before-it-is-read",
    ),
    case(
        "slope_of_the_activation_asked_for",
        """
        import torch
        import torch.nn.functional as F
        from torch import nn
        torch.manual_seed(0)
        encoder = nn.Linear(4, 3)
        def encode(x):
            pre = encoder(x)
            h = F.relu_(pre)  # CULPRIT
            return pre, h
        def slope_of(pre, h):
            (slope,) = torch.autograd.grad(h.sum(), pre, create_graph=True)
            return slope
        pre, h = encode(torch.randn(5, 4))
        (slope_of(pre, h).pow(2).sum() + h.pow(2).sum()).backward()
        """,
        "changed-before-it-is-read",
        says=["asks for the gradient of `pre`", "Write `relu` for `relu_`"],
    ),
    case(
        "clamped_under_two_names",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        layer, head = nn.Linear(4, 3), nn.Linear(3, 1)
        pre = layer(torch.randn(5, 4))
        h = pre.clamp_(0, 1)  # CULPRIT
        loss = head(h).pow(2).mean() + (pre - 1).relu().mean()
        loss.backward()
        """,
        "changed-before-it-is-read",
        says=["Write `clamp` for `clamp_`"],
    ),
    case(
        "layer_that_centres_its_argument_in_place",
        """
        import torch
        from torch import nn

        class Center(nn.Module):
            def forward(self, x):
                x -= x.mean(-1, keepdim=True)  # CULPRIT
                return x

        class Residual(nn.Module):
            def __init__(self, inner):
                super().__init__()
                self.inner = inner

            def forward(self, x):
                return x + self.inner(x)

        net = nn.Sequential(
            nn.Linear(4, 4), Residual(nn.Sequential(Center(), nn.Linear(4, 4)))
        )
        net(torch.randn(3, 4)).square().mean().backward()
        """,
        "changed-before-it-is-read",
    ),
    case(
        "layer_that_adds_to_its_argument_which_it_replaces",
        """
        import torch
        from torch import nn

        class Shift(nn.Module):
            def __init__(self):
                super().__init__()
                self.by = nn.Parameter(torch.zeros(4))

            def forward(self, x):
                x += self.by
                return x

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.first, self.shift = nn.Linear(4, 4), Shift()

            def forward(self, x):
                x = self.first(x)
                x = self.shift(x)
                return x + x.tanh()

        net = Net()
        net(torch.randn(3, 4)).square().mean().backward()
        """,
    ),
    case(
        "two_writes_under_another_name",
        """
        import torch
        from torch import nn

        class Gate(nn.Module):
            def __init__(self):
                super().__init__()
                self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4)

            def forward(self, x):
                h = self.first(x)
                gate = h.clamp_(-1, 1).mul_(0.5)  # CULPRIT
                return self.second(h) * gate

        net = Gate()
        net(torch.randn(3, 4)).square().mean().backward()
        """,
        "changed-before-it-is-read",
    ),
    case(
        "two_writes_that_the_name_is_meant_to_have",
        """
        import torch
        from torch import nn

        class Scaled(nn.Module):
            def __init__(self, low, high):
                super().__init__()
                self.register_buffer("low", low)
                self.register_buffer("range", high - low)
                self.net = nn.Linear(4, 1)

            def forward(self, x, gain):
                rows = x * gain
                rows.sub_(self.low).div_(self.range).clamp_(0, 1)
                return self.net(rows)

        x, gain = torch.randn(6, 4), torch.ones(4, requires_grad=True)
        net = Scaled(x.amin(0), x.amax(0))
        net(x, gain).square().mean().backward()
        """,
    ),
]
