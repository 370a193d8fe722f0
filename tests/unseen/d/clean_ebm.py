"""Energy-based model trained by contrastive divergence: Langevin samples are optimised in place from a replay buffer; the loss may be negative."""
import torch
import torch.nn as nn


class Energy(nn.Module):
    def __init__(self, d=2, h=64):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(d, h), nn.SiLU(), nn.Linear(h, h), nn.SiLU(), nn.Linear(h, 1))

    def forward(self, x):
        return self.net(x).squeeze(1)


def real(n):
    a = torch.rand(n) * 6.2832
    return torch.stack([1.5 * a.cos(), 1.5 * a.sin()], 1) + 0.1 * torch.randn(n, 2)


def langevin(energy, x, steps=20, size=0.05, noise=0.05):
    was = [p.requires_grad for p in energy.parameters()]
    for p in energy.parameters():
        p.requires_grad_(False)
    x = x.clone().requires_grad_(True)
    for _ in range(steps):
        energy(x).sum().backward()
        with torch.no_grad():
            x -= size * x.grad.clamp(-1, 1)
            x += noise * torch.randn_like(x)
            x.grad.zero_()
    for p, flag in zip(energy.parameters(), was):
        p.requires_grad_(flag)
    return x.detach()


def quality(energy):
    samples = langevin(energy, torch.rand(300, 2) * 4 - 2, steps=80)
    return (samples.norm(dim=1) - 1.5).abs().mean().item()


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    energy = Energy()
    optimizer = torch.optim.Adam(energy.parameters(), lr=1e-3, betas=(0.0, 0.999))
    buffer = torch.rand(1000, 2) * 4 - 2
    print("start: radius error of samples %.3f" % quality(energy))
    for it in range(251):
        idx = torch.randint(0, len(buffer), (128,))
        start = buffer[idx]
        fresh = torch.rand(128) < 0.05
        start[fresh] = torch.rand(int(fresh.sum()), 2) * 4 - 2
        neg = langevin(energy, start)
        buffer[idx] = neg
        e_pos, e_neg = energy(real(128)), energy(neg)
        loss = e_pos.mean() - e_neg.mean() + 0.1 * (e_pos.pow(2) + e_neg.pow(2)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if it % 50 == 0:
            print("it %d loss %.4f gap %.4f" % (it, loss.item(), (e_pos.mean() - e_neg.mean()).item()))
    print("end: radius error of samples %.3f" % quality(energy))


if __name__ == "__main__":
    main()
