"""RIGHT. Two heads on one trunk: gradient norms per task are measured, then the tasks are balanced and backpropagated one
after the other over the same graph.
TRUTH: the measurements use autograd.grad with retain_graph and leave .grad alone; the first backward retains the graph, the
second frees it, both accumulate into the trunk before the single step; the balancing weights are plain numbers.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class TwoTaskNet(nn.Module):
    def __init__(self, d_in=8, width=32):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(d_in, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh())
        self.regress = nn.Linear(width, 1)
        self.classify = nn.Linear(width, 3)

    def forward(self, x):
        h = self.trunk(x)
        return self.regress(h).squeeze(1), self.classify(h)


def make_data(n):
    x = torch.randn(n, 8)
    value = 30.0 * torch.sin(x[:, 0]) + 10.0 * x[:, 1]
    label = (x[:, 2] + 0.5 * x[:, 0] > 0.5).long() + (x[:, 2] + 0.5 * x[:, 0] > -0.5).long()
    return x, value, label


def grad_norm(loss, params):
    grads = torch.autograd.grad(loss, params, retain_graph=True)
    return torch.sqrt(sum(g.pow(2).sum() for g in grads)).item()


class Balancer:
    """weights inverse to the smoothed gradient norms, their sum is 2"""

    def __init__(self, decay=0.9):
        self.decay = decay
        self.norms = None

    def __call__(self, norms):
        if self.norms is None:
            self.norms = list(norms)
        else:
            self.norms = [self.decay * a + (1 - self.decay) * b for a, b in zip(self.norms, norms)]
        inv = [1.0 / max(n, 1e-8) for n in self.norms]
        return [2.0 * i / sum(inv) for i in inv]


@torch.no_grad()
def evaluate(net, x, value, label):
    pred, logits = net(x)
    r2 = 1 - (pred - value).pow(2).sum() / (value - value.mean()).pow(2).sum()
    return r2.item(), (logits.argmax(1) == label).float().mean().item()


def main():
    x, value, label = make_data(512)
    valid = make_data(200)
    net = TwoTaskNet()
    trunk_params = list(net.trunk.parameters())
    optimizer = torch.optim.Adam([
        {'params': trunk_params, 'lr': 1e-2},
        {'params': net.regress.parameters(), 'lr': 1e-1},
        {'params': net.classify.parameters(), 'lr': 1e-2},
    ])
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=40, gamma=0.3)
    balance = Balancer()
    for step in range(120):
        idx = torch.randint(0, len(x), (64,))
        pred, logits = net(x[idx])
        loss_r = F.smooth_l1_loss(pred, value[idx])
        loss_c = F.cross_entropy(logits, label[idx])
        w_r, w_c = balance([grad_norm(loss_r, trunk_params), grad_norm(loss_c, trunk_params)])

        optimizer.zero_grad()
        (w_r * loss_r).backward(retain_graph=True)
        (w_c * loss_c).backward()
        optimizer.step()
        scheduler.step()
        if step % 30 == 29:
            print('step %3d regression %.3f (w %.2f) classes %.3f (w %.2f) | r2 %.3f acc %.3f' % (
                (step + 1, loss_r.item(), w_r, loss_c.item(), w_c) + evaluate(net, *valid)))


if __name__ == '__main__':
    main()
