"""GV683: updates-rounded-away."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "small_steps_of_bfloat16_weights",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 3))
        net = net.to(torch.bfloat16)  # CULPRIT
        opt = torch.optim.SGD(net.parameters(), lr=1e-5)
        for _ in range(4):
            x, y = torch.randn(16, 8), torch.randint(0, 3, (16,))
            loss = nn.functional.cross_entropy(net(x.bfloat16()).float(), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "updates-rounded-away",
        says=["bfloat16", "Leave `net.to(torch.bfloat16)` out", "torch.autocast"],
    ),
    case(
        "norms_in_bfloat16_stand_still_beside_layers_that_move",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)

        class Block(nn.Module):
            def __init__(self, size):
                super().__init__()
                self.norm = nn.LayerNorm(size, bias=False)
                self.up = nn.Linear(size, 2 * size)
                self.down = nn.Linear(2 * size, size)
            def forward(self, x):
                return x + self.down(nn.functional.gelu(self.up(self.norm(x))))

        def build(dtype):
            net = nn.Sequential(nn.Linear(8, 16), Block(16), nn.Linear(16, 3))
            return net.to(dtype)  # CULPRIT

        net = build(torch.bfloat16)
        opt = torch.optim.AdamW(net.parameters(), lr=1e-3, weight_decay=0.0)
        for _ in range(40):
            x, y = torch.randn(16, 8), torch.randint(0, 3, (16,))
            loss = nn.functional.cross_entropy(net(x.bfloat16()).float(), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "updates-rounded-away",
        says=["never changes `1.norm.weight`", "in 6 steps"],
    ),
    case(
        "a_temperature_in_bfloat16",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)

        class Matcher(nn.Module):
            def __init__(self):
                super().__init__()
                self.left = nn.Linear(8, 16)
                self.right = nn.Linear(8, 16)
                self.scale = nn.Parameter(torch.tensor(10.0))
            def forward(self, a, b):
                return self.scale * torch.tanh(self.left(a)) @ self.right(b).T / 16

        model = Matcher()
        model.to(dtype=torch.bfloat16)  # CULPRIT
        optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
        target = torch.arange(12)
        for step in range(50):
            x = torch.randn(12, 8)
            y = x + 0.1 * torch.randn(12, 8)
            scores = model(x.bfloat16(), y.bfloat16()).float()
            loss = nn.functional.cross_entropy(scores, target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
        "updates-rounded-away",
        says=["never changes `scale`"],
    ),
    case(
        "steps_that_bfloat16_weights_can_take",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        net = nn.Linear(8, 3).to(torch.bfloat16)
        opt = torch.optim.Adam(net.parameters(), lr=1e-2)
        for _ in range(4):
            x, y = torch.randn(16, 8), torch.randint(0, 3, (16,))
            loss = nn.functional.cross_entropy(net(x.bfloat16()).float(), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
    ),
    case(
        "a_warm_up_of_bfloat16_weights_begins_with_0",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        net = nn.Linear(8, 3).to(torch.bfloat16)
        opt = torch.optim.Adam(net.parameters(), lr=2e-2)
        warm = torch.optim.lr_scheduler.LambdaLR(opt, lambda step: min(1, step / 2))
        for _ in range(4):
            x, y = torch.randn(16, 8), torch.randint(0, 3, (16,))
            loss = nn.functional.cross_entropy(net(x.bfloat16()).float(), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            warm.step()
        """,
    ),
    case(
        "an_average_in_bfloat16",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)

        class Average:
            def __init__(self, params, dtype):
                self.shadow = [p.detach().clone().to(dtype) for p in params]

            @torch.no_grad()
            def update(self, params, rate):
                for s, p in zip(self.shadow, params):
                    s.sub_(rate * (s - p.to(s.dtype)))

        net = nn.Linear(8, 3)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        average = Average(net.parameters(), torch.bfloat16)  # CULPRIT
        for _ in range(30):
            x, y = torch.randn(16, 8), torch.randint(0, 3, (16,))
            loss = nn.functional.cross_entropy(net(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            average.update(net.parameters(), 0.002)
        """,
        "updates-rounded-away",
        says=["average", "bfloat16"],
    ),
    case(
        "an_average_in_float32",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)

        class Average:
            def __init__(self, params, dtype):
                self.shadow = [p.detach().clone().to(dtype) for p in params]

            @torch.no_grad()
            def update(self, params, rate):
                for s, p in zip(self.shadow, params):
                    s.sub_(rate * (s - p.to(s.dtype)))

        net = nn.Linear(8, 3)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        average = Average(net.parameters(), torch.float32)
        for _ in range(30):
            x, y = torch.randn(16, 8), torch.randint(0, 3, (16,))
            loss = nn.functional.cross_entropy(net(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            average.update(net.parameters(), 0.002)
        """,
    ),
    case(
        "an_average_in_bfloat16_that_moves",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)

        class Average:
            def __init__(self, params, dtype):
                self.shadow = [p.detach().clone().to(dtype) for p in params]

            @torch.no_grad()
            def update(self, params, rate):
                for s, p in zip(self.shadow, params):
                    s.sub_(rate * (s - p.to(s.dtype)))

        net = nn.Linear(8, 3)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        average = Average(net.parameters(), torch.bfloat16)
        for _ in range(30):
            x, y = torch.randn(16, 8), torch.randint(0, 3, (16,))
            loss = nn.functional.cross_entropy(net(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            average.update(net.parameters(), 0.3)
        """,
    ),
    case(
        "an_average_whose_setting_nobody_else_reads",
        """
        import copy
        from dataclasses import dataclass
        import torch
        torch.manual_seed(0)

        @dataclass
        class Settings:
            rate: float = 0.1
            average: str = "bfloat16"  # CULPRIT

        settings = Settings()
        net = torch.nn.Linear(8, 3)
        opt = torch.optim.SGD(net.parameters(), lr=settings.rate)

        class Ema:
            def __init__(self, model, dtype):
                self.model = copy.deepcopy(model).to(getattr(torch, dtype))

            @torch.no_grad()
            def update(self, model):
                for kept, p in zip(self.model.parameters(), model.parameters()):
                    kept.mul_(0.999).add_(p.to(kept.dtype), alpha=0.001)

        ema = Ema(net, settings.average)
        for _ in range(30):
            x, y = torch.randn(16, 8), torch.randint(0, 3, (16,))
            loss = torch.nn.functional.cross_entropy(net(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            ema.update(net)
        """,
        "updates-rounded-away",
        engines=("torch",),  # of a module, the other one logs no conversion
    ),
]
