"""A2C with an intrinsic curiosity module, one optimizer, a torch environment."""
import torch
import torch.nn.functional as F
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)
MOVES = torch.tensor([[1.0, 0], [-1, 0], [0, 1], [0, -1]]) * 0.2


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.policy = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 4))
        self.value = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 1))
        self.features = nn.Sequential(nn.Linear(2, 16), nn.ELU())
        self.inverse = nn.Linear(32, 4)
        self.forward_model = nn.Linear(16 + 4, 16)


agent = Agent()
optimizer = torch.optim.Adam(agent.parameters(), lr=3e-3)
for update in range(120):
    state = torch.rand(16, 2) * 2 - 1
    log_p, values, rewards, entropies, curious = [], [], [], [], []
    for t in range(8):
        pi = Categorical(logits=agent.policy(state))
        action = pi.sample()
        after = state + MOVES[action] + 0.02 * torch.randn(16, 2)
        phi, phi_after = agent.features(state), agent.features(after)
        guess = agent.forward_model(torch.cat([phi, F.one_hot(action, 4).float()], 1))
        surprise = 0.5 * (guess - phi_after.detach()).square().mean(1)
        inverse = F.cross_entropy(agent.inverse(torch.cat([phi, phi_after], 1)), action)
        rewards.append(-after.norm(dim=1) + 0.1 * surprise.detach())
        log_p.append(pi.log_prob(action))
        values.append(agent.value(state).squeeze(1))
        entropies.append(pi.entropy())
        curious.append(0.2 * surprise.mean() + 0.8 * inverse)
        state = after
    with torch.no_grad():
        ret = agent.value(state).squeeze(1)
    returns = []
    for r in reversed(rewards):
        ret = r + 0.95 * ret
        returns.insert(0, ret)
    returns, values = torch.stack(returns), torch.stack(values)
    advantage = (returns - values).detach()
    policy_loss = -(torch.stack(log_p) * advantage).mean()
    value_loss = F.mse_loss(values, returns)
    entropy = torch.stack(entropies).mean()
    loss = policy_loss + 0.5 * value_loss - 0.01 * entropy + torch.stack(curious).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if update % 30 == 0:
        print(update, torch.stack(rewards).mean().item())
