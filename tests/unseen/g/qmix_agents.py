"""WRONG. The bootstrapped targets come from a mixer that never changes.
TRUTH: at the target update the target mixing network loads its own state dict; it must load that of eval_qmix_net.
THREAD: https://github.com/thesouther/MARL/issues/8
"""
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class Arguments:
    n_agents: int = 3
    n_actions: int = 4
    obs_shape: int = 7
    state_shape: int = 9
    episode_limit: int = 6
    rnn_hidden_dim: int = 24
    qmix_hidden_dim: int = 16
    lr: float = 3e-3
    gamma: float = 0.95
    grad_norm_clip: float = 10.0
    target_update_period: int = 20
    batch_size: int = 16


class RNNAgent(nn.Module):
    def __init__(self, input_shape, args):
        super(RNNAgent, self).__init__()
        self.args = args
        self.fc1 = nn.Linear(input_shape, args.rnn_hidden_dim)
        self.rnn = nn.GRUCell(args.rnn_hidden_dim, args.rnn_hidden_dim)
        self.fc2 = nn.Linear(args.rnn_hidden_dim, args.n_actions)

    def forward(self, obs, hidden_state):
        x = F.relu(self.fc1(obs))
        h = self.rnn(x, hidden_state)
        return self.fc2(h), h


class QMixNet(nn.Module):
    def __init__(self, args):
        super(QMixNet, self).__init__()
        self.args = args
        self.hyper_w1 = nn.Linear(args.state_shape, args.n_agents * args.qmix_hidden_dim)
        self.hyper_w2 = nn.Linear(args.state_shape, args.qmix_hidden_dim)
        self.hyper_b1 = nn.Linear(args.state_shape, args.qmix_hidden_dim)
        self.hyper_b2 = nn.Linear(args.state_shape, 1)

    def forward(self, q_values, states):
        b, t, n = q_values.shape
        q = q_values.reshape(-1, 1, n)
        s = states.reshape(b * t, -1)
        w1 = torch.abs(self.hyper_w1(s)).view(-1, n, self.args.qmix_hidden_dim)
        b1 = self.hyper_b1(s).view(-1, 1, self.args.qmix_hidden_dim)
        hidden = F.elu(torch.bmm(q, w1) + b1)
        w2 = torch.abs(self.hyper_w2(s)).view(-1, self.args.qmix_hidden_dim, 1)
        return (torch.bmm(hidden, w2) + self.hyper_b2(s).view(-1, 1, 1)).view(b, t)


class QMix_Policy:
    def __init__(self, args):
        self.args = args
        self.eval_rnn = RNNAgent(args.obs_shape, args)
        self.target_rnn = RNNAgent(args.obs_shape, args)
        self.eval_qmix_net = QMixNet(args)
        self.target_qmix_net = QMixNet(args)
        self.target_rnn.load_state_dict(self.eval_rnn.state_dict())
        self.target_qmix_net.load_state_dict(self.eval_qmix_net.state_dict())
        self.eval_parameters = [*self.eval_qmix_net.parameters(), *self.eval_rnn.parameters()]
        self.optimizer = torch.optim.RMSprop(self.eval_parameters, lr=args.lr)

    def get_q_values(self, net, obs):
        b, t, n, _ = obs.shape
        hidden = torch.zeros(b * n, self.args.rnn_hidden_dim)
        qs = []
        for i in range(t):
            q, hidden = net(obs[:, i].reshape(b * n, -1), hidden)
            qs.append(q.view(b, n, -1))
        return torch.stack(qs, dim=1)

    def learn(self, batch, train_step):
        obs, s, u, r = batch['obs'], batch['s'], batch['u'], batch['r']
        q_evals = self.get_q_values(self.eval_rnn, obs[:, :-1])
        q_evals = torch.gather(q_evals, dim=3, index=u.unsqueeze(3)).squeeze(3)
        with torch.no_grad():
            q_targets = self.get_q_values(self.target_rnn, obs).max(dim=3)[0][:, 1:]
            q_total_target = self.target_qmix_net(q_targets, s[:, 1:])
        q_total_eval = self.eval_qmix_net(q_evals, s[:, :-1])
        not_last = (torch.arange(r.shape[1]) < r.shape[1] - 1).float()
        targets = r + self.args.gamma * q_total_target * not_last
        loss = (targets.detach() - q_total_eval).pow(2).mean()
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.eval_parameters, self.args.grad_norm_clip)
        self.optimizer.step()
        if train_step > 0 and train_step % self.args.target_update_period == 0:
            self.target_rnn.load_state_dict(self.eval_rnn.state_dict())
            self.target_qmix_net.load_state_dict(self.target_qmix_net.state_dict())  # CULPRIT
        return loss.item(), q_total_target.mean().item()


class Meeting:
    """Agents on a ring of four places get a reward for every pair that meets."""

    def __init__(self, args, rng):
        self.args, self.rng = args, rng

    def observe(self, pos, t):
        obs = np.zeros((self.args.n_agents, self.args.obs_shape), dtype=np.float32)
        obs[np.arange(self.args.n_agents), pos] = 1
        obs[:, 4] = t / self.args.episode_limit
        obs[:, 5:] = self.rng.normal(size=(self.args.n_agents, 2)) * 0.1
        state = np.concatenate([np.bincount(pos, minlength=4), pos / 3, [t, 1.0]]).astype(np.float32)
        return obs, state

    def episode(self, policy, epsilon):
        pos = self.rng.integers(0, 4, self.args.n_agents)
        hidden = torch.zeros(self.args.n_agents, self.args.rnn_hidden_dim)
        out = {'obs': [], 's': [], 'u': [], 'r': []}
        for t in range(self.args.episode_limit + 1):
            obs, state = self.observe(pos, t)
            out['obs'].append(obs), out['s'].append(state)
            if t == self.args.episode_limit:
                break
            with torch.no_grad():
                q, hidden = policy.eval_rnn(torch.from_numpy(obs), hidden)
            greedy = q.argmax(1).numpy()
            u = np.where(self.rng.random(self.args.n_agents) < epsilon, self.rng.integers(0, 4, self.args.n_agents), greedy)
            pos = (pos + np.array([0, 1, -1, 2])[u]) % 4
            meets = sum(int(pos[i] == pos[j]) for i in range(len(pos)) for j in range(i))
            out['u'].append(u), out['r'].append(meets - 0.1 * float((u != 0).mean()))
        return {k: np.array(v) for k, v in out.items()}


if __name__ == '__main__':
    args, rng = Arguments(), np.random.default_rng(0)
    torch.manual_seed(0)
    policy, env, memory = QMix_Policy(args), Meeting(args, rng), []
    for step in range(260):
        memory = (memory + [env.episode(policy, max(0.05, 1 - step / 120))])[-150:]
        if len(memory) >= args.batch_size:
            picks = [memory[i] for i in rng.integers(0, len(memory), args.batch_size)]
            batch = {k: torch.tensor(np.stack([p[k] for p in picks]), dtype=torch.long if k == 'u' else torch.float32) for k in picks[0]}
            loss, target_q = policy.learn(batch, step)
        if step % 60 == 59:
            score = np.mean([e['r'].sum() for e in memory[-20:]])
            print('step %d return %.2f loss %.3f mean target Q %.3f' % (step, score, loss, target_q))
