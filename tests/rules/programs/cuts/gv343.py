"""GV343: advantage-with-graph."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "advantage_of_a_shared_network",
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

        def discounted(rewards, gamma=0.9):
            total, found = torch.zeros(()), []
            for reward in rewards.flip(0):
                total = reward + gamma * total
                found.append(total)
            return torch.stack(found[::-1])

        torch.manual_seed(0)
        net = ActorCritic()
        optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
        for episode in range(3):
            log_probs, values, rewards = [], [], []
            state = torch.randn(4)
            for _ in range(5):
                dist, value = net(state)
                action = dist.sample()
                log_probs.append(dist.log_prob(action))
                values.append(value)
                rewards.append(float(action == 1))
                state = torch.randn(4)
            returns = discounted(torch.tensor(rewards))
            advantage = returns - torch.stack(values)
            actor_loss = -(torch.stack(log_probs) * advantage).mean()  # CULPRIT
            critic_loss = advantage.pow(2).mean()
            loss = actor_loss + 0.5 * critic_loss
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            print(episode, actor_loss.item(), critic_loss.item())
        """,
        "advantage-with-graph",
        says=["`advantage.detach()`", "`value.weight`"],
    ),
    case(
        "baseline_network_in_the_score",
        """
        import torch
        from torch import nn
        from torch.distributions import Normal

        torch.manual_seed(0)
        policy = nn.Sequential(nn.Linear(3, 12), nn.ReLU(), nn.Linear(12, 2))
        baseline = nn.Sequential(nn.Linear(3, 12), nn.ReLU(), nn.Linear(12, 1))
        policy_optimizer = torch.optim.SGD(policy.parameters(), lr=1e-2)
        baseline_optimizer = torch.optim.SGD(baseline.parameters(), lr=1e-2)

        def reward_of(state, action):
            return -(action - state.mean(1, keepdim=True)).pow(2).sum(1)

        for step in range(4):
            state = torch.randn(16, 3)
            mean, log_std = policy(state).chunk(2, dim=1)
            dist = Normal(mean, log_std.clamp(-2, 1).exp())
            action = dist.sample()
            reward = reward_of(state, action)
            guess = baseline(state).squeeze(1)
            score = dist.log_prob(action).sum(1)
            policy_loss = -((reward - guess) * score).mean()  # CULPRIT
            baseline_loss = (reward - guess).pow(2).mean()
            policy_optimizer.zero_grad()
            baseline_optimizer.zero_grad()
            (policy_loss + baseline_loss).backward()
            policy_optimizer.step()
            baseline_optimizer.step()
            print(step, reward.mean().item())
        """,
        "advantage-with-graph",
    ),
    case(
        "products_of_embeddings_that_were_initialised",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        body, score = nn.Linear(2, 8), nn.Linear(8, 1)
        words, classes = nn.Embedding(9, 8), nn.Embedding(5, 8)
        layers = nn.ModuleList([body, score, words, classes])
        opt = torch.optim.Adam(layers.parameters())
        for _ in range(4):
            y, w = torch.randint(0, 5, (6,)), torch.randint(0, 9, (6,))
            h = torch.relu(body(torch.randn(6, 2)))
            out = score(h).squeeze(1) + (h * classes(y)).sum(1)
            near = F.logsigmoid((words(w) * words((w + 1) % 9)).sum(1))
            loss = -out.mean() - near.mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
    ),
]
