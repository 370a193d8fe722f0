"""GV305: no-grad-decorated-submodule."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "decorated_encoder",
        """
        import torch
        from torch import nn

        class Encoder(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = nn.Linear(4, 8)

            @torch.no_grad()  # CULPRIT
            def forward(self, x):
                return torch.tanh(self.inner(x))

        encoder, head = Encoder(), nn.Linear(8, 1)
        loss = head(encoder(torch.randn(3, 4))).pow(2).mean()
        loss.backward()
        print(encoder.inner.weight.grad)
        """,
        "no-grad-decorated-submodule",
        says=["forward"],
        related=["called here"],
    ),
    case(
        "decorated_helper_between_layers",
        """
        import torch
        from torch import nn

        layer, head = nn.Linear(4, 8), nn.Linear(8, 1)

        @torch.inference_mode(False)
        @torch.no_grad()  # CULPRIT
        def encode(x):
            return layer(x).relu()

        opt = torch.optim.SGD([*layer.parameters(), *head.parameters()], lr=0.1)
        for _ in range(2):
            opt.zero_grad()
            head(encode(torch.randn(3, 4))).sum().backward()
            opt.step()
        """,
        "no-grad-decorated-submodule",
    ),
    case(
        "forces_asked_for_in_a_validation",
        """
        import torch
        from torch import nn

        class Field(nn.Module):
            def __init__(self):
                super().__init__()
                self.energy = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))

            def forward(self, x):
                x = x.detach().requires_grad_(True)
                energy = self.energy(x).sum()
                return -torch.autograd.grad(energy, x)[0]

        field = Field()

        @torch.no_grad()  # CULPRIT
        def validate(x):
            return field(x).norm().item()

        validate(torch.randn(4, 3))
        """,
        "no-grad-decorated-submodule",
        says=["no way to `x`.", "line 12 asks for gradients inside of it"],
    ),
    case(
        "layer_of_a_table_wrapped_by_its_helper",
        """
        import torch
        from torch import nn
        LAYERS = {}

        def add(name, layer):
            LAYERS[name] = torch.no_grad()(layer)  # CULPRIT

        first, last = nn.Linear(3, 4), nn.Linear(4, 1)
        add("first", lambda x: first(x).tanh())
        optimizer = torch.optim.SGD([*first.parameters(), *last.parameters()], lr=0.1)
        for _ in range(3):
            loss = last(LAYERS["first"](torch.randn(5, 3))).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
        "no-grad-decorated-submodule",
        says=["`torch.no_grad()(layer)` around"],
    ),
    case(
        "metric_added_to_a_loss",
        """
        import torch
        from torch import nn

        @torch.no_grad()  # CULPRIT
        def roughness(made, heard):
            return (made.diff() - heard.diff()).square().mean()

        net = nn.Linear(3, 6)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            made, heard = net(torch.randn(5, 3)), torch.randn(5, 6)
            loss = (made - heard).abs().mean() + 0.3 * roughness(made, heard)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
        "no-grad-decorated-submodule",
        says=["The term", "learn from other terms alone"],
    ),
]
