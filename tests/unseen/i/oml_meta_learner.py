"""WRONG. The meta learner should shape its representation through the inner updates, but only first order gradients arrive: the part of the meta gradient that passes through the inner gradient is missing.
TRUTH: the inner torch.autograd.grad(loss, fast_weights) is called without create_graph=True, so the inner gradients are constants for the outer loss.
THREAD: https://github.com/uvm-neurobotics-lab/ANML/issues/3
"""
import torch
import torch.nn.functional as F
from torch import nn, optim

torch.manual_seed(0)


class Learner(nn.Module):
    """representation (meta-learned only) and prediction head (adapted in the inner loop)"""

    def __init__(self):
        super().__init__()
        self.nm1 = nn.Linear(1, 40)
        self.nm2 = nn.Linear(40, 40)
        self.fc = nn.ParameterList([nn.Parameter(torch.randn(1, 40) * 0.05), nn.Parameter(torch.zeros(1))])

    def representation(self, x):
        return torch.relu(self.nm2(torch.relu(self.nm1(x))))

    def forward(self, x, vars=None):
        if vars is None:
            vars = list(self.fc)
        return F.linear(self.representation(x), vars[0], vars[1])


class MetaLearingClassification(nn.Module):
    def __init__(self, update_lr=0.05, meta_lr=2e-3, update_step=3):
        super().__init__()
        self.update_lr = update_lr
        self.update_step = update_step
        self.net = Learner()
        self.optimizer = optim.Adam(self.net.parameters(), lr=meta_lr)

    def inner_update(self, x, fast_weights, y):
        logits = self.net(x, fast_weights)
        loss = F.mse_loss(logits, y)
        grad = torch.autograd.grad(loss, fast_weights, allow_unused=False)  # CULPRIT
        fast_weights = list(map(lambda p: p[1] - self.update_lr * p[0], zip(grad, fast_weights)))
        return fast_weights

    def adapt(self, x_spt, y_spt):
        fast_weights = list(self.net.fc)
        for k in range(self.update_step):
            fast_weights = self.inner_update(x_spt, fast_weights, y_spt)
        return fast_weights

    def forward(self, tasks):
        losses = []
        for x_spt, y_spt, x_qry, y_qry in tasks:
            fast_weights = self.adapt(x_spt, y_spt)
            losses.append(F.mse_loss(self.net(x_qry, fast_weights), y_qry))
        meta_loss = torch.stack(losses).mean()
        self.optimizer.zero_grad()
        meta_loss.backward()
        self.optimizer.step()
        return meta_loss.item()


def sample_task(n=10):
    amp = torch.rand(1) * 2 + 0.5
    sign = 1.0 if torch.rand(1) < 0.5 else -1.0
    x = torch.rand(2 * n, 1) * 6 - 3
    y = sign * amp * torch.sin(x)
    return x[:n], y[:n], x[n:], y[n:]


maml = MetaLearingClassification()
running = []
for step in range(400):
    running.append(maml([sample_task() for _ in range(8)]))
    if step % 80 == 79:
        print('step %d meta loss %.4f' % (step + 1, sum(running[-40:]) / 40))

test = []
for _ in range(100):
    x_spt, y_spt, x_qry, y_qry = sample_task()
    fw = maml.adapt(x_spt, y_spt)
    test.append(F.mse_loss(maml.net(x_qry, fw), y_qry).item())
print('query loss after adaptation %.4f' % (sum(test) / len(test)))
