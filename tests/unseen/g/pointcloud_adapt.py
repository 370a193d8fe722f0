"""WRONG. The domain alignment does not align: a reader asks whether the gradient reverse layer was forgotten in the network.
TRUTH: the global domain classifier is put on the features without the gradient reversal layer, so its loss makes the features more, not less, telling about the domain; use GradReverse before it as for the local one.
THREAD: https://github.com/zou-longkun/GAST/issues/3
"""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F


class GradReverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, lambd):
        ctx.lambd = lambd
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return -ctx.lambd * grad_output, None


class fc_layer(nn.Module):
    def __init__(self, in_ch, out_ch, bn=True, activation='leakyrelu', bias=True):
        super(fc_layer, self).__init__()
        layers = [nn.Linear(in_ch, out_ch, bias=bias)]
        if bn:
            layers.append(nn.BatchNorm1d(out_ch))
        layers.append(nn.LeakyReLU(0.2) if activation == 'leakyrelu' else nn.ReLU())
        self.fc = nn.Sequential(*layers)

    def forward(self, x):
        return self.fc(x)


class DomainPredictor(nn.Module):
    def __init__(self, in_size, hidden=32):
        super().__init__()
        self.fc1 = fc_layer(in_size, hidden, bn=False)
        self.out = nn.Linear(hidden, 2)

    def forward(self, x):
        return self.out(self.fc1(x))


class PointNet(nn.Module):
    def __init__(self, num_class=3):
        super(PointNet, self).__init__()
        self.conv1 = nn.Sequential(nn.Conv1d(3, 32, 1), nn.BatchNorm1d(32), nn.ReLU())
        self.conv2 = nn.Sequential(nn.Conv1d(32, 64, 1), nn.BatchNorm1d(64), nn.ReLU())
        self.fc = fc_layer(64, 48)
        self.C = nn.Sequential(fc_layer(48, 32), nn.Dropout(0.3), nn.Linear(32, num_class))
        self.domain_local = DomainPredictor(32)
        self.domain_global = DomainPredictor(48)

    def forward(self, x, lambd=0.0, activate_domain=False):
        local = self.conv1(x.transpose(1, 2))
        feat = self.fc(self.conv2(local).max(dim=2)[0])
        logits = {'cls': self.C(feat)}
        if activate_domain:
            local_feat = local.mean(dim=2)
            logits['domain_local'] = self.domain_local(GradReverse.apply(local_feat, lambd))
            logits['domain_global'] = self.domain_global(feat)  # CULPRIT
        return logits


def clouds(n, gen, domain, points=48):
    """Box, ball and bar; the target domain is squashed, noisy and has a shadowed side."""
    y = torch.randint(0, 3, (n,), generator=gen)
    p = 2 * torch.rand(n, points, 3, generator=gen) - 1
    ball = F.normalize(torch.randn(n, points, 3, generator=gen), dim=2)
    bar = p * torch.tensor([1.0, 0.25, 0.25])
    x = torch.where((y == 0).view(-1, 1, 1), p, torch.where((y == 1).view(-1, 1, 1), ball, bar))
    if domain == 'target':
        x = x * torch.tensor([0.8, 1.0, 0.6]) + 0.12 * torch.randn(n, points, 3, generator=gen)
        x[..., 2] = x[..., 2].clamp(min=-0.1) + 0.4
    angle = 2 * math.pi * torch.rand(n, generator=gen)
    c, s = angle.cos(), angle.sin()
    rot = torch.stack([torch.stack([c, -s, 0 * c], 1), torch.stack([s, c, 0 * c], 1), torch.tensor([0.0, 0, 1]).expand(n, 3)], 1)
    return torch.einsum('nij,npj->npi', rot, x), y


@torch.no_grad()
def accuracy(model, data):
    model.eval()
    return (model(data[0])['cls'].argmax(1) == data[1]).float().mean().item()


def domain_separability(model, src, tgt):
    """How well a fresh linear probe tells the domains apart from the global features (0.5 is best)."""
    model.eval()
    with torch.no_grad():
        f = torch.cat([model.fc(model.conv2(model.conv1(d[0].transpose(1, 2))).max(dim=2)[0]) for d in (src, tgt)])
    f = (f - f.mean(0)) / (f.std(0) + 1e-5)
    y = torch.cat([torch.zeros(len(src[0])), torch.ones(len(tgt[0]))])
    w, b = torch.zeros(f.shape[1], requires_grad=True), torch.zeros(1, requires_grad=True)
    opt = torch.optim.LBFGS([w, b], max_iter=30)

    def closure():
        opt.zero_grad()
        loss = F.binary_cross_entropy_with_logits(f @ w + b, y) + 1e-3 * w.pow(2).sum()
        loss.backward()
        return loss
    opt.step(closure)
    return ((f @ w + b > 0).float() == y).float().mean().item()


def main(epochs=10, batch=32):
    torch.manual_seed(5)
    gen = torch.Generator().manual_seed(5)
    src, tgt = clouds(384, gen, 'source'), clouds(384, gen, 'target')
    tgt_test = clouds(192, gen, 'target')
    model = PointNet()
    opt = torch.optim.Adam(model.parameters(), lr=2e-3, weight_decay=5e-5)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, epochs)
    n_iter = len(src[0]) // batch
    for epoch in range(epochs):
        model.train()
        log = torch.zeros(3)
        ps, pt = torch.randperm(len(src[0])), torch.randperm(len(tgt[0]))
        for i in range(n_iter):
            prog = (epoch * n_iter + i) / (epochs * n_iter)
            lambd = 2.0 / (1.0 + math.exp(-10 * prog)) - 1.0
            s, t = ps[i * batch:(i + 1) * batch], pt[i * batch:(i + 1) * batch]
            out_s = model(src[0][s], lambd, activate_domain=True)
            out_t = model(tgt[0][t], lambd, activate_domain=True)
            loss_cls = F.cross_entropy(out_s['cls'], src[1][s])
            zeros, ones = torch.zeros(batch, dtype=torch.long), torch.ones(batch, dtype=torch.long)
            loss_l = F.cross_entropy(out_s['domain_local'], zeros) + F.cross_entropy(out_t['domain_local'], ones)
            loss_g = F.cross_entropy(out_s['domain_global'], zeros) + F.cross_entropy(out_t['domain_global'], ones)
            opt.zero_grad()
            (loss_cls + 0.3 * loss_l + 0.5 * loss_g).backward()
            opt.step()
            log += torch.stack([loss_cls, loss_l, loss_g]).detach() / n_iter
        sched.step()
        if epoch % 3 == 0:
            print('epoch %d cls %.3f local %.3f global %.3f' % (epoch, *log.tolist()), 'target acc %.3f' % accuracy(model, tgt_test))
    print('domain probe accuracy %.3f' % domain_separability(model, src, tgt))


main()
