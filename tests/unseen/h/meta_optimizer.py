"""WRONG. The LSTM cells of the learned optimizer are not optimised at all, only the two linear layers change.
TRUTH: The cells are appended to a plain Python list, so they are not registered and meta_optimizer.parameters() lacks them; use nn.ModuleList (or Sequential).
THREAD: https://github.com/ikostrikov/pytorch-meta-optimizer/issues/11
"""
import torch
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(0)


class LayerNormLSTMCell(nn.Module):
    def __init__(self, num_inputs, num_hidden, forget_gate_bias=1.0):
        super(LayerNormLSTMCell, self).__init__()
        self.forget_gate_bias = forget_gate_bias
        self.num_hidden = num_hidden
        self.fc_i2h = nn.Linear(num_inputs, 4 * num_hidden)
        self.fc_h2h = nn.Linear(num_hidden, 4 * num_hidden)
        self.ln_i2h = nn.LayerNorm(4 * num_hidden)
        self.ln_h2h = nn.LayerNorm(4 * num_hidden)
        self.ln_h2o = nn.LayerNorm(num_hidden)

    def forward(self, inputs, state):
        hx, cx = state
        gates = self.ln_i2h(self.fc_i2h(inputs)) + self.ln_h2h(self.fc_h2h(hx))
        i, f, o, g = gates.chunk(4, 1)
        i = torch.sigmoid(i)
        f = torch.sigmoid(f + self.forget_gate_bias)
        o = torch.sigmoid(o)
        g = torch.tanh(g)
        cx = f * cx + i * g
        hx = o * torch.tanh(self.ln_h2o(cx))
        return hx, cx


class MetaOptimizer(nn.Module):
    def __init__(self, num_layers, hidden_size):
        super(MetaOptimizer, self).__init__()
        self.hidden_size = hidden_size
        self.linear1 = nn.Linear(2, hidden_size)
        self.ln1 = nn.LayerNorm(hidden_size)

        self.lstms = []  # CULPRIT
        for i in range(num_layers):
            self.lstms.append(LayerNormLSTMCell(hidden_size, hidden_size))

        self.linear2 = nn.Linear(hidden_size, 1)
        self.linear2.weight.data.mul_(0.1)
        self.linear2.bias.data.fill_(0.0)

    def reset_lstm(self, n):
        self.hx = [torch.zeros(n, self.hidden_size) for _ in self.lstms]
        self.cx = [torch.zeros(n, self.hidden_size) for _ in self.lstms]

    def forward(self, x):
        x = torch.tanh(self.ln1(self.linear1(x)))
        for i in range(len(self.lstms)):
            self.hx[i], self.cx[i] = self.lstms[i](x, (self.hx[i], self.cx[i]))
            x = self.hx[i]
        return self.linear2(x).squeeze(1)


def preprocess_gradients(g):
    p = 10.0
    mag = torch.clamp(torch.log(g.abs() + 1e-8) / p, -1, 1)
    sign = torch.clamp(torch.exp(torch.tensor(p)) * g, -1, 1)
    return torch.stack([mag, sign], 1)


class Quadratic(object):
    def __init__(self, dim=6):
        self.W = torch.randn(dim, dim) / dim ** 0.5 + torch.eye(dim)
        self.y = torch.randn(dim)

    def value(self, theta):
        return ((self.W @ theta - self.y) ** 2).mean()

    def grad(self, theta):
        return 2 * self.W.t() @ (self.W @ theta - self.y) / len(theta)


meta_optimizer = MetaOptimizer(num_layers=2, hidden_size=12)
optimizer = optim.Adam(meta_optimizer.parameters(), lr=3e-3)

for epoch in range(5):
    final_loss = 0.0
    for i in range(20):
        problem = Quadratic()
        theta = torch.randn(6)
        meta_optimizer.reset_lstm(6)
        loss_sum = 0
        for k in range(15):
            g = problem.grad(theta.detach())
            theta = theta + meta_optimizer(preprocess_gradients(g))
            loss_sum = loss_sum + problem.value(theta)
        optimizer.zero_grad()
        loss_sum.backward()
        nn.utils.clip_grad_norm_(meta_optimizer.parameters(), 1.0)
        optimizer.step()
        final_loss += problem.value(theta).item()
    print('Epoch: {}, final loss {:.4f}'.format(epoch, final_loss / 20))
