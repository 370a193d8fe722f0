"""Deep and sparse programs whose gradients are fine."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "gradient_that_grows_up_to_one",
        """
        import torch
        x = torch.tensor(1.0, requires_grad=True)
        y = x
        for _ in range(30):
            y = y * 2
        torch.log(y).backward()
        """,
    ),
    case(
        "deep_relu_net_with_good_weights",
        """
        import torch
        import torch.nn as nn
        torch.manual_seed(1)
        layers = []
        for _ in range(12):
            lin = nn.Linear(64, 64)
            nn.init.kaiming_normal_(lin.weight)
            layers += [lin, nn.ReLU()]
        net = nn.Sequential(*layers, nn.Linear(64, 1))
        net(torch.randn(32, 64)).pow(2).mean().backward()
        """,
    ),
    case(
        "deep_residual_net",
        """
        import torch
        import torch.nn as nn
        torch.manual_seed(0)
        class Block(nn.Module):
            def __init__(self):
                super().__init__()
                self.norm, self.lin = nn.LayerNorm(16), nn.Linear(16, 16)
            def forward(self, x):
                return x + torch.relu(self.lin(self.norm(x)))
        net = nn.Sequential(*[Block() for _ in range(20)])
        net(torch.randn(8, 16)).pow(2).mean().backward()
        """,
    ),
    case(
        "orthogonal_recurrence",
        """
        import torch
        torch.manual_seed(0)
        w = torch.empty(8, 8)
        torch.nn.init.orthogonal_(w)
        w.requires_grad_()
        h = torch.randn(2, 8)
        for _ in range(100):
            h = h @ w
        h.sum().backward()
        """,
    ),
    case(
        "recurrence_with_a_loss_per_step",
        """
        import torch
        import torch.nn as nn
        torch.manual_seed(0)
        cell, head = nn.RNNCell(4, 16), nn.Linear(16, 1)
        h = torch.zeros(2, 16)
        loss = 0.0
        for t in range(100):
            h = cell(torch.randn(2, 4), h)
            loss = loss + head(h).pow(2).mean()
        (loss / 100).backward()
        """,
    ),
    case(
        "short_sigmoid_net",
        """
        import torch
        import torch.nn as nn
        torch.manual_seed(0)
        net = nn.Sequential(
            nn.Linear(4, 8), nn.Sigmoid(), nn.Linear(8, 8), nn.Sigmoid()
        )
        net(torch.randn(8, 4)).mean().backward()
        """,
    ),
    case(
        "relu_with_usual_sparsity",
        """
        import torch
        import torch.nn as nn
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 1))
        opt = torch.optim.SGD(net.parameters(), lr=0.01)
        for _ in range(5):
            opt.zero_grad()
            net(torch.randn(8, 4)).pow(2).mean().backward()
            opt.step()
        """,
    ),
    case(
        "hinge_loss_that_is_satisfied",
        """
        import torch
        import torch.nn as nn
        torch.manual_seed(0)
        lin = nn.Linear(2, 1)
        for _ in range(3):
            score = lin(torch.ones(16, 2))
            loss = torch.relu(score.detach().max() - 1e3 - score).mean()
            loss.backward()
        """,
    ),
    case(
        "triplets_far_apart",
        """
        import torch
        a = torch.zeros(16, 2, requires_grad=True)
        n = torch.full((16, 2), 9.0)
        d = (a - n).pow(2).sum(1)
        torch.relu(1.0 - d).mean().backward()
        """,
    ),
    case(
        "confident_classifier",
        """
        import torch
        import torch.nn.functional as F
        logits = torch.tensor([30.0, -30.0], requires_grad=True)
        F.binary_cross_entropy_with_logits(logits, torch.tensor([1.0, 0.0])).backward()
        """,
    ),
    case(
        "tanh_in_its_range",
        """
        import torch
        w = torch.ones(2, 2, requires_grad=True)
        x = torch.full((3, 2), 0.5)
        torch.tanh(x @ w).sum().backward()
        """,
    ),
    case(
        "some_gates_saturated",
        """
        import torch
        x = torch.tensor([[-40.0, 0.3, 40.0]])
        w = torch.ones(1, 3, requires_grad=True)
        torch.sigmoid(x * w).sum().backward()
        """,
    ),
    case(
        "small_weight_of_one_loss",
        """
        import torch
        import torch.nn as nn
        torch.manual_seed(0)
        a, b = nn.Linear(4, 1), nn.Linear(4, 1)
        x = torch.randn(8, 4)
        (a(x).pow(2).mean() + 1e-8 * b(x).pow(2).mean()).backward()
        """,
    ),
    case(
        "attention_makes_a_mask_of_its_own",
        """
        import torch
        import torch.nn as nn
        torch.manual_seed(0)
        attention = nn.MultiheadAttention(4, 2, batch_first=True)
        x = torch.randn(2, 3, 4)
        pad = torch.tensor([[False, False, True], [False, False, False]])
        y, _ = attention(x, x, x, key_padding_mask=pad, need_weights=False)
        y.pow(2).mean().backward()
        """,
    ),
    case(
        "queries_and_keys_of_small_weights_beside_residual_connections",
        """
        import torch
        import torch.nn as nn

        torch.manual_seed(0)

        class Block(nn.Module):
            def __init__(self):
                super().__init__()
                self.norm = nn.LayerNorm(16)
                self.query, self.key = nn.Linear(16, 16), nn.Linear(16, 16)
                self.value, self.out = nn.Linear(16, 16), nn.Linear(16, 16)

            def forward(self, x):
                y = self.norm(x)
                scores = self.query(y) @ self.key(y).transpose(-2, -1)
                return x + self.out(scores.softmax(-1) @ self.value(y))

        head = [nn.Linear(16, 16), nn.GELU(), nn.Linear(16, 16), nn.Linear(16, 1)]
        net = nn.Sequential(nn.Embedding(9, 16), Block(), *head)
        for name, p in net.named_parameters():
            if "norm" not in name:
                nn.init.normal_(p, std=0.02)
        optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
        for step in range(3):
            optimizer.zero_grad()
            net(torch.randint(9, (6, 5))).pow(2).mean().backward()
            optimizer.step()
        """,
    ),
    case(
        "convolutions_drawn_for_all_that_they_take_in",
        """
        import math
        import torch
        from torch import nn
        torch.manual_seed(0)
        def convolution(inputs, outputs):
            layer = nn.Conv2d(inputs, outputs, 3, padding=1)
            nn.init.normal_(layer.weight, std=math.sqrt(2.0 / layer.weight[0].numel()))
            return layer
        parts = [convolution(1, 8), nn.ReLU()]
        for _ in range(9):
            parts += [convolution(8, 8), nn.ReLU()]
        net = nn.Sequential(*parts, convolution(8, 1))
        opt = torch.optim.Adam(net.parameters(), 1e-3)
        for _ in range(3):
            loss = 1e3 * net(torch.randn(4, 1, 8, 8)).square().mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        engines=("torch",),
    ),
    case(
        "loop_that_arrives_at_its_fixed_point",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        inner, outer, head = nn.Linear(4, 4), nn.Linear(3, 4), nn.Linear(4, 1)
        with torch.no_grad():
            inner.weight *= 0.3
        x, z = torch.randn(8, 3), torch.zeros(8, 4)
        for _ in range(60):
            z = torch.tanh(inner(z) + outer(x))
        head(z).pow(2).mean().backward()
        """,
    ),
]
