"""WRONG. REINFORCE with a learnt baseline: the value loss stays as high as at the start, and V(s) of a state is to the last digit the same before and after training, while the policy does change.
TRUTH: the optimizer of the value function was built on policy.parameters(); the value function gets gradients but no optimizer owns its weights: optim.Adam(s_value_func.parameters(), lr=alpha_w).
THREAD: https://github.com/sweetice/Deep-reinforcement-learning-with-pytorch/issues/37
"""
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.distributions import Categorical
from torch.nn.utils import clip_grad_norm_

torch.manual_seed(0)

num_state = 4
num_action = 3
gamma = 0.8


class CartGame:
    """Small tracking game: push left, nothing, push right; each step pays 1 - |offset|."""

    def __init__(self, length=15):
        self.length = length

    def reset(self):
        self.t = 0
        self.pos, self.vel = (torch.rand(1) - 0.5).item(), 0.0
        self.goal = (torch.rand(1) - 0.5).item()
        return self.state()

    def state(self):
        return torch.tensor([[self.pos, self.vel, self.goal, self.t / self.length]])

    def step(self, action):
        self.vel = 0.5 * self.vel + 0.15 * (action - 1)
        self.pos += self.vel
        self.t += 1
        return self.state(), 1.0 - abs(self.pos - self.goal), self.t >= self.length


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(num_state, 32)
        self.fc2 = nn.Linear(32, num_action)

    def forward(self, x):
        return F.softmax(self.fc2(torch.tanh(self.fc1(x))), dim=-1)

    def select_action(self, state):
        dist = Categorical(self(state))
        action = dist.sample()
        return action.item(), dist.log_prob(action)


class StateValueFunction(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(num_state, 32)
        self.fc2 = nn.Linear(32, 1)

    def forward(self, x):
        return self.fc2(torch.tanh(self.fc1(x)))


policy = Policy()
s_value_func = StateValueFunction()
alpha_theta = 5e-3
optimizer_theta = optim.Adam(policy.parameters(), lr=alpha_theta)
alpha_w = 2e-2
optimizer_w = optim.Adam(policy.parameters(), lr=alpha_w)  # CULPRIT


def run_episode(env):
    states, log_probs, rewards = [], [], []
    state, done = env.reset(), False
    while not done:
        action, log_prob = policy.select_action(state)
        next_state, reward, done = env.step(action)
        states.append(state)
        log_probs.append(log_prob)
        rewards.append(reward)
        state = next_state
    return torch.cat(states), torch.cat(log_probs), rewards


def discounted(rewards):
    returns, R = [], 0.0
    for r in reversed(rewards):
        R = r + gamma * R
        returns.insert(0, R)
    return torch.tensor(returns)


def finish_episode(states, log_probs, rewards):
    returns = discounted(rewards)
    values = s_value_func(states).squeeze(1)
    delta = returns - values

    optimizer_w.zero_grad()
    value_loss = 0.5 * delta.pow(2).mean()
    value_loss.backward()
    clip_grad_norm_(s_value_func.parameters(), 1.0)
    optimizer_w.step()

    optimizer_theta.zero_grad()
    policy_loss = -(log_probs * delta.detach()).mean()
    policy_loss.backward()
    clip_grad_norm_(policy.parameters(), 1.0)
    optimizer_theta.step()
    return value_loss.item(), policy_loss.item()


def main():
    env = CartGame()
    probe = torch.tensor([[0.0, 0.0, 0.0, 0.0]])
    with torch.no_grad():
        v_before, p_before = s_value_func(probe).item(), policy(probe)
    scores, losses = [], []
    for i_episode in range(120):
        states, log_probs, rewards = run_episode(env)
        value_loss, policy_loss = finish_episode(states, log_probs, rewards)
        scores.append(sum(rewards))
        losses.append(value_loss)
        if i_episode % 30 == 29:
            print(f"episode {i_episode + 1:3d}  score {sum(scores[-30:]) / 30:6.2f}  value loss {sum(losses[-30:]) / 30:.3f}")
    with torch.no_grad():
        v_after, p_after = s_value_func(probe).item(), policy(probe)
    print(f"V(probe) {v_before:.6f} -> {v_after:.6f},  change of the policy {(p_after - p_before).abs().max().item():.4f}")


if __name__ == "__main__":
    main()
