"""Quantum-Cheese/DeepReinforcementLearning_Pytorch#1, "Lose of gradient in log_probs"
Symptom: the actor-critic worker runs, the value loss goes down but the policy does not get better.
EXPECT: runs
TRUTH: torch.tensor(...) copies the stored log probabilities out of the graph, so the policy loss has no gradient; use torch.stack.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Categorical

torch.manual_seed(1)
torch.set_num_threads(1)

N_STATES = 9
GAMMA = 0.97


class Corridor:
    """Walk right to reach the goal, the left end gives nothing."""

    def reset(self):
        self.pos, self.t = N_STATES // 2, 0
        return self.pos

    def step(self, action):
        self.pos += 1 if action == 1 else -1
        self.t += 1
        if self.pos >= N_STATES - 1:
            return self.pos, 1.0, True
        if self.pos <= 0:
            return self.pos, -0.2, True
        return self.pos, -0.01, self.t >= 40


class ActorCritic(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.base = nn.Linear(N_STATES, hidden)
        self.actor = nn.Linear(hidden, 2)
        self.critic = nn.Linear(hidden, 1)

    def forward(self, state):
        x = torch.tanh(self.base(state))
        return F.softmax(self.actor(x), dim=-1), self.critic(x)


class Worker:
    def __init__(self, env, lr=5e-3):
        self.env = env
        self.net = ActorCritic()
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=lr)
        self.memory = []

    def act(self, state):
        one_hot = F.one_hot(torch.tensor(state), N_STATES).float()
        probs, value = self.net(one_hot)
        dist = Categorical(probs)
        action = dist.sample()
        return action.item(), dist.log_prob(action), value.squeeze(-1)

    def learn(self):
        rewards = [t[0] for t in self.memory]
        returns, running = [], 0.0
        for r in reversed(rewards):
            running = r + GAMMA * running
            returns.insert(0, running)
        returns = torch.tensor(returns)
        log_probs = torch.tensor([t[1] for t in self.memory], dtype=torch.float)  # CULPRIT
        values = torch.stack([t[2] for t in self.memory])
        advantages = returns - values.detach()
        policy_loss = -(log_probs * advantages).sum()
        value_loss = F.smooth_l1_loss(values, returns, reduction="sum")
        loss = policy_loss + 0.5 * value_loss
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.memory = []
        return value_loss.item()

    def run(self, episodes):
        scores = []
        for ep in range(episodes):
            state, done, score = self.env.reset(), False, 0.0
            while not done:
                action, log_prob, value = self.act(state)
                state, reward, done = self.env.step(action)
                self.memory.append((reward, log_prob, value))
                score += reward
            v_loss = self.learn()
            scores.append(score)
            if (ep + 1) % 100 == 0:
                print("episode %d  mean score %.3f  value loss %.4f" % (ep + 1, sum(scores[-100:]) / 100, v_loss))


if __name__ == "__main__":
    Worker(Corridor()).run(400)
