"""Programs about losses, steps and switches that go wrong in rarer ways."""

from __future__ import annotations

from tests.rules.harness import case

WRONG = [
    case(
        "broadcast_in_a_huber_loss",
        """
        import torch
        import torch.nn as nn
        class Huber(nn.Module):
            def forward(self, prediction, target):
                error = prediction - target  # CULPRIT
                small = error.abs() < 1
                return torch.where(small, error ** 2 / 2, error.abs() - 0.5).mean()
        net = nn.Linear(3, 1)
        loss = Huber()(net(torch.randn(8, 3)), torch.randn(8))
        loss.backward()
        """,
        "broadcast-loss-manual",
        says=["64 pairs from 8 samples"],
    ),
    case(
        "log_softmax_over_the_batch",
        """
        import torch
        import torch.nn as nn
        net = nn.Linear(4, 3)
        x, y = torch.randn(8, 4), torch.randint(0, 3, (8,))
        scores = net(x)
        logp = torch.log_softmax(scores, dim=0)  # CULPRIT
        loss = nn.functional.nll_loss(logp, y)
        loss.backward()
        """,
        "softmax-over-batch",
        says=["dimension 0 of shape (8, 3)", "dimension 1"],
    ),
    case(
        "softmax_layer_over_the_batch",
        """
        import torch
        import torch.nn as nn
        net = nn.Sequential(nn.Linear(4, 3), nn.ReLU())
        def classify(x):
            return torch.softmax(net(x), 0)  # CULPRIT
        loss_fn = nn.NLLLoss()
        for step in range(2):
            p = classify(torch.randn(6, 4))
            loss = loss_fn(torch.log(p + 1e-8), torch.randint(0, 3, (6,)))
            loss.backward()
        """,
        "softmax-over-batch",
    ),
    case(
        "steps_without_backward",
        """
        import torch
        import torch.nn as nn
        net = nn.Linear(3, 1)
        opt = torch.optim.Adam(net.parameters())
        def train_step(x):
            loss = net(x).pow(2).mean()
            opt.zero_grad()
            opt.step()  # CULPRIT
            return loss.item()
        history = [train_step(torch.randn(4, 3)) for _ in range(3)]
        """,
        "step-without-backward",
        says=["3 times"],
    ),
    case(
        "decoder_left_out_of_the_optimizer",
        """
        import torch
        import torch.nn as nn
        encoder, decoder = nn.Linear(4, 2), nn.Linear(2, 4)
        opt = torch.optim.Adam(encoder.parameters())  # CULPRIT
        for step in range(3):
            x = torch.randn(6, 4)
            loss = (decoder(torch.tanh(encoder(x))) - x).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "parameters-in-no-optimizer",
        says=["`decoder.weight`", "them"],
        related=["created here"],
    ),
    case(
        "clipped_before_the_pass",
        """
        import torch
        import torch.nn as nn
        net = nn.Linear(3, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(3):
            loss = net(torch.randn(4, 3)).pow(2).mean()
            opt.zero_grad()
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)  # CULPRIT
            loss.backward()
            opt.step()
        """,
        "clip-after-step",
        says=["unclipped"],
    ),
    case(
        "switch_of_parameters_misspelled",
        """
        import torch
        import torch.nn as nn
        def freeze(module):
            for p in module.parameters():
                p.require_grad = False  # CULPRIT
        body, head = nn.Linear(4, 4), nn.Linear(4, 2)
        freeze(body)
        opt = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.1)
        loss = head(body(torch.randn(3, 4))).pow(2).mean()
        loss.backward()
        opt.step()
        """,
        "freeze-attribute-typo",
        says=["`require_grad`", "`body`"],
    ),
    case(
        "converted_in_a_helper",
        """
        import torch
        def parameter(*shape):
            return torch.zeros(*shape, requires_grad=True).double()  # CULPRIT
        p = parameter(2, 2)
        loss = (torch.ones(3, 2, dtype=torch.float64) @ p - 1).pow(2).mean()
        loss.backward()
        print(p.grad)
        """,
        "nonleaf-after-to",
    ),
    case(
        "residual_of_an_equation_is_half_constant",
        """
        import torch
        import torch.nn as nn
        u = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))
        opt = torch.optim.Adam(u.parameters(), lr=1e-3)
        t = torch.linspace(0, 1, 5).reshape(-1, 1).requires_grad_()
        for step in range(2):
            y = u(t)
            dy = torch.autograd.grad(y.sum(), t, retain_graph=True)[0]  # CULPRIT
            loss = (dy + y).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "gradient-penalty-no-create-graph",
    ),
    case(
        "gate_that_leaves_as_a_number",
        """
        import torch
        from torch import nn
        class RBF(nn.Module):
            def __init__(self):
                super().__init__()
                self.raw = nn.Parameter(torch.tensor(0.5))
                self.centers = nn.Parameter(torch.randn(4, 2))
            @property
            def gamma(self):
                return 1 + 2 * float(nn.functional.softplus(self.raw))  # CULPRIT
            def forward(self, x):
                gaps = (x[:, None] - self.centers).pow(2).sum(-1)
                return torch.exp(-self.gamma * gaps).sum(1)
        net = RBF()
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            opt.zero_grad()
            (net(torch.randn(5, 2)) - 1).pow(2).mean().backward()
            opt.step()
        """,
        "unused-submodule",
        says=["ends in `float("],
    ),
    case(
        "lone_leaf_that_leaves_as_a_number",
        """
        import torch
        w = torch.randn(4, requires_grad=True)
        scale = torch.tensor(0.5, requires_grad=True)
        opt = torch.optim.SGD([w, scale], lr=0.1)
        x, y = torch.randn(10, 4), torch.randn(10)
        for _ in range(3):
            temperature = 1.0 + 2.0 * scale.item()  # CULPRIT
            loss = (x @ w / temperature - y).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "unused-submodule",
        says=["`scale`"],
    ),
    case(
        "layer_replaced_by_a_helper",
        """
        import torch
        from torch import nn
        def slim(layer, keep):
            new = nn.Linear(layer.in_features, keep)
            with torch.no_grad():
                new.weight.copy_(layer.weight[:keep])
                new.bias.copy_(layer.bias[:keep])
            return new
        net = nn.ModuleDict({"a": nn.Linear(4, 8), "b": nn.Linear(6, 2)})
        opt = torch.optim.Adam(net.parameters(), lr=1e-2)
        net["a"] = slim(net["a"], 6)  # CULPRIT
        for _ in range(3):
            loss = net["b"](torch.relu(net["a"](torch.randn(5, 4)))).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "optimizer-stale-params",
    ),
    case(
        "cleared_by_the_other_optimizer",
        """
        import torch
        from torch import nn
        shared, actor, critic = nn.Linear(3, 6), nn.Linear(6, 2), nn.Linear(6, 1)
        opt_a = torch.optim.SGD([*shared.parameters(), *actor.parameters()], lr=0.1)
        opt_c = torch.optim.SGD([*shared.parameters(), *critic.parameters()], lr=0.1)
        for _ in range(2):
            h = torch.tanh(shared(torch.randn(5, 3)))
            opt_a.zero_grad()
            actor(h).pow(2).mean().backward(retain_graph=True)
            opt_c.zero_grad()  # CULPRIT
            opt_a.step()
            critic(h).pow(2).mean().backward()
            opt_c.step()
        """,
        "zero-grad-before-step",
        says=["`shared.weight`"],
    ),
]

