"""RITCHIEHuang/DeepRL_Algorithms#13, "shape of PPO advantages"
Symptom: PPO hardly improves on the grid world, convergence is slow.
EXPECT: runs
TRUTH: estimate_advantages returns (batch, 1) while the importance ratio is (batch,), so the surrogate is (batch, batch); give both the same shape.
"""
import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.manual_seed(13)
torch.set_num_threads(1)

SIDE = 5
MOVES = torch.tensor([[0, 1], [0, -1], [1, 0], [-1, 0]])


class GridWorld:
    """Vectorised grid, goal in the corner (4, 4)."""

    def __init__(self, n_envs=32):
        self.n = n_envs
        self.reset()

    def reset(self):
        self.pos = torch.randint(0, SIDE, (self.n, 2))
        self.t = torch.zeros(self.n)
        return self.obs()

    def obs(self):
        return nn.functional.one_hot(self.pos[:, 0] * SIDE + self.pos[:, 1], SIDE * SIDE).float()

    def step(self, action):
        self.pos = (self.pos + MOVES[action]).clamp(0, SIDE - 1)
        self.t += 1
        goal = (self.pos == SIDE - 1).all(dim=1)
        reward = torch.where(goal, torch.tensor(1.0), torch.tensor(-0.05))
        done = goal | (self.t >= 30)
        self.pos[done] = torch.randint(0, SIDE, (int(done.sum()), 2))
        self.t[done] = 0
        return self.obs(), reward, done.float()


def mlp(out):
    return nn.Sequential(nn.Linear(SIDE * SIDE, 32), nn.Tanh(), nn.Linear(32, out))


def estimate_advantages(rewards, dones, values, last_value, gamma=0.95, lam=0.95):
    adv = torch.zeros_like(values)
    running, next_value = torch.zeros_like(last_value), last_value
    for t in reversed(range(len(rewards))):
        mask = 1 - dones[t]
        delta = rewards[t] + gamma * next_value * mask - values[t]
        running = delta + gamma * lam * mask * running
        adv[t], next_value = running, values[t]
    returns = (adv + values).view(-1, 1)
    adv = adv.view(-1, 1)
    return (adv - adv.mean()) / (adv.std() + 1e-8), returns


class PPO:
    def __init__(self, clip=0.2, epochs=4):
        self.policy, self.value = mlp(4), mlp(1)
        self.opt_p = torch.optim.Adam(self.policy.parameters(), lr=3e-3)
        self.opt_v = torch.optim.Adam(self.value.parameters(), lr=5e-3)
        self.clip, self.epochs = clip, epochs

    def ppo_step(self, states, actions, old_log_probs, advantages, returns):
        for _ in range(self.epochs):
            value_loss = nn.functional.mse_loss(self.value(states), returns)
            self.opt_v.zero_grad()
            value_loss.backward()
            self.opt_v.step()
            log_probs = Categorical(logits=self.policy(states)).log_prob(actions)
            ratio = torch.exp(log_probs - old_log_probs)  # CULPRIT
            surr1 = ratio * advantages
            surr2 = torch.clamp(ratio, 1 - self.clip, 1 + self.clip) * advantages
            policy_loss = -torch.min(surr1, surr2).mean()
            self.opt_p.zero_grad()
            policy_loss.backward()
            self.opt_p.step()

    def learn(self, env, iters=30, horizon=16):
        state = env.reset()
        for it in range(iters):
            buf = []
            for _ in range(horizon):
                with torch.no_grad():
                    dist = Categorical(logits=self.policy(state))
                    action = dist.sample()
                    item = (state, action, dist.log_prob(action), self.value(state).squeeze(-1))
                state, reward, done = env.step(action)
                buf.append(item + (reward, done))
            s, a, lp, v, r, d = [torch.stack(z) for z in zip(*buf)]
            with torch.no_grad():
                last_value = self.value(state).squeeze(-1)
            advantages, returns = estimate_advantages(r, d, v, last_value)  # CULPRIT
            self.ppo_step(s.flatten(0, 1), a.flatten(), lp.flatten(), advantages, returns)
            if (it + 1) % 6 == 0:
                print("Iter: %d, average reward per step: %.3f" % (it + 1, r.mean().item()))


if __name__ == "__main__":
    PPO().learn(GridWorld())
