"""WRONG. My PPO computes advantage and clipped surrogate at every time step, trains V and Q there, and updates the policy at the end of the episode; this last backward raises "Trying to backward through the graph a second time" although every network has its own loss.
TRUTH: the advantage q - v still hangs on the graphs of the two value networks, which were freed by their own backward in the same time step; it must be a constant for the policy: advantage = (q - v).detach().
THREAD: https://discuss.pytorch.org/t/pytorch-runtimeerror-trying-to-backward-through-the-graph-a-second-time/191396
"""
import copy

import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)

N_ACTIONS = 3
ACTION_EFFECT = torch.tensor([-0.3, 0.0, 0.3])


class TrackEnv:
    """Keep a drifting cart near zero; the reward is larger the nearer it is."""

    def __init__(self, horizon=12):
        self.horizon = horizon

    def reset(self):
        self.t, self.x = 0, torch.rand(1) * 2 - 1
        self.drift = torch.rand(1) * 0.2 - 0.1
        return self.obs()

    def obs(self):
        return torch.cat([self.x, self.drift])

    def step(self, action):
        self.x = self.x + ACTION_EFFECT[action] + self.drift
        self.t += 1
        return self.obs(), 1.0 - self.x.abs().item(), self.t >= self.horizon


class ValueFunction(nn.Module):
    def __init__(self, n_in, lr):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(n_in, 24), nn.Tanh(), nn.Linear(24, 1))
        self.optimizer = torch.optim.Adam(self.parameters(), lr=lr)
        self.loss_fn = nn.MSELoss()

    def forward(self, *inputs):
        return self.body(torch.cat(inputs, dim=-1)).squeeze(-1)

    def mse_sgd(self, prediction, target):
        loss = self.loss_fn(prediction, target)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()


class PolicyNetwork(nn.Module):
    def __init__(self, lr, clip=0.2):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(2, 24), nn.Tanh(), nn.Linear(24, N_ACTIONS))
        self.optimizer = torch.optim.Adam(self.parameters(), lr=lr)
        self.clip = clip

    def forward(self, state):
        return Categorical(logits=self.body(state))

    def clipped_surrogate(self, old_policy, state, action, advantage):
        with torch.no_grad():
            old_log_prob = old_policy(state).log_prob(action)
        ratio = torch.exp(self(state).log_prob(action) - old_log_prob)
        clipped = ratio.clamp(1 - self.clip, 1 + self.clip)
        return torch.min(ratio * advantage, clipped * advantage)

    def sga(self, surrogates):
        objective = torch.stack(surrogates).mean()
        self.optimizer.zero_grad()
        (-objective).backward()
        self.optimizer.step()
        return objective.item()


def one_hot(action):
    return nn.functional.one_hot(action, N_ACTIONS).float()


def run_episode(env, policy, old_policy, v_fn, q_fn, gamma):
    state, done = env.reset(), False
    surrogates, score, value_losses = [], 0.0, []
    while not done:
        with torch.no_grad():
            action = policy(state).sample()
        next_state, reward, done = env.step(action)
        score += reward

        v = v_fn(state)
        q = q_fn(state, one_hot(action))
        with torch.no_grad():
            target = torch.tensor(reward) + gamma * (0.0 if done else 1.0) * v_fn(next_state)
        advantage = q - v  # CULPRIT
        surrogates.append(policy.clipped_surrogate(old_policy, state, action, advantage))

        v_loss = v_fn.mse_sgd(v, target)
        q_loss = q_fn.mse_sgd(q, target)
        value_losses.append(v_loss + q_loss)
        state = next_state
    return surrogates, score, sum(value_losses) / len(value_losses)


def main():
    env = TrackEnv()
    policy = PolicyNetwork(lr=0.02)
    v_fn, q_fn = ValueFunction(2, lr=0.01), ValueFunction(2 + N_ACTIONS, lr=0.01)
    scores = []
    for episode in range(30):
        old_policy = copy.deepcopy(policy)
        surrogates, score, value_loss = run_episode(env, policy, old_policy, v_fn, q_fn, gamma=0.9)
        objective = policy.sga(surrogates)
        scores.append(score)
        if episode % 10 == 9:
            mean = sum(scores[-10:]) / 10
            print(f"episode {episode + 1:3d}  score {mean:7.2f}  objective {objective:7.3f}  value loss {value_loss:.3f}")


if __name__ == "__main__":
    main()
