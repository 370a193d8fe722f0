"""WRONG. The mixture-density RNN of the world model: the mixture weights of one time step do not sum to one and the gmm loss settles far too high.
TRUTH: pi.view(seq_len, bs, gaussians) is normalised with log_softmax(dim=-2), that is over the batch; the softmax belongs over the gaussians, dim=-1.
THREAD: https://github.com/ctallec/world-models/issues/10
"""
import torch
import torch.nn as nn
import torch.nn.functional as f
from torch.distributions.normal import Normal

torch.manual_seed(0)


def gmm_loss(batch, mus, sigmas, logpi, reduce=True):
    batch = batch.unsqueeze(-2)
    normal_dist = Normal(mus, sigmas)
    g_log_probs = normal_dist.log_prob(batch)
    g_log_probs = logpi + torch.sum(g_log_probs, dim=-1)
    max_log_probs = torch.max(g_log_probs, dim=-1, keepdim=True)[0]
    g_probs = torch.exp(g_log_probs - max_log_probs)
    log_prob = max_log_probs.squeeze(-1) + torch.log(torch.sum(g_probs, dim=-1))
    return -torch.mean(log_prob) if reduce else -log_prob


class MDRNN(nn.Module):
    def __init__(self, latents, actions, hiddens, gaussians):
        super().__init__()
        self.latents = latents
        self.gaussians = gaussians
        self.gmm_linear = nn.Linear(hiddens, (2 * latents + 1) * gaussians)
        self.rnn = nn.LSTM(latents + actions, hiddens)

    def forward(self, actions, latents):
        seq_len, bs = actions.size(0), actions.size(1)
        ins = torch.cat([actions, latents], dim=-1)
        outs, _ = self.rnn(ins)
        gmm_outs = self.gmm_linear(outs)
        stride = self.gaussians * self.latents
        mus = gmm_outs[:, :, :stride].view(seq_len, bs, self.gaussians, self.latents)
        sigmas = gmm_outs[:, :, stride:2 * stride].view(seq_len, bs, self.gaussians, self.latents)
        sigmas = torch.exp(sigmas)
        pi = gmm_outs[:, :, 2 * stride:2 * stride + self.gaussians]
        pi = pi.view(seq_len, bs, self.gaussians)
        logpi = f.log_softmax(pi, dim=-2)  # CULPRIT
        return mus, sigmas, logpi


def rollouts(seq_len, bs):
    """latents jump left or right with a probability given by the action"""
    actions = torch.rand(seq_len, bs, 1)
    z = torch.zeros(seq_len + 1, bs, 2)
    for t in range(seq_len):
        go = (torch.rand(bs, 1) < actions[t]).float() * 2 - 1
        z[t + 1] = 0.7 * z[t] + go + 0.1 * torch.randn(bs, 2)
    return actions, z[:-1], z[1:]


mdrnn = MDRNN(latents=2, actions=1, hiddens=32, gaussians=4)
optimizer = torch.optim.Adam(mdrnn.parameters(), lr=5e-3)
for step in range(300):
    actions, latents, nxt = rollouts(10, 32)
    mus, sigmas, logpi = mdrnn(actions, latents)
    loss = gmm_loss(nxt, mus, sigmas, logpi) / 2
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 60 == 59:
        print('step %d gmm loss %.4f' % (step, loss.item()))

with torch.no_grad():
    actions, latents, nxt = rollouts(10, 200)
    mus, sigmas, logpi = mdrnn(actions, latents)
    print('sum of the mixture weights %.3f' % logpi.exp().sum(-1).mean())
    weights = logpi - torch.logsumexp(logpi, -1, keepdim=True)
    print('test nll with proper weights %.4f' % gmm_loss(nxt, mus, sigmas, weights))
