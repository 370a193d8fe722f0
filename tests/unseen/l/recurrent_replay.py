"""WRONG. The longer the recurrent DQN agent plays the more memory the process takes, although the replay buffer is bounded; every step gets slower to clean up too.
TRUTH: act() runs the LSTM with gradients and carries self.state, still attached to the graph, from step to step (and into the buffer), so the graph of the whole life is kept; run it under torch.no_grad() or detach the state.
THREAD: https://github.com/Metta-AI/metta/pull/1139
"""
import collections
import random
import torch
import torch.nn as nn
import torch.nn.functional as F

Experience = collections.namedtuple("Experience", "obs action reward next_obs state")


class RecurrentQ(nn.Module):
    def __init__(self, obs_dim, n_actions, hidden):
        super().__init__()
        self.hidden = hidden
        self.enc = nn.Linear(obs_dim, hidden)
        self.core = nn.LSTMCell(hidden, hidden)
        self.head = nn.Linear(hidden, n_actions)

    def initial_state(self, n):
        return torch.zeros(n, self.hidden), torch.zeros(n, self.hidden)

    def forward(self, obs, state):
        h, c = self.core(F.relu(self.enc(obs)), state)
        return self.head(h), (h, c)


class SignalEnv:
    """endless: remember the sign that was shown last"""

    def __init__(self):
        self.sign = 1.0

    def observe(self):
        show = 1.0 if random.random() < 0.3 else 0.0
        if show:
            self.sign = random.choice([-1.0, 1.0])
        return torch.tensor([[show * self.sign, show]])

    def reward(self, action):
        return 1.0 if (action == 1) == (self.sign > 0) else 0.0


class Agent:
    def __init__(self, obs_dim=2, n_actions=2, hidden=16, capacity=200, gamma=0.5):
        self.net = RecurrentQ(obs_dim, n_actions, hidden)
        self.target = RecurrentQ(obs_dim, n_actions, hidden)
        self.target.load_state_dict(self.net.state_dict())
        self.buffer = collections.deque(maxlen=capacity)
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=5e-3)
        self.gamma, self.n_actions = gamma, n_actions
        self.state = self.net.initial_state(1)

    def act(self, obs, epsilon):
        previous = self.state
        q, self.state = self.net(obs, self.state)  # CULPRIT
        if random.random() < epsilon:
            return random.randrange(self.n_actions), previous
        return int(q.argmax(dim=1)), previous

    def remember(self, *args):
        self.buffer.append(Experience(*args))

    def learn(self, batch_size=16):
        batch = random.sample(list(self.buffer), batch_size)
        obs = torch.cat([e.obs for e in batch])
        next_obs = torch.cat([e.next_obs for e in batch])
        action = torch.tensor([[e.action] for e in batch])
        reward = torch.tensor([[e.reward] for e in batch])
        state = tuple(torch.cat([e.state[k] for e in batch]).detach() for k in range(2))

        q, next_state = self.net(obs, state)
        with torch.no_grad():
            next_q, _ = self.target(next_obs, next_state)
            target = reward + self.gamma * next_q.max(dim=1, keepdim=True)[0]
        loss = F.smooth_l1_loss(q.gather(1, action), target)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def sync(self):
        self.target.load_state_dict(self.net.state_dict())


def graph_size(tensor):
    """number of autograd nodes kept alive by a tensor"""
    seen, stack = set(), [tensor.grad_fn] if tensor.grad_fn is not None else []
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        stack.extend(n for n, _ in node.next_functions if n is not None)
    return len(seen)


def main(steps=400):
    torch.manual_seed(0)
    random.seed(0)
    env, agent = SignalEnv(), Agent()
    obs, total = env.observe(), 0.0
    for t in range(1, steps + 1):
        action, state = agent.act(obs, epsilon=max(0.1, 1 - t / 200))
        reward = env.reward(action)
        next_obs = env.observe()
        agent.remember(obs, action, reward, next_obs, state)
        obs, total = next_obs, total + reward
        if t > 50 and t % 2 == 0:
            loss = agent.learn()
        if t % 50 == 0:
            agent.sync()
        if t % 100 == 0:
            print(t, "loss", round(loss, 4), "reward", round(total / 100, 3),
                  "buffer", len(agent.buffer), "autograd nodes alive", graph_size(agent.state[0]))
            total = 0.0


if __name__ == "__main__":
    main()
