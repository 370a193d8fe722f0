"""CORRECT. Recurrent multi-agent Q learning: the GRU hidden state is carried through the episode without a detach (asked why it is not detached: the loss is over the whole episode, one backward through time), the target runs without gradient, padded steps are masked.
THREAD: https://github.com/oxwhirl/pymarl/issues/161
"""
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
N_AGENTS, N_ACTIONS, OBS, T = 2, 3, 4, 6


class RNNAgent(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.hidden = hidden
        self.fc1 = nn.Linear(OBS, hidden)
        self.rnn = nn.GRUCell(hidden, hidden)
        self.fc2 = nn.Linear(hidden, N_ACTIONS)

    def init_hidden(self):
        return self.fc1.weight.new(1, self.hidden).zero_()

    def forward(self, inputs, hidden_state):
        x = F.relu(self.fc1(inputs))
        h = self.rnn(x, hidden_state.reshape(-1, self.hidden))
        return self.fc2(h), h


class BasicMAC:
    def __init__(self):
        self.agent = RNNAgent()
        self.hidden_states = None

    def init_hidden(self, batch_size):
        self.hidden_states = self.agent.init_hidden().unsqueeze(0).expand(batch_size, N_AGENTS, -1)

    def forward(self, obs_t):
        b = obs_t.size(0)
        agent_outs, self.hidden_states = self.agent(obs_t.reshape(b * N_AGENTS, -1), self.hidden_states)
        return agent_outs.view(b, N_AGENTS, -1)


class QLearner:
    def __init__(self, mac, gamma=0.6):
        self.mac = mac
        self.target_mac = copy.deepcopy(mac)
        self.params = list(mac.agent.parameters())
        self.optimiser = torch.optim.RMSprop(self.params, lr=2e-3)
        self.gamma = gamma

    def unroll(self, mac, obs):
        mac.init_hidden(obs.size(0))
        return torch.stack([mac.forward(obs[:, t]) for t in range(obs.size(1))], dim=1)

    def train(self, obs, actions, rewards, mask):
        mac_out = self.unroll(self.mac, obs)
        chosen = torch.gather(mac_out[:, :-1], dim=3, index=actions).squeeze(3).sum(dim=2)
        with torch.no_grad():
            target_mac_out = self.unroll(self.target_mac, obs)[:, 1:]
            best = mac_out.clone().detach()[:, 1:].max(dim=3, keepdim=True)[1]
            target_max = torch.gather(target_mac_out, 3, best).squeeze(3).sum(dim=2)
        next_mask = torch.cat([mask[:, 1:], torch.zeros_like(mask[:, :1])], dim=1)
        targets = rewards + self.gamma * next_mask * target_max
        td_error = (chosen - targets.detach())
        masked_td_error = td_error * mask.expand_as(td_error)
        loss = (masked_td_error ** 2).sum() / mask.sum()
        self.optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.params, 10)
        self.optimiser.step()
        return loss.item()


def episodes(n):
    """the cue is shown at the first step only; every agent is paid for repeating it"""
    cue = torch.randint(0, N_ACTIONS, (n, N_AGENTS))
    obs = torch.zeros(n, T + 1, N_AGENTS, OBS)
    obs[:, 0, :, :N_ACTIONS] = F.one_hot(cue, N_ACTIONS).float()
    obs[..., 3] = torch.arange(T + 1).view(1, -1, 1) / T
    actions = torch.randint(0, N_ACTIONS, (n, T, N_AGENTS, 1))
    rewards = (actions.squeeze(3) == cue.unsqueeze(1)).float().sum(2)
    length = torch.randint(3, T + 1, (n, 1))
    mask = (torch.arange(T).unsqueeze(0) < length).float()
    return obs, actions, rewards * mask, mask, cue


learner = QLearner(BasicMAC())
for episode in range(500):
    obs, actions, rewards, mask, _ = episodes(32)
    loss = learner.train(obs, actions, rewards, mask)
    if episode % 25 == 0:
        learner.target_mac.agent.load_state_dict(learner.mac.agent.state_dict())
    if episode % 100 == 99:
        obs, _, _, _, cue = episodes(200)
        with torch.no_grad():
            greedy = learner.unroll(learner.mac, obs)[:, 2].argmax(-1)
        print('episode %d loss %.4f greedy right at step 2: %.3f' % (episode + 1, loss, (greedy == cue).float().mean()))
