"""RIGHT. Denoising diffusion with self-conditioning: in half of the steps a first estimate is computed without gradient and fed back; the weights are averaged, sampling uses the averaged copy.
TRUTH: the first estimate is an input by design (no_grad), only the second pass learns. The average is a deep copy, updated in place under no_grad and never given to the optimizer. All coefficients are picked per sample and shaped (B, 1). In sampling the in-place additions work on tensors without graph.
"""
import copy
import torch
import torch.nn as nn

torch.manual_seed(0)

cfg = dict(T=25, hidden=64, batch=256, lr=4e-3, steps=250, decay=0.95)


class Noise:
    def __init__(self, T):
        self.beta = torch.linspace(0.01, 0.25, T)
        self.alpha = 1 - self.beta
        self.bar = torch.cumprod(self.alpha, dim=0)

    def add(self, x0, t, eps):
        bar = self.bar[t].unsqueeze(1)
        return bar.sqrt() * x0 + (1 - bar).sqrt() * eps

    def clean(self, x, t, eps):
        bar = self.bar[t].unsqueeze(1)
        return (x - (1 - bar).sqrt() * eps) / bar.sqrt()


class EpsNet(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.emb = nn.Embedding(cfg["T"], 16)
        self.net = nn.Sequential(nn.Linear(2 + 2 + 16, cfg["hidden"]), nn.SiLU(),
                                 nn.Linear(cfg["hidden"], cfg["hidden"]), nn.SiLU(),
                                 nn.Linear(cfg["hidden"], 2))

    def forward(self, x, t, estimate):
        return self.net(torch.cat([x, estimate, self.emb(t)], dim=1))


def data(n):
    side = torch.randint(0, 2, (n, 1)).float() * 2 - 1
    return torch.cat([side, -side], dim=1) + 0.1 * torch.randn(n, 2)


@torch.no_grad()
def update_ema(ema, model, decay):
    for e, p in zip(ema.parameters(), model.parameters()):
        e.mul_(decay).add_(p, alpha=1 - decay)


@torch.no_grad()
def sample(model, noise, n):
    x = torch.randn(n, 2)
    estimate = torch.zeros_like(x)
    for step in reversed(range(cfg["T"])):
        t = torch.full((n,), step)
        eps = model(x, t, estimate)
        estimate = noise.clean(x, t, eps).clamp_(-3, 3)
        x = (x - noise.beta[step] / (1 - noise.bar[step]).sqrt() * eps) / noise.alpha[step].sqrt()
        if step > 0:
            x += noise.beta[step].sqrt() * torch.randn_like(x)
    return x


def main():
    noise, model = Noise(cfg["T"]), EpsNet(cfg)
    ema = copy.deepcopy(model).requires_grad_(False)
    opt = torch.optim.Adam(model.parameters(), lr=cfg["lr"])
    for step in range(cfg["steps"]):
        x0 = data(cfg["batch"])
        t = torch.randint(0, cfg["T"], (cfg["batch"],))
        eps = torch.randn_like(x0)
        x = noise.add(x0, t, eps)
        estimate = torch.zeros_like(x0)
        if torch.rand(()) < 0.5:
            with torch.no_grad():
                estimate = noise.clean(x, t, model(x, t, estimate)).clamp_(-3, 3)
        loss = (model(x, t, estimate) - eps).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        update_ema(ema, model, cfg["decay"])
        if step % 50 == 0:
            print(f"step {step:3d} loss {loss.item():.4f}")
    s = sample(ema, noise, 1000)
    print(f"mean |x| {s.abs().mean().item():.3f} (data 1.0), share on the two sides "
          f"{(s[:, 0] > 0).float().mean().item():.2f}, anti-correlated {(s.prod(1) < 0).float().mean().item():.3f}")


if __name__ == "__main__":
    main()
