# kind: broadcast_mse_loss
"""Fitted Q-learning with a replay buffer on a one-dimensional corridor."""
import random
from collections import deque, namedtuple

import torch
from torch import nn

Transition = namedtuple("Transition", "state action reward next_state done")


class Corridor:
    """Reach the right end; each step costs a little."""

    def __init__(self, length=8):
        self.length = length

    def reset(self):
        self.pos = random.randrange(self.length - 1)
        return self._state()

    def _state(self):
        one_hot = torch.zeros(self.length)
        one_hot[self.pos] = 1.0
        return one_hot

    def step(self, action):
        self.pos = max(0, self.pos + (1 if action == 1 else -1))
        done = self.pos == self.length - 1
        return self._state(), (1.0 if done else -0.05), done


class Replay:
    def __init__(self, capacity):
        self.items = deque(maxlen=capacity)

    def push(self, *fields):
        self.items.append(Transition(*fields))

    def sample(self, n):
        batch = Transition(*zip(*random.sample(self.items, n)))
        return Transition(
            torch.stack(batch.state),
            torch.tensor(batch.action).unsqueeze(1),
            torch.tensor(batch.reward),
            torch.stack(batch.next_state),
            torch.tensor(batch.done, dtype=torch.float32),
        )


class Agent:
    def __init__(self, n_states, gamma=0.95):
        self.q = nn.Linear(n_states, 2)
        self.target = nn.Linear(n_states, 2).requires_grad_(False)
        self.sync()
        self.gamma = gamma
        self.optimizer = torch.optim.Adam(self.q.parameters(), lr=0.02)
        self.criterion = nn.MSELoss()

    def sync(self):
        self.target.load_state_dict(self.q.state_dict())

    def taken(self, batch):
        values = self.q(batch.state)
        return values.gather(1, batch.action)  # CULPRIT

    def learn(self, batch):
        with torch.no_grad():
            best = self.target(batch.next_state).max(dim=1).values
            goal = batch.reward + self.gamma * (1 - batch.done) * best
        loss = self.criterion(self.taken(batch), goal)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()


def main():
    torch.manual_seed(0)
    random.seed(0)
    env, agent, replay = Corridor(), Agent(8), Replay(2000)
    state = env.reset()
    for step in range(1, 1001):
        action = random.randrange(2)
        following, reward, done = env.step(action)
        replay.push(state, action, reward, following, done)
        state = env.reset() if done else following
        if step > 100:
            loss = agent.learn(replay.sample(32))
        if step % 50 == 0:
            agent.sync()
        if step % 250 == 0:
            policy = agent.q(torch.eye(8)).argmax(1)[:-1]
            print(f"step {step} loss {loss:.4f} greedy policy {policy.tolist()}")


if __name__ == "__main__":
    main()
