"""WRONG. QMIX learns much worse than VDN with the same agents, and the joint target values stay tied to the mixing network of the first day although target_update_cycle is small.
TRUTH: at the update cycle the target mixer is loaded with its own state, so it keeps its initial weights for ever; load self.eval_qmix_net.state_dict().
THREAD: https://github.com/thesouther/MARL/issues/8
"""
import types
import torch
import torch.nn as nn
import torch.nn.functional as F


class RNN(nn.Module):
    def __init__(self, obs_dim, n_actions, hidden):
        super().__init__()
        self.fc1 = nn.Linear(obs_dim, hidden)
        self.rnn = nn.GRUCell(hidden, hidden)
        self.fc2 = nn.Linear(hidden, n_actions)

    def forward(self, obs, h):
        h = self.rnn(F.relu(self.fc1(obs)), h)
        return self.fc2(h), h


class QMixNet(nn.Module):
    def __init__(self, n_agents, state_dim, hidden):
        super().__init__()
        self.n_agents, self.hidden = n_agents, hidden
        self.hyper_w1 = nn.Linear(state_dim, n_agents * hidden)
        self.hyper_w2 = nn.Linear(state_dim, hidden)
        self.hyper_b1 = nn.Linear(state_dim, hidden)
        self.hyper_b2 = nn.Sequential(nn.Linear(state_dim, hidden), nn.ReLU(), nn.Linear(hidden, 1))

    def forward(self, q_values, states):
        bs, T = q_values.shape[:2]
        q_values = q_values.reshape(-1, 1, self.n_agents)
        states = states.reshape(bs * T, -1)
        w1 = self.hyper_w1(states).abs().view(-1, self.n_agents, self.hidden)
        b1 = self.hyper_b1(states).view(-1, 1, self.hidden)
        hidden = F.elu(torch.bmm(q_values, w1) + b1)
        w2 = self.hyper_w2(states).abs().view(-1, self.hidden, 1)
        b2 = self.hyper_b2(states).view(-1, 1, 1)
        return (torch.bmm(hidden, w2) + b2).view(bs, T, 1)


class QMIX:
    def __init__(self, args):
        self.args = args
        self.eval_rnn = RNN(args.obs_dim, args.n_actions, args.rnn_hidden)
        self.target_rnn = RNN(args.obs_dim, args.n_actions, args.rnn_hidden)
        self.eval_qmix_net = QMixNet(args.n_agents, args.state_dim, args.qmix_hidden)
        self.target_qmix_net = QMixNet(args.n_agents, args.state_dim, args.qmix_hidden)
        self.target_rnn.load_state_dict(self.eval_rnn.state_dict())
        self.target_qmix_net.load_state_dict(self.eval_qmix_net.state_dict())
        self.eval_parameters = list(self.eval_qmix_net.parameters()) + list(self.eval_rnn.parameters())
        self.optimizer = torch.optim.RMSprop(self.eval_parameters, lr=args.lr)

    def get_q_values(self, net, obs):
        bs, T, n, _ = obs.shape
        h = torch.zeros(bs * n, self.args.rnn_hidden)
        qs = []
        for t in range(T):
            q, h = net(obs[:, t].reshape(bs * n, -1), h)
            qs.append(q.view(bs, n, -1))
        return torch.stack(qs, dim=1)

    def learn(self, batch, train_step):
        q_evals = self.get_q_values(self.eval_rnn, batch["o"])
        q_evals = q_evals.gather(3, batch["u"]).squeeze(3)
        with torch.no_grad():
            q_targets = self.get_q_values(self.target_rnn, batch["o_next"]).max(dim=3)[0]
            q_total_target = self.target_qmix_net(q_targets, batch["s_next"])
        q_total_eval = self.eval_qmix_net(q_evals, batch["s"])
        targets = batch["r"] + self.args.gamma * q_total_target * (1 - batch["terminated"])
        mask = 1 - batch["padded"]
        masked_td_error = mask * (targets - q_total_eval)
        loss = masked_td_error.pow(2).sum() / mask.sum()
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.eval_parameters, self.args.grad_norm_clip)
        self.optimizer.step()
        if train_step > 0 and train_step % self.args.target_update_cycle == 0:
            self.target_rnn.load_state_dict(self.eval_rnn.state_dict())
            self.target_qmix_net.load_state_dict(self.target_qmix_net.state_dict())  # CULPRIT
        return loss.item()


def sample_episodes(args, bs=16, T=5):
    s_all = torch.randn(bs, T + 1, args.state_dim)
    o_all = s_all.unsqueeze(2).repeat(1, 1, args.n_agents, 1)
    u = torch.randint(0, args.n_actions, (bs, T, args.n_agents, 1))
    good = (s_all[:, :-1, :1] > 0).long()
    r = (u.squeeze(3) == good).float().mean(dim=2, keepdim=True)
    length = torch.randint(3, T + 1, (bs, 1, 1))
    steps = torch.arange(T).view(1, T, 1)
    return dict(s=s_all[:, :-1], s_next=s_all[:, 1:], o=o_all[:, :-1], o_next=o_all[:, 1:], u=u, r=r,
                terminated=(steps >= length - 1).float(), padded=(steps >= length).float())


def distance(a, b):
    return sum((p - q).pow(2).sum() for p, q in zip(a.parameters(), b.parameters())).sqrt().item()


if __name__ == "__main__":
    torch.manual_seed(0)
    args = types.SimpleNamespace(obs_dim=4, state_dim=4, n_agents=2, n_actions=2, rnn_hidden=16, qmix_hidden=8,
                                 gamma=0.9, lr=2e-3, grad_norm_clip=10, target_update_cycle=5)
    policy = QMIX(args)
    for step in range(101):
        loss = policy.learn(sample_episodes(args), step)
        if step % 25 == 0:
            print(step, "loss", round(loss, 4),
                  "rnn lag", round(distance(policy.eval_rnn, policy.target_rnn), 4),
                  "mixer lag", round(distance(policy.eval_qmix_net, policy.target_qmix_net), 4))
