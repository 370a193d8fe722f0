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
        "actor_judged_by_a_critic_of_detached_features",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F

        torch.manual_seed(0)
        trunk, actor, critic = nn.Linear(4, 6), nn.Linear(6, 2), nn.Linear(8, 1)
        seeing = [*trunk.parameters(), *critic.parameters()]
        critic_optimizer = torch.optim.Adam(seeing, lr=1e-2)
        actor_optimizer = torch.optim.Adam(actor.parameters(), lr=1e-2)

        def score(state, action):
            return critic(torch.cat([state, action], 1)).squeeze(1)

        for step in range(4):
            x, action, reward = torch.randn(9, 4), torch.randn(9, 2), torch.randn(9)
            loss = F.mse_loss(score(torch.tanh(trunk(x)), action), reward)
            critic_optimizer.zero_grad()
            loss.backward()
            critic_optimizer.step()
            state = torch.tanh(trunk(x)).detach()
            loss = -score(state, torch.tanh(actor(state))).mean()
            loss = loss + 1e-3 * actor(state).square().mean()
            actor_optimizer.zero_grad()
            loss.backward()
            actor_optimizer.step()
        """,
    ),
    case(
        "probe_of_detached_features_and_a_number_beside_the_loss",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F

        torch.manual_seed(0)
        trunk, head, probe = nn.Linear(4, 6), nn.Linear(6, 3), nn.Linear(6, 2)
        parts = nn.ModuleList([trunk, head, probe])
        optimizer = torch.optim.Adam(parts.parameters(), lr=1e-2)
        for step in range(4):
            x, y = torch.randn(9, 4), torch.randint(0, 3, (9,))
            z = torch.randint(0, 2, (9,))
            h = torch.relu(trunk(x))
            loss = F.cross_entropy(head(h), y) + F.cross_entropy(probe(h.detach()), z)
            agreed = F.mse_loss(h.detach(), x.mean(1, keepdim=True).expand_as(h))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            print(step, loss.item(), (loss + agreed).item())
        """,
    ),
    case(
        "second_results_that_are_not_needed_or_kept",
        """
        import torch
        from torch import nn

        class Layer(nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = nn.Parameter(torch.randn(4, 4))

            def forward(self, x):
                return torch.tanh(x @ self.weight), self.weight.square().sum()

        torch.manual_seed(0)
        body, tail = [nn.ModuleList([Layer(), Layer()]) for _ in range(2)]
        parts = [*body.parameters(), *tail.parameters()]
        optimizer = torch.optim.SGD(parts, lr=0.01)
        for step in range(3):
            x, sizes = torch.randn(6, 4), []
            out = x
            for layer in body:
                out, size = layer(out)
                sizes.append(size)
            for layer in tail:
                out, _ = layer(out)
            loss = (out - x.tanh()).square().mean() + 1e-3 * sum(sizes)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
    ),
    case(
        "decorated_measures_shown_or_subtracted",
        """
        import torch
        from torch import nn

        def error(net, x, y):
            return (net(x) - y).square().mean()

        net = nn.Linear(3, 2)
        shown, floor = torch.no_grad()(error), torch.inference_mode()(error)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            x, y = torch.randn(5, 3), torch.randn(5, 2)
            loss = error(net, x, y)
            print(float(loss + shown(net, x, y)))
            with torch.no_grad():
                least = (net(x) - y).square().amin()
            gap = loss - floor(net, x + 1, y) + least
            optimizer.zero_grad()
            gap.backward()
            optimizer.step()
        """,
    ),
    case(
        "penalty_over_all_parameters_of_which_one_is_frozen_now",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F

        def train(net, x, y, anchor=None):
            learning = [p for p in net.parameters() if p.requires_grad]
            optimizer = torch.optim.Adam(learning, lr=1e-2)
            for step in range(4):
                loss = F.mse_loss(net(x), y)
                for name, p in net.named_parameters():
                    if anchor is not None:
                        loss = loss + F.mse_loss(p, anchor[name], reduction="sum")
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()

        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
        train(net, torch.randn(8, 3), torch.randn(8, 1))
        anchor = {name: p.detach().clone() for name, p in net.named_parameters()}
        net[0].requires_grad_(False)
        train(net, torch.randn(8, 3), torch.randn(8, 1), anchor)
        """,
    ),
]
