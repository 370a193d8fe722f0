"""Advantage actor-critic on a grid corridor: detached advantages, entropy bonus with a minus sign and two optimizers on one shared body."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Corridor:
    def __init__(self, n, length=7):
        self.n, self.length = n, length
        self.pos = torch.full((n,), length // 2)

    def obs(self):
        return F.one_hot(self.pos, self.length).float()

    def step(self, action):
        self.pos = (self.pos + action * 2 - 1).clamp(0, self.length - 1)
        right, left = self.pos == self.length - 1, self.pos == 0
        reward = right.float() * 1.0 + left.float() * 0.2 - 0.02
        done = right | left
        self.pos = torch.where(done, torch.full_like(self.pos, self.length // 2), self.pos)
        return reward, done.float()


class ActorCritic(nn.Module):
    def __init__(self, d, a):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(d, 32), nn.Tanh())
        self.pi = nn.Linear(32, a)
        self.v = nn.Linear(32, 1)

    def forward(self, x):
        h = self.body(x)
        return torch.distributions.Categorical(logits=self.pi(h)), self.v(h.detach()).squeeze(-1)


def main(gamma=0.95, horizon=8):
    torch.manual_seed(0)
    torch.set_num_threads(1)
    env, net = Corridor(16), ActorCritic(7, 2)
    opt_pi = torch.optim.Adam([*net.body.parameters(), *net.pi.parameters()], lr=7e-3)
    opt_v = torch.optim.Adam(net.v.parameters(), lr=2e-2)
    for update in range(201):
        logps, values, rewards, masks, entropy = [], [], [], [], 0.0
        for _ in range(horizon):
            dist, value = net(env.obs())
            action = dist.sample()
            reward, done = env.step(action)
            logps.append(dist.log_prob(action))
            values.append(value)
            rewards.append(reward)
            masks.append(1 - done)
            entropy = entropy + dist.entropy().mean() / horizon
        with torch.no_grad():
            ret = net(env.obs())[1]
        returns = []
        for r, m in zip(reversed(rewards), reversed(masks)):
            ret = r + gamma * m * ret
            returns.insert(0, ret)
        returns, values, logps = torch.stack(returns), torch.stack(values), torch.stack(logps)
        advantage = returns - values
        policy_loss = -(logps * advantage.detach()).mean() - 0.01 * entropy
        value_loss = advantage.pow(2).mean()
        opt_pi.zero_grad()
        opt_v.zero_grad()
        (policy_loss + value_loss).backward()
        opt_pi.step()
        opt_v.step()
        if update % 50 == 0:
            print("update %d mean reward %.3f value loss %.4f entropy %.3f" % (
                update, torch.stack(rewards).mean().item(), value_loss.item(), entropy.item()))


if __name__ == "__main__":
    main()
