"""CORRECT. Double DQN: the action choice of the online net is not detached by itself, but the one detach() on the finished target cuts the whole branch; argmax would give no gradient anyway.
THREAD: https://github.com/PacktPublishing/Deep-Reinforcement-Learning-Hands-On/issues/29
"""
import collections
import copy

import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim

GAMMA = 0.95
REPLAY_SIZE = 2000
REPLAY_START = 200
BATCH_SIZE = 32
SYNC_EVERY = 100
EPSILON_FRAMES = 1000
STATES_TO_EVALUATE = 64
LEARNING_RATE = 1e-3

Experience = collections.namedtuple('Experience', field_names=['state', 'action', 'reward', 'done', 'new_state'])


class GridGold:
    """A 4 x 4 field with a piece of gold and a pit; one starts in the upper half."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def _obs(self):
        o = np.zeros((3, 4, 4), dtype=np.float32)
        for c, p in enumerate((self.me, self.gold, self.pit)):
            o[c, p[0], p[1]] = 1
        return o

    def reset(self):
        self.gold, self.pit = [3, 3], [2, 1]
        self.me = list(divmod(int(self.rng.integers(0, 8)), 4))
        self.t = 0
        return self._obs()

    def step(self, a):
        dr, dc = ((0, 1), (0, -1), (1, 0), (-1, 0))[a]
        self.me = [min(max(self.me[0] + dr, 0), 3), min(max(self.me[1] + dc, 0), 3)]
        self.t += 1
        if self.me == self.gold:
            return self._obs(), 1.0, True
        if self.me == self.pit:
            return self._obs(), -1.0, True
        return self._obs(), -0.02, self.t >= 20


class DuelingDQN(nn.Module):
    def __init__(self, n_actions):
        super(DuelingDQN, self).__init__()
        self.conv = nn.Sequential(nn.Conv2d(3, 12, 3, padding=1), nn.ReLU(), nn.Flatten())
        self.fc_adv = nn.Sequential(nn.Linear(192, 48), nn.ReLU(), nn.Linear(48, n_actions))
        self.fc_val = nn.Sequential(nn.Linear(192, 48), nn.ReLU(), nn.Linear(48, 1))

    def forward(self, x):
        y = self.conv(x)
        val, adv = self.fc_val(y), self.fc_adv(y)
        return val + adv - adv.mean(dim=1, keepdim=True)


class TargetNet:
    """Wrapper around model which provides copy of it instead of trained weights"""

    def __init__(self, model):
        self.model = model
        self.target_model = copy.deepcopy(model)

    def sync(self):
        self.target_model.load_state_dict(self.model.state_dict())


def calc_loss(batch, net, tgt_net, gamma, double=True):
    states = torch.tensor(np.stack([e.state for e in batch]))
    next_states = torch.tensor(np.stack([e.new_state for e in batch]))
    actions_v = torch.tensor([e.action for e in batch], dtype=torch.long)
    rewards_v = torch.tensor([e.reward for e in batch], dtype=torch.float32)
    done_mask = torch.tensor([e.done for e in batch], dtype=torch.bool)

    state_action_values = net(states).gather(1, actions_v.unsqueeze(-1)).squeeze(-1)
    if double:
        next_state_actions = net(next_states).max(1)[1]
        next_state_values = tgt_net.target_model(next_states).gather(1, next_state_actions.unsqueeze(-1)).squeeze(-1)
    else:
        next_state_values = tgt_net.target_model(next_states).max(1)[0]
    next_state_values[done_mask] = 0.0

    expected_state_action_values = next_state_values.detach() * gamma + rewards_v
    return nn.MSELoss()(state_action_values, expected_state_action_values)


def calc_values_of_states(states, net):
    mean_vals = []
    for batch in np.array_split(states, 4):
        action_values_v = net(torch.tensor(batch))
        best_action_values_v = action_values_v.max(1)[0]
        mean_vals.append(best_action_values_v.mean().item())
    return np.mean(mean_vals)


if __name__ == "__main__":
    torch.manual_seed(4)
    rng = np.random.default_rng(4)
    env = GridGold(4)
    net = DuelingDQN(4)
    tgt_net = TargetNet(net)
    optimizer = optim.Adam(net.parameters(), lr=LEARNING_RATE)
    buffer = collections.deque(maxlen=REPLAY_SIZE)
    state, total, rewards, eval_states = env.reset(), 0.0, [], None

    for frame_idx in range(1, 1601):
        epsilon = max(0.05, 1.0 - frame_idx / EPSILON_FRAMES)
        if rng.random() < epsilon:
            action = int(rng.integers(4))
        else:
            q_vals_v = net(torch.tensor(state[None]))
            action = int(q_vals_v.max(1)[1].item())
        new_state, reward, is_done = env.step(action)
        buffer.append(Experience(state, action, reward, is_done, new_state))
        state, total = new_state, total + reward
        if is_done:
            rewards.append(total)
            state, total = env.reset(), 0.0
        if len(buffer) < REPLAY_START:
            continue
        if eval_states is None:
            eval_states = np.stack([buffer[i].state for i in rng.choice(len(buffer), STATES_TO_EVALUATE, replace=False)])

        optimizer.zero_grad()
        batch = [buffer[i] for i in rng.choice(len(buffer), BATCH_SIZE, replace=False)]
        loss_v = calc_loss(batch, net, tgt_net, gamma=GAMMA)
        loss_v.backward()
        optimizer.step()

        if frame_idx % SYNC_EVERY == 0:
            tgt_net.sync()
        if frame_idx % 400 == 0:
            print("frame %d: games %d, mean reward %.3f, mean value %.3f, eps %.2f" % (
                frame_idx, len(rewards), np.mean(rewards[-40:]), calc_values_of_states(eval_states, net), epsilon))
