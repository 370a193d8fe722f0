"""Programs that broadcast, normalise twice or switch modes, and mean it."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "all_pairs_of_scores",
        """
        import torch
        from torch import nn

        net = nn.Linear(4, 1)
        scores = net(torch.randn(5, 4)).squeeze(1)
        labels = torch.randn(5)
        margin = scores.unsqueeze(1) - scores
        wanted = torch.sign(labels[:, None] - labels)
        loss = torch.relu(1 - wanted * margin).mean()
        loss.backward()
        """,
    ),
    case(
        "squared_distances",
        """
        import torch

        a = torch.randn(5, 3, requires_grad=True)
        b = torch.randn(5, 3)
        square_a = a.pow(2).sum(1, keepdim=True)
        square_b = b.pow(2).sum(1)
        distance = square_a + square_b - 2 * a @ b.T
        distance.clamp(min=0).mean().backward()
        """,
    ),
    case(
        "positions_times_frequencies",
        """
        import torch
        from torch import nn

        t = torch.arange(8.0).reshape(-1, 1)
        freq = torch.exp(-torch.arange(8.0))
        angles = t * freq
        net = nn.Linear(16, 1)
        features = torch.cat([angles.sin(), angles.cos()], 1)
        net(features).pow(2).mean().backward()
        """,
    ),
    case(
        "bias_weights_and_norms",
        """
        import torch
        from torch import nn

        w = nn.Parameter(torch.randn(4, 3))
        bias, scale = nn.Parameter(torch.zeros(3)), nn.Parameter(torch.ones(4, 1))
        x = torch.randn(4, 3)
        y = (x * w + bias) * scale
        y = (y - y.mean(1, keepdim=True)) / (y.std(1, keepdim=True) + 1e-5)
        weight = torch.rand(4, 1)
        (weight * (y - x).pow(2)).mean().backward()
        """,
    ),
    case(
        "targets_shaped_alike",
        """
        import torch
        import torch.nn.functional as F
        from torch import nn

        net = nn.Linear(3, 1)
        x, y = torch.randn(5, 3), torch.randn(5)
        loss = F.mse_loss(net(x).squeeze(1), y) + F.l1_loss(net(x), y.unsqueeze(1))
        loss = loss + (net(x)[:, 0] - y).pow(2).mean()
        loss = loss + F.mse_loss(net(x), torch.zeros(1, 1).expand(5, 1))
        loss.backward()
        """,
    ),
    case(
        "softmax_for_targets_and_attention",
        """
        import torch
        import torch.nn.functional as F
        from torch import nn

        net, other = nn.Linear(4, 3), nn.Linear(4, 3)
        x = torch.randn(6, 4)
        attention = torch.softmax(x @ x.T / 2, dim=1)
        logits = net(attention @ x)
        soft = torch.softmax(other(x), dim=1).detach()
        loss = F.cross_entropy(logits, soft)
        loss = loss + F.nll_loss(F.log_softmax(logits, 1), soft.argmax(1))
        loss = loss + F.cross_entropy(F.log_softmax(logits, 1), soft.argmax(1))
        probability = torch.sigmoid(logits)
        loss = loss + F.binary_cross_entropy(probability, soft)
        loss.backward()
        """,
    ),
    case(
        "softmax_along_another_dimension",
        """
        import torch
        import torch.nn.functional as F

        x = torch.randn(6, 4, requires_grad=True)
        assignment = torch.softmax(x, dim=0)
        F.cross_entropy(assignment, torch.zeros(6, dtype=torch.long)).backward()
        """,
    ),
    case(
        "monte_carlo_dropout",
        """
        import torch
        from torch import nn

        net = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 1))
        net.eval()
        for layer in net.modules():
            if isinstance(layer, nn.Dropout):
                layer.train()
        with torch.no_grad():
            draws = torch.stack([net(torch.ones(2, 4)) for _ in range(5)])
        print(draws.mean(0), draws.std(0))
        """,
    ),
    case(
        "dropout_function_that_is_told",
        """
        import torch
        import torch.nn.functional as F
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(4, 4)

            def forward(self, x):
                return F.dropout(self.fc(x), 0.5, self.training)

        net = Net().eval()
        with torch.no_grad():
            net(torch.ones(2, 4))
            F.dropout(net(torch.ones(2, 4)), 0.5, training=True)
        """,
    ),
    case(
        "eval_and_train_in_turns",
        """
        import torch
        from torch import nn

        net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 1))
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for epoch in range(3):
            net.train()
            opt.zero_grad()
            net(torch.randn(6, 4)).pow(2).mean().backward()
            opt.step()
            net.eval()
            with torch.no_grad():
                net(torch.randn(1, 4))
        """,
    ),
    case(
        "frozen_batch_norm",
        """
        import torch
        from torch import nn

        net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 1))
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for epoch in range(4):
            net.train()
            if epoch >= 2:
                for layer in net:
                    if isinstance(layer, nn.BatchNorm1d):
                        layer.eval()
            opt.zero_grad()
            net(torch.randn(6, 4)).pow(2).mean().backward()
            opt.step()
        """,
    ),
    case(
        "backbone_in_evaluation_mode",
        """
        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8))
                self.head = nn.Sequential(nn.Dropout(0.1), nn.Linear(8, 1))
                self.body.requires_grad_(False)

            def train(self, mode=True):
                super().train(mode)
                self.body.eval()
                return self

            def forward(self, x):
                return self.head(self.body(x))

        net = Net()
        opt = torch.optim.SGD(net.head.parameters(), lr=0.1)
        for epoch in range(2):
            net.train()
            opt.zero_grad()
            net(torch.randn(6, 4)).pow(2).mean().backward()
            opt.step()
            net.eval()
            with torch.no_grad():
                net(torch.randn(2, 4))
        """,
    ),
    case(
        "gradients_of_a_model_in_evaluation_mode",
        """
        import torch
        from torch import nn

        net = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 1))
        net.eval()
        image = torch.zeros(1, 4, requires_grad=True)
        opt = torch.optim.Adam([image])
        for step in range(3):
            opt.zero_grad()
            (-net(image).sum()).backward()
            opt.step()
        """,
    ),
    case(
        "batch_norm_with_many_values_of_one_image",
        """
        import torch
        from torch import nn

        net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2))
        net(torch.randn(1, 1, 8, 8)).sum().backward()
        """,
    ),
    case(
        "dtypes_converted_in_time",
        """
        import numpy as np
        import torch
        from torch import nn

        x = torch.from_numpy(np.random.rand(4, 3)).float()
        net = nn.Linear(3, 1)
        out = net(x).double() * np.pi
        (out + torch.arange(4)[:, None]).sum().backward()
        twice = nn.Linear(3, 1).double()
        twice(torch.ones(2, 3, dtype=torch.float64)).sum().backward()
        """,
    ),
    case(
        "shapes_tried_until_one_fits",
        """
        import torch
        from torch import nn

        net = nn.Linear(3, 1)
        for width in (2, 3):
            try:
                net(torch.ones(4, width)).sum().backward()
            except RuntimeError:
                continue
        """,
    ),
    case(
        "hundreds_of_steps",
        """
        import torch
        from torch import nn

        net = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 1))
        opt = torch.optim.SGD(net.parameters(), lr=0.05)
        running = 0.0
        for step in range(300):
            x = torch.randn(8, 2)
            loss = (net(x).squeeze(1) - x.sum(1)).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            running = 0.9 * running + 0.1 * loss.item()
        """,
    ),
    case(
        "search_beside_points_that_gather_gradients",
        """
        import torch
        from torch import nn

        field = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))
        x = torch.rand(20, 1).requires_grad_()
        search = torch.optim.LBFGS(field.parameters(), max_iter=4)

        def closure():
            search.zero_grad()
            u = field(x)
            (slope,) = torch.autograd.grad(u.sum(), x, create_graph=True)
            begin = field(torch.zeros(1, 1)) - 1
            loss = (slope - u).square().mean() + begin.square().sum()
            loss.backward()
            return loss

        for _ in range(2):
            search.step(closure)
        """,
    ),
    case(
        "copies_that_hand_their_gradients_on",
        """
        import copy
        import torch
        import torch.nn as nn
        import torch.nn.functional as F
        meta = nn.Linear(1, 1)
        outer = torch.optim.SGD(meta.parameters(), 0.1)
        for task in range(3):
            x, y = torch.rand(20, 1), torch.rand(20, 1)
            learner = copy.deepcopy(meta)
            inner = torch.optim.SGD(learner.parameters(), 0.05)
            for _ in range(2):
                inner.zero_grad()
                F.mse_loss(learner(x), y).backward()
                inner.step()
            outer.zero_grad()
            for own, adapted in zip(meta.parameters(), learner.parameters()):
                own.grad = own.detach() - adapted.detach()
            outer.step()
        """,
    ),
    case(
        "pairs_that_are_compared_on_purpose",
        """
        import torch
        import torch.nn.functional as F
        from torch import nn

        x, y = torch.randn(8, 4), torch.randint(0, 2, (8, 1)).float()
        net = nn.Linear(4, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        lengths = torch.randint(1, 9, (8,))
        for step in range(3):
            scores = net(x)
            loss = F.binary_cross_entropy_with_logits(scores, y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            with torch.no_grad():
                right = ((scores > 0).float() == y).float().mean()
                best = scores.argmax(1, keepdim=True)
                same = best.eq(y.view_as(best)).sum().item()
                good, bad = scores[:4], scores[4:, 0]
                column = good.reshape(-1, 1)
                area = (column > bad).float().mean()
                ends = lengths.view(-1, 1)
                places = torch.arange(8)
                filled = (places < ends).sum()
        """,
    ),
    *(
        case(
            name,
            f"""
            import torch
            import torch.nn.functional as F
            from torch import nn
            torch.manual_seed(0)
            class Net(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.first, self.last = nn.Linear(4, 8), nn.Linear(8, 3)
                def forward(self, x):
                    h = torch.relu(self.first(x))
                    return self.last(F.dropout(h, 0.3, training=True))
            net = Net()
            opt = torch.optim.SGD(net.parameters(), lr=0.1)
            kind = torch.randint(0, 3, (6,))
            for x in torch.randn(3, 6, 4):
                opt.zero_grad()
                F.cross_entropy(net(x), kind).backward()
                opt.step()
            net.eval()
            with torch.no_grad():
                for x in torch.randn(3, 6, 4):
                    {answer}
                    print((best == kind).float().mean().item())
            """,
        )
        for name, answer in (
            (
                "monte_carlo_dropout_averages",
                "best = sum(net(x).softmax(1) for _ in range(5)).argmax(1)",
            ),
            (
                "monte_carlo_dropout_votes",
                "best = torch.stack([net(x).argmax(1) for _ in range(5)]).mode(0)[0]",
            ),
            (
                "monte_carlo_dropout_scores_each_draw",
                "for _ in range(5): best = net(x).argmax(1); print(best == kind)",
            ),
        )
    ),
    case(
        "noise_of_a_generator_stays_on",
        """
        import torch
        import torch.nn.functional as F
        from torch import nn
        torch.manual_seed(0)
        class Prenet(nn.Module):
            def __init__(self):
                super().__init__()
                self.first, self.last = nn.Linear(4, 8), nn.Linear(8, 4)
            def forward(self, frame):
                h = F.dropout(torch.relu(self.first(frame)), 0.5, training=True)
                return self.last(h)
        net = Prenet()
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for epoch in range(2):
            net.train()
            for frame in torch.randn(3, 6, 4):
                opt.zero_grad()
                F.mse_loss(net(frame), frame).backward()
                opt.step()
            net.eval()
            with torch.no_grad():
                print([F.mse_loss(net(f), f).item() for f in torch.randn(3, 6, 4)])
        """,
    ),
    case(
        "energies_apart_held_by_their_squares",
        """
        import torch
        from torch import nn

        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(2, 32), nn.SiLU(), nn.Linear(32, 1))
        optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
        for step in range(40):
            real, fake = torch.randn(64, 2) * 0.3 + 2.0, torch.randn(64, 2)
            near, far = net(real), net(fake)
            held = near.square().mean() + far.square().mean()
            loss = (near - far).mean() + 0.005 * held
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
    ),
    case(
        "squared_correlation_made_large_up_to_one",
        """
        import torch
        from torch import nn

        torch.manual_seed(0)
        x = torch.randn(256, 4)
        y = (x[:, 0] * x[:, 1]).tanh()
        net = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 1))
        optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
        for step in range(60):
            f = net(x).squeeze(1)
            f, t = f - f.mean(), y - y.mean()
            shared = (f * t).mean().square()
            explained = shared / (f.square().mean() * t.square().mean() + 1e-8)
            loss = -explained
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
    ),
]