FINE = [
    case(
        "first_order_meta_learning_by_hand",
        """
        import torch
        w = torch.randn(3, 1, requires_grad=True)
        meta = torch.optim.SGD([w], lr=0.1)
        for task in range(3):
            x, y = torch.randn(4, 3), torch.randn(4, 1)
            fast = w.detach().clone().requires_grad_()
            for inner in range(2):
                (g,) = torch.autograd.grad((x @ fast - y).pow(2).mean(), fast)
                fast = (fast - 0.1 * g).detach().requires_grad_()
            (g,) = torch.autograd.grad((x @ fast - y).pow(2).mean(), fast)
            w.grad = g.clone()
            meta.step()
        """,
    ),
    case(
        "pairs_masked_by_a_table",
        """
        import torch
        import torch.nn as nn
        net, y = nn.Linear(3, 1), torch.randn(6)
        group = torch.tensor([0, 0, 1, 1, 2, 2])
        same = group[:, None] == group[None]
        gap = net(torch.randn(6, 3)) - y
        torch.where(same, gap.abs(), gap ** 2).mean().backward()
        """,
    ),
    case(
        "log_softmax_over_the_classes_of_a_picture",
        """
        import torch
        import torch.nn as nn
        net = nn.Conv2d(1, 3, 1)
        logp = torch.log_softmax(net(torch.randn(2, 1, 4, 4)), dim=1)
        nn.functional.nll_loss(logp, torch.zeros(2, 4, 4).long()).backward()
        """,
    ),
    case(
        "attention_over_time_then_classes",
        """
        import torch
        import torch.nn as nn
        score, out = nn.Linear(4, 1), nn.Linear(4, 3)
        h = torch.randn(7, 5, 4)
        weights = torch.softmax(score(h), dim=0)
        logp = torch.log_softmax(out((weights * h).sum(0)), dim=-1)
        nn.functional.nll_loss(logp, torch.zeros(5).long()).backward()
        """,
    ),
    case(
        "scheduler_wound_forward",
        """
        import torch
        import torch.nn as nn
        net = nn.Linear(2, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        opt.step()
        net(torch.ones(1, 2)).sum().item()
        """,
    ),
    case(
        "gradients_set_by_hand",
        """
        import torch
        w = torch.ones(3, requires_grad=True)
        opt = torch.optim.SGD([w], lr=0.1)
        for step in range(3):
            w.grad = w.detach() * 2
            opt.step()
        """,
    ),
    case(
        "norms_logged_after_the_step",
        """
        import torch
        import torch.nn as nn
        net = nn.Linear(3, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(3):
            net(torch.randn(4, 3)).pow(2).mean().backward()
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            opt.step()
            opt.zero_grad()
            nn.utils.clip_grad_norm_(net.parameters(), float("inf"))
        """,
    ),
    case(
        "update_by_a_gradient_and_two_steps",
        """
        import torch
        import torch.nn as nn
        encoder, energy = nn.Linear(3, 2), nn.Linear(2, 1)
        z = encoder(torch.randn(4, 3))
        (g,) = torch.autograd.grad(energy(z).sum(), z, retain_graph=True)
        better = z - 0.1 * g
        energy(better).pow(2).mean().backward()
        """,
    ),
    case(
        "two_optimizers_of_one_layer_in_turns",
        """
        import torch
        from torch import nn
        shared, actor, critic = nn.Linear(3, 6), nn.Linear(6, 2), nn.Linear(6, 1)
        opt_a = torch.optim.SGD([*shared.parameters(), *actor.parameters()], lr=0.1)
        opt_c = torch.optim.SGD([*shared.parameters(), *critic.parameters()], lr=0.1)
        for _ in range(2):
            for opt, head in ((opt_a, actor), (opt_c, critic)):
                loss = head(torch.tanh(shared(torch.randn(5, 3)))).pow(2).mean()
                opt.zero_grad()
                loss.backward()
                opt.step()
        """,
    ),
]
