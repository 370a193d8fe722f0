"""Losses of several terms that look as if one of them were lost, and are as meant."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "codes_with_a_term_of_their_own",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F

        class Quantizer(nn.Module):
            def __init__(self, codes=8, width=4, beta=0.25):
                super().__init__()
                self.codes = nn.Parameter(torch.randn(codes, width) / codes)
                self.beta = beta

            def forward(self, z):
                nearest = torch.cdist(z, self.codes).argmin(dim=1)
                quantized = self.codes[nearest]
                codebook = F.mse_loss(quantized, z.detach())
                commitment = F.mse_loss(z, quantized.detach())
                passed = z + (quantized - z).detach()
                return passed, codebook + self.beta * commitment

        torch.manual_seed(0)
        encoder, decoder, quantizer = nn.Linear(6, 4), nn.Linear(4, 6), Quantizer()
        parts = nn.ModuleList([encoder, quantizer, decoder])
        optimizer = torch.optim.Adam(parts.parameters(), lr=1e-2)
        for step in range(4):
            x = torch.randn(12, 6)
            passed, extra = quantizer(encoder(x))
            loss = F.mse_loss(decoder(passed), x) + extra
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            print(step, loss.item())
        """,
    ),
    case(
        "actor_critic_with_a_constant_advantage",
        """
        import torch
        from torch import nn
        from torch.distributions import Categorical

        class ActorCritic(nn.Module):
            def __init__(self, states=4, actions=3):
                super().__init__()
                self.trunk = nn.Sequential(nn.Linear(states, 16), nn.Tanh())
                self.policy, self.value = nn.Linear(16, actions), nn.Linear(16, 1)

            def forward(self, state):
                h = self.trunk(state)
                return Categorical(logits=self.policy(h)), self.value(h).squeeze(-1)

        torch.manual_seed(0)
        net = ActorCritic()
        optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
        for episode in range(3):
            log_probs, values, rewards, entropies = [], [], [], []
            state = torch.randn(4)
            for _ in range(5):
                dist, value = net(state)
                action = dist.sample()
                log_probs.append(dist.log_prob(action))
                entropies.append(dist.entropy())
                values.append(value)
                rewards.append(float(action.item() == 1))
                state = torch.randn(4)
            total, returns = 0.0, []
            for reward in reversed(rewards):
                total = reward + 0.9 * total
                returns.insert(0, total)
            values = torch.stack(values)
            advantage = torch.tensor(returns) - values
            actor_loss = -(torch.stack(log_probs) * advantage.detach()).mean()
            critic_loss = advantage.pow(2).mean()
            entropy = torch.stack(entropies).mean()
            loss = actor_loss + 0.5 * critic_loss - 0.01 * entropy
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 0.5)
            optimizer.step()
            print(episode, actor_loss.item(), critic_loss.item())
        """,
    ),
    case(
        "critic_whose_gradients_of_the_actors_loss_are_cleared",
        """
        import torch
        from torch import nn
        from torch.distributions import Normal

        torch.manual_seed(0)
        policy = nn.Sequential(nn.Linear(3, 12), nn.ReLU(), nn.Linear(12, 2))
        critic = nn.Sequential(nn.Linear(4, 12), nn.ReLU(), nn.Linear(12, 1))
        policy_optimizer = torch.optim.SGD(policy.parameters(), lr=1e-2)
        critic_optimizer = torch.optim.SGD(critic.parameters(), lr=1e-2)

        def draw(state):
            mean, log_std = policy(state).chunk(2, dim=1)
            return Normal(mean, log_std.clamp(-2, 1).exp())

        for step in range(4):
            state = torch.randn(16, 3)
            with torch.no_grad():
                action = draw(state).sample()
            reward = -(action - state.mean(1, keepdim=True)).pow(2)
            critic_loss = (critic(torch.cat([state, action], 1)) - reward).pow(2).mean()
            critic_optimizer.zero_grad()
            critic_loss.backward()
            critic_optimizer.step()
            dist = draw(state)
            fresh = dist.rsample()
            score = dist.log_prob(fresh).sum(1, keepdim=True)
            policy_loss = (0.1 * score - critic(torch.cat([state, fresh], 1))).mean()
            policy_optimizer.zero_grad()
            policy_loss.backward()
            policy_optimizer.step()
            print(step, critic_loss.item(), policy_loss.item())
        """,
    ),
    case(
        "prior_term_that_is_warmed_up",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F
        from torch.distributions import Normal, kl_divergence

        class VAE(nn.Module):
            def __init__(self):
                super().__init__()
                self.encoder = nn.Sequential(
                    nn.Linear(8, 12), nn.ReLU(), nn.Linear(12, 4)
                )
                self.decoder = nn.Sequential(
                    nn.Linear(2, 12), nn.ReLU(), nn.Linear(12, 8)
                )

            def forward(self, x):
                mean, log_std = self.encoder(x).chunk(2, dim=-1)
                posterior = Normal(mean, log_std.exp())
                return self.decoder(posterior.rsample()), posterior

        torch.manual_seed(0)
        model = VAE()
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        prior = Normal(torch.zeros(2), torch.ones(2))
        for epoch in range(5):
            beta = max(0.0, (epoch - 2) / 3)
            x = torch.randn(10, 8)
            again, posterior = model(x)
            recon = F.mse_loss(again, x)
            kl = kl_divergence(posterior, prior).sum(-1).mean()
            loss = recon + beta * kl
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            print(f"{epoch}: {recon:.3f} {kl:.3f}")
        """,
    ),
    case(
        "meta_learning_of_both_orders_with_a_penalty",
        """
        import torch
        from torch import nn
        from torch.func import functional_call

        class Regressor(nn.Module):
            def __init__(self):
                super().__init__()
                self.hidden, self.out = nn.Linear(1, 12), nn.Linear(12, 1)

            def forward(self, x):
                return self.out(torch.tanh(self.hidden(x)))

        def error(model, weights, x, y):
            return (functional_call(model, weights, (x,)) - y).pow(2).mean()

        torch.manual_seed(0)
        model = Regressor()
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
        for step in range(4):
            x = torch.randn(8, 1)
            y = torch.sin(x + step)
            weights = dict(model.named_parameters())
            second = step % 2 == 0
            loss = error(model, weights, x[:4], y[:4])
            grads = torch.autograd.grad(loss, weights.values(), create_graph=second)
            fast = {
                name: weight - 0.1 * grad
                for (name, weight), grad in zip(weights.items(), grads)
            }
            outer = error(model, fast, x[4:], y[4:])
            penalty = sum(p.pow(2).sum() for p in model.parameters())
            optimizer.zero_grad()
            (outer + 1e-3 * penalty).backward()
            optimizer.step()
            print(step, outer.item())
        """,
    ),
    case(
        "numbers_of_other_losses_for_the_log",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F

        torch.manual_seed(0)
        policy, value = nn.Linear(6, 3), nn.Linear(6, 1)
        policy_optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
        value_optimizer = torch.optim.Adam(value.parameters(), lr=1e-2)
        history = []
        for step in range(4):
            x, y, target = torch.randn(9, 6), torch.randint(0, 3, (9,)), torch.randn(9)
            policy_loss = F.cross_entropy(policy(x), y)
            value_loss = F.mse_loss(value(x).squeeze(1), target)
            policy_optimizer.zero_grad()
            value_optimizer.zero_grad()
            policy_loss.backward()
            value_loss.backward()
            policy_optimizer.step()
            value_optimizer.step()
            total = policy_loss + value_loss.item()
            perplexity = policy_loss.exp()
            history.append(total.item())
            print(f"{step} {total:.3f} {perplexity:.3f}")
        """,
    ),
    case(
        "surrogate_that_shows_the_true_number",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F

        def zero_one(logits, y):
            return (logits.argmax(1) != y).float().mean()

        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 3))
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(4):
            x, y = torch.randn(12, 5), torch.randint(0, 3, (12,))
            logits = net(x)
            surrogate = F.cross_entropy(logits, y)
            smooth = F.cross_entropy(logits, y, label_smoothing=0.1)
            loss = surrogate + (smooth - surrogate).detach()
            shown = surrogate + (zero_one(logits, y) - surrogate).detach()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            print(step, shown.item())
        """,
    ),
    case(
        "critic_trained_more_often_and_features_matched",
        """
        import torch
        from torch import nn

        class Critic(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = nn.Sequential(nn.Linear(3, 12), nn.LeakyReLU(0.2))
                self.head = nn.Linear(12, 1)

            def forward(self, x):
                features = self.body(x)
                return self.head(features), features

        torch.manual_seed(0)
        generator = nn.Sequential(nn.Linear(2, 12), nn.ReLU(), nn.Linear(12, 3))
        critic = Critic()
        generator_optimizer = torch.optim.RMSprop(generator.parameters(), lr=1e-3)
        critic_optimizer = torch.optim.RMSprop(critic.parameters(), lr=1e-3)
        for step in range(6):
            real = torch.randn(10, 3) + 1
            fake = generator(torch.randn(10, 2))
            critic_loss = critic(fake.detach())[0].mean() - critic(real)[0].mean()
            critic_optimizer.zero_grad()
            critic_loss.backward()
            critic_optimizer.step()
            score, features = critic(fake)
            wanted = critic(real)[1].detach().mean(0)
            matching = (features.mean(0) - wanted).pow(2).sum()
            generator_loss = -score.mean() + matching
            if step % 2 == 0:
                generator_optimizer.zero_grad()
                generator_loss.backward()
                generator_optimizer.step()
            print(step, critic_loss.item(), generator_loss.item())
        """,
    ),
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
