"""RIGHT. Two-level volume rendering: the weights of the coarse level are detached before they choose the places of the fine samples.
TRUTH: the places of the samples are no differentiable function of the densities, so detaching is meant; both levels get their own loss. The transmittance is the product over the samples before the present one (ones put in front of cumprod), the rest of the ray sees the white background.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

NEAR, FAR = 0.5, 3.5


def encode(x, n=4):
    out = [x]
    for i in range(n):
        out += [torch.sin(2 ** i * x), torch.cos(2 ** i * x)]
    return torch.cat(out, dim=-1)


class Field(nn.Module):
    def __init__(self, hidden=48):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2 * 9, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, 4))

    def forward(self, pts):
        raw = self.net(encode(pts))
        return F.softplus(raw[..., 0] - 1), torch.sigmoid(raw[..., 1:])


def truth(pts):
    r = pts.norm(dim=-1)
    sigma = 12.0 * torch.sigmoid((0.8 - r) * 20)
    color = 0.5 + 0.5 * torch.stack([pts[..., 0], pts[..., 1], -pts[..., 0]], dim=-1).clamp(-1, 1)
    return sigma, color


def composite(sigma, color, t):
    delta = torch.cat([t[:, 1:] - t[:, :-1], torch.full_like(t[:, :1], FAR) - t[:, -1:]], dim=1)
    alpha = 1 - torch.exp(-sigma * delta)
    trans = torch.cumprod(torch.cat([torch.ones_like(alpha[:, :1]), 1 - alpha], dim=1), dim=1)
    weights = alpha * trans[:, :-1]
    rgb = (weights[..., None] * color).sum(1) + trans[:, -1:]
    return rgb, weights


def stratified(n_rays, n):
    edges = torch.linspace(NEAR, FAR, n + 1)
    return edges[:-1] + (edges[1:] - edges[:-1]) * torch.rand(n_rays, n)


def sample_pdf(bins, weights, n):
    pdf = (weights + 1e-4) / (weights + 1e-4).sum(1, keepdim=True)
    cdf = F.pad(torch.cumsum(pdf, dim=1), (1, 0)).clamp(max=1.0)
    u = torch.rand(len(bins), n)
    hi = torch.searchsorted(cdf, u, right=True).clamp(1, cdf.shape[1] - 1)
    lo = hi - 1
    c0, c1 = cdf.gather(1, lo), cdf.gather(1, hi)
    b0, b1 = bins.gather(1, lo), bins.gather(1, hi)
    frac = (u - c0) / (c1 - c0).clamp(min=1e-6)
    return b0 + frac.clamp(0, 1) * (b1 - b0)


def rays(n):
    ang = torch.rand(n) * 6.2832
    origin = 2 * torch.stack([ang.cos(), ang.sin()], 1)
    aim = 0.9 * (torch.rand(n, 2) * 2 - 1)
    return origin, F.normalize(aim - origin, dim=1)


def at(o, d, t):
    return o[:, None] + d[:, None] * t[..., None]


def main():
    coarse, fine = Field(), Field()
    opt = torch.optim.Adam(list(coarse.parameters()) + list(fine.parameters()), lr=4e-3)
    sched = torch.optim.lr_scheduler.ExponentialLR(opt, 0.99)
    for it in range(100):
        o, d = rays(160)
        with torch.no_grad():
            t_ref = torch.linspace(NEAR, FAR, 96).expand(160, -1)
            target, _ = composite(*truth(at(o, d, t_ref)), t_ref)
        t_c = stratified(160, 24)
        rgb_c, w = composite(*coarse(at(o, d, t_c)), t_c)
        mids = 0.5 * (t_c[:, 1:] + t_c[:, :-1])
        t_new = sample_pdf(mids, w[:, 1:-1].detach(), 24)
        t_f = torch.sort(torch.cat([t_c, t_new], dim=1), dim=1).values
        rgb_f, _ = composite(*fine(at(o, d, t_f)), t_f)
        loss_c, loss_f = F.mse_loss(rgb_c, target), F.mse_loss(rgb_f, target)
        opt.zero_grad()
        (loss_c + loss_f).backward()
        opt.step()
        sched.step()
        if it % 25 == 0 or it == 99:
            print("it %3d coarse %.4f fine %.4f" % (it, loss_c.item(), loss_f.item()))


if __name__ == "__main__":
    main()
