"""What the user sees: value loss is printed and looks like a number that should be optimised, but the value head never
changes (critic_weight_delta = 0.00e+00 at each epoch) and GAE is not better than plain REINFORCE.

TRUTH: rollout() stores value.item(), so v_loss is computed from constants and contributes no gradient; the critic stays
at its initialisation. Fix: append the value tensor (and detach it only for the advantages).
THREAD: https://github.com/jsboige/CoursIA/pull/15256 "dead critic - value loss detached from the graph"
"""
import torch
import torch.nn as nn
import torch.nn.functional as F


class PolicyValue(nn.Module):
    def __init__(self, n_state=6, n_act=3):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(n_state, 64), nn.Tanh())
        self.pi = nn.Linear(64, n_act)
        self.critic = nn.Linear(64, 1)

    def forward(self, s):
        h = self.body(s)
        return self.pi(h), self.critic(h).squeeze(-1)


class Chain:
    """walk on a chain, 0 = left, 1 = stay, 2 = right; +1 on the right end, small cost elsewhere"""
    def __init__(self, n=6, length=12):
        self.n, self.length = n, length

    def reset(self):
        self.pos, self.t = torch.randint(0, self.n, ()).item(), 0
        return self.obs()

    def obs(self):
        return F.one_hot(torch.tensor(self.pos), self.n).float()

    def step(self, a):
        self.pos = min(max(self.pos + a - 1, 0), self.n - 1)
        self.t += 1
        reward = 1.0 if self.pos == self.n - 1 else -0.1
        return self.obs(), reward, self.t >= self.length


def rollout(model, env):
    logps, values, rewards = [], [], []
    s, done = env.reset(), False
    while not done:
        logits, value = model(s)
        dist = torch.distributions.Categorical(logits=logits)
        a = dist.sample()
        s, r, done = env.step(a.item())
        logps.append(dist.log_prob(a))
        values.append(value.item())  # CULPRIT
        rewards.append(r)
    return logps, values, rewards


def gae(rewards, values, gamma=0.97, lam=0.9):
    advantages, running = [], 0.0
    values = list(values) + [0.0]
    for t in reversed(range(len(rewards))):
        delta = rewards[t] + gamma * values[t + 1] - values[t]
        running = delta + gamma * lam * running
        advantages.insert(0, running)
    adv = torch.tensor(advantages)
    return adv, adv + torch.tensor(values[:-1])


def train_gae(epochs=10, episodes=12, lr=3e-3):
    torch.manual_seed(0)
    model, env = PolicyValue(), Chain()
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    for epoch in range(epochs):
        critic_before = model.critic.weight.detach().clone()
        total_r = total_v = 0.0
        for _ in range(episodes):
            logps, values, rewards = rollout(model, env)
            adv, returns = gae(rewards, [float(v) for v in values])
            values_t = torch.stack([torch.as_tensor(v) for v in values])
            p_loss = -(torch.stack(logps) * adv).mean()
            v_loss = F.mse_loss(values_t, returns)
            loss = p_loss + 0.5 * v_loss
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total_r += sum(rewards) / episodes
            total_v += v_loss.item() / episodes
        delta = (model.critic.weight - critic_before).abs().max().item()
        print(f'epoch {epoch} return {total_r:6.2f} v_loss {total_v:8.3f} critic_weight_delta = {delta:.2e}')


train_gae()
