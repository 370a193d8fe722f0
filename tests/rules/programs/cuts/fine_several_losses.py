"""Optimizers, kept weights and averages beside losses of several terms, as meant."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "head_with_an_optimizer_of_its_own_as_well",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F

        torch.manual_seed(0)
        body = nn.Sequential(nn.Linear(5, 16), nn.ReLU())
        head = nn.Linear(16, 3)
        whole = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.05)
        alone = torch.optim.SGD(head.parameters(), lr=0.5)
        for step in range(6):
            x, y = torch.randn(12, 5), torch.randint(0, 3, (12,))
            if step % 2:
                with torch.no_grad():
                    features = body(x)
                loss = F.cross_entropy(head(features), y)
                alone.zero_grad()
                loss.backward()
                alone.step()
            else:
                loss = F.cross_entropy(head(body(x)), y)
                whole.zero_grad()
                loss.backward()
                whole.step()
            print(step, loss.item())
        """,
    ),
    case(
        "proximal_and_elastic_terms_of_kept_weights",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F

        def make():
            return nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 2))

        def importance(model, batches):
            found = [torch.zeros_like(p) for p in model.parameters()]
            for x, y in batches:
                model.zero_grad()
                F.cross_entropy(model(x), y).backward()
                for total, p in zip(found, model.parameters()):
                    total += p.grad.pow(2) / len(batches)
            return found

        torch.manual_seed(0)
        model = make()
        batches = [(torch.randn(6, 5), torch.randint(0, 2, (6,))) for _ in range(4)]
        fisher = importance(model, batches)
        anchor = [p.detach().clone() for p in model.parameters()]
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for x, y in batches:
            loss = F.cross_entropy(model(x), y)
            for weight, kept, p in zip(fisher, anchor, model.parameters()):
                loss = loss + 0.1 * (weight * (p - kept).pow(2)).sum()
                loss = loss + 0.01 * (p - kept).pow(2).sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            print(loss.item())
        """,
    ),
    case(
        "unused_heads_kept_in_the_graph",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F

        class Shared(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = nn.Linear(6, 10)
                self.heads = nn.ModuleList([nn.Linear(10, 2), nn.Linear(10, 2)])

            def forward(self, x, task):
                h = torch.relu(self.body(x))
                out = self.heads[task](h)
                idle = sum(p.sum() for p in self.heads[1 - task].parameters())
                return out, 0.0 * idle

        torch.manual_seed(0)
        net = Shared()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(6):
            x, y = torch.randn(8, 6), torch.randint(0, 2, (8,))
            out, nothing = net(x, step % 2)
            loss = F.cross_entropy(out, y) + nothing
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            print(step, loss.item())
        """,
    ),
    case(
        "domains_confused_by_a_reversed_gradient",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F

        class Reverse(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, weight):
                ctx.weight = weight
                return x.view_as(x)

            @staticmethod
            def backward(ctx, grad):
                return -ctx.weight * grad, None

        torch.manual_seed(0)
        features = nn.Sequential(nn.Linear(6, 12), nn.ReLU())
        classes, domains = nn.Linear(12, 3), nn.Linear(12, 1)
        parts = nn.ModuleList([features, classes, domains])
        optimizer = torch.optim.SGD(parts.parameters(), lr=0.05)
        for step in range(4):
            source, target = torch.randn(8, 6), torch.randn(8, 6) + 0.5
            labels = torch.randint(0, 3, (8,))
            here, there = features(source), features(target)
            task = F.cross_entropy(classes(here), labels)
            both = Reverse.apply(torch.cat([here, there]), 0.1)
            side = torch.cat([torch.zeros(8), torch.ones(8)])
            guess = domains(both).squeeze(1)
            domain = F.binary_cross_entropy_with_logits(guess, side)
            loss = task + domain
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            print(step, task.item(), domain.item())
        """,
    ),
    case(
        "losses_of_a_sequence_added_up",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F

        class Tagger(nn.Module):
            def __init__(self, words=12, tags=4):
                super().__init__()
                self.embed = nn.Embedding(words, 8)
                self.cell = nn.GRUCell(8, 10)
                self.out = nn.Linear(10, tags)

            def forward(self, word, state):
                state = self.cell(self.embed(word), state)
                return self.out(state), state

        torch.manual_seed(0)
        model = Tagger()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        words, tags = torch.randint(0, 12, (5, 3)), torch.randint(0, 4, (5, 3))
        for epoch in range(3):
            state, losses = torch.zeros(3, 10), []
            best = None
            for word, tag in zip(words, tags):
                logits, state = model(word, state)
                loss = F.cross_entropy(logits, tag)
                losses.append(loss)
                best = loss
            weights = torch.linspace(0.5, 1.0, len(losses))
            total = (torch.stack(losses) * weights).sum() / weights.sum()
            optimizer.zero_grad()
            total.backward()
            optimizer.step()
            print(f"{epoch} {total:.3f} {best:.3f}")
        """,
    ),
    case(
        "two_views_with_a_stopped_gradient_and_an_average",
        """
        import copy
        import torch
        from torch import nn
        import torch.nn.functional as F

        torch.manual_seed(0)
        encoder = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 4))
        predictor = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 4))
        average = copy.deepcopy(encoder)
        both = [*encoder.parameters(), *predictor.parameters()]
        optimizer = torch.optim.SGD(both, lr=0.05)

        def distance(p, z):
            return -F.cosine_similarity(p, z.detach(), dim=1).mean()

        for step in range(4):
            x = torch.randn(10, 6)
            one, two = (encoder(x + 0.1 * torch.randn_like(x)) for _ in range(2))
            simple = distance(predictor(one), two) + distance(predictor(two), one)
            with torch.no_grad():
                slow = average(x)
            loss = 0.5 * simple + distance(predictor(one), slow)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            with torch.no_grad():
                for kept, p in zip(average.parameters(), encoder.parameters()):
                    kept.lerp_(p, 0.1)
            print(step, loss.item())
        """,
    ),
    case(
        "bits_drawn_and_passed_straight_through",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F

        class Bits(nn.Module):
            def __init__(self):
                super().__init__()
                self.encoder, self.decoder = nn.Linear(8, 6), nn.Linear(6, 8)

            def forward(self, x):
                p = torch.sigmoid(self.encoder(x))
                bits = torch.bernoulli(p.detach())
                passed = bits + p - p.detach()
                hard = torch.round(p)
                nearness = (p - hard.detach()).pow(2).mean()
                return self.decoder(passed), nearness, p

        torch.manual_seed(0)
        model = Bits()
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
        for step in range(4):
            x = torch.randn(10, 8)
            again, nearness, p = model(x)
            usage = (p.mean(0) - 0.5).pow(2).sum()
            loss = F.mse_loss(again, x) + 0.1 * nearness + 0.1 * usage
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            print(step, loss.item())
        """,
    ),
    case(
        "adapters_that_are_added_to_each_other_pair",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F

        torch.manual_seed(0)
        embed = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 4))
        optimizer = torch.optim.Adam(embed.parameters(), lr=1e-3)
        for step in range(4):
            x, labels = torch.randn(8, 6), torch.arange(8) % 3
            z = embed(x)
            apart = (z.unsqueeze(0) - z.unsqueeze(1)).pow(2).sum(-1)
            same = (labels[:, None] == labels[None]).float()
            other = 1 - same
            pull = (apart * same).sum() / same.sum()
            push = (F.relu(1 - apart) * other).sum() / other.sum()
            skew = z.t() @ z
            balance = (skew - skew.t()).abs().sum() + skew.diagonal().var()
            loss = pull + push + 0.01 * balance
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            print(step, loss.item())
        """,
    ),
]
