"""WRONG. Contractive autoencoder with ReLU code. The derivative of the code with respect to the pre-activation comes out as
1 for all units and samples, also for those that are switched off, so the contraction term is only weight decay.
TRUTH: F.relu_ works in place: afterwards `pre` is the result of the relu, and d(pre)/d(pre) is 1. Use `h = F.relu(pre)`.
THREAD: https://discuss.pytorch.org/t/understanding-autograd-relu-inplace-true/89031
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

opts = {
    'd': 20,
    'hidden': 32,
    'lam': 0.02,
    'lr': 5e-3,
    'steps': 60,
    'batch': 64,
}


class ContractiveAE(nn.Module):
    def __init__(self, d, hidden):
        super().__init__()
        self.enc = nn.Linear(d, hidden)
        self.dec = nn.Linear(hidden, d)
        nn.init.xavier_uniform_(self.enc.weight)
        nn.init.xavier_uniform_(self.dec.weight)

    def encode(self, x):
        pre = self.enc(x)
        h = F.relu_(pre)  # CULPRIT
        return pre, h

    def forward(self, x):
        pre, h = self.encode(x)
        return self.dec(h), pre, h

    def contraction(self, pre, h):
        """|| dh/dx ||_F^2 per sample; dh/dx = diag(dh/dpre) W"""
        slope, = torch.autograd.grad(h.sum(), pre, create_graph=True)
        row_norm = self.enc.weight.pow(2).sum(1)
        return (slope.pow(2) @ row_norm), slope


def make_manifold(n, d):
    basis = torch.randn(3, d, generator=torch.Generator().manual_seed(3))
    t = torch.rand(n, 3) * 2 - 1
    return torch.tanh(t @ basis) + 0.05 * torch.randn(n, d)


class Meter:
    def __init__(self):
        self.values = {}

    def add(self, **kw):
        for k, v in kw.items():
            self.values.setdefault(k, []).append(v)

    def line(self):
        out = '  '.join('%s %.4f' % (k, sum(v) / len(v)) for k, v in self.values.items())
        self.values.clear()
        return out


def jacobian_norm(model, x):
    """reference value by finite differences"""
    eps, total = 1e-3, torch.zeros(len(x))
    with torch.no_grad():
        for j in range(x.size(1)):
            step = torch.zeros_like(x)
            step[:, j] = eps
            hi, lo = model.encode(x + step)[1], model.encode(x - step)[1]
            total += ((hi - lo) / (2 * eps)).pow(2).sum(1)
    return total.mean().item()


def main():
    train = make_manifold(512, opts['d'])
    valid = make_manifold(128, opts['d'])
    model = ContractiveAE(opts['d'], opts['hidden'])
    optimizer = torch.optim.Adam(model.parameters(), lr=opts['lr'])
    scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.1, total_iters=opts['steps'])
    meter = Meter()
    for step in range(opts['steps']):
        x = train[torch.randint(0, len(train), (opts['batch'],))]
        recon, pre, h = model(x)
        penalty, slope = model.contraction(pre, h)
        mse = F.mse_loss(recon, x)
        loss = mse + opts['lam'] * penalty.mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        meter.add(mse=mse.item(), penalty=penalty.mean().item(), slope=slope.mean().item(),
                  active=(h > 0).float().mean().item())
        if step % 15 == 14:
            print('%3d  %s' % (step + 1, meter.line()))

    recon, pre, h = model(valid)
    penalty, _ = model.contraction(pre, h)
    print('valid mse %.4f' % F.mse_loss(recon, valid).item())
    print('valid contraction %.4f, finite differences %.4f' % (penalty.mean().item(), jacobian_norm(model, valid)))


if __name__ == '__main__':
    main()
