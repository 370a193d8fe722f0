"""PPO on a vectorised bandit-like chain: log probabilities of the rollout under no_grad, several epochs over the same data, ratio equal to 1 in the first step, entropy bonus, one optimizer for two networks."""
import itertools

import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.manual_seed(8)
torch.set_num_threads(1)

N = 7


class Chain:
    def __init__(self, n_envs=32):
        self.n = n_envs
        self.pos = torch.randint(1, N - 1, (n_envs,))

    def obs(self):
        return nn.functional.one_hot(self.pos, N).float()

    def step(self, action):
        self.pos = self.pos + 2 * action - 1
        reward = (self.pos == N - 1).float() - 0.2 * (self.pos == 0).float() - 0.02
        done = (self.pos == N - 1) | (self.pos == 0)
        self.pos = torch.where(done, torch.randint(1, N - 1, (self.n,)), self.pos)
        return self.obs(), reward, done.float()


def net(out):
    return nn.Sequential(nn.Linear(N, 32), nn.Tanh(), nn.Linear(32, out))


def main():
    actor, critic = net(2), net(1)
    optimizer = torch.optim.Adam(itertools.chain(actor.parameters(), critic.parameters()), lr=3e-3)
    env = Chain()
    state = env.obs()
    for it in range(25):
        rows = []
        with torch.no_grad():
            for _ in range(12):
                dist = Categorical(logits=actor(state))
                a = dist.sample()
                nxt, r, d = env.step(a)
                rows.append((state, a, dist.log_prob(a), r, d, critic(state).squeeze(-1)))
                state = nxt
            s, a, old_lp, r, d, v = (torch.stack(z) for z in zip(*rows))
            ret, running = torch.zeros_like(r), critic(state).squeeze(-1)
            for t in reversed(range(len(r))):
                running = r[t] + 0.95 * running * (1 - d[t])
                ret[t] = running
            adv = ret - v
            adv = (adv - adv.mean()) / (adv.std() + 1e-8)
        s, a, old_lp, ret, adv = s.flatten(0, 1), a.flatten(), old_lp.flatten(), ret.flatten(), adv.flatten()
        for _ in range(3):
            for idx in torch.randperm(len(s)).split(96):
                dist = Categorical(logits=actor(s[idx]))
                ratio = (dist.log_prob(a[idx]) - old_lp[idx]).exp()
                surr = torch.min(ratio * adv[idx], ratio.clamp(0.8, 1.2) * adv[idx])
                value_loss = (critic(s[idx]).squeeze(-1) - ret[idx]).pow(2).mean()
                loss = -surr.mean() + 0.5 * value_loss - 0.01 * dist.entropy().mean()
                optimizer.zero_grad(set_to_none=True)
                loss.backward()
                nn.utils.clip_grad_norm_(actor.parameters(), 0.5)
                optimizer.step()
        if it % 6 == 0:
            print("iteration %d reward per step %.3f" % (it, r.mean().item()))


if __name__ == "__main__":
    main()
