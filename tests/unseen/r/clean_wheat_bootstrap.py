"""Uncertainty of a wheat yield model from an ensemble of networks on bootstrap resamples.

TRUTH: each resample replaces the table it was drawn from, so the next member draws from an already thinned table; distinct plots fall from member to member (printed) and later members see a handful; keep the original table and give the resample a name of its own.
"""
import torch
import torch.nn.functional as F
from torch import nn


def make_table(n, gen):
    nitrogen = torch.rand(n, generator=gen)
    rain = torch.rand(n, generator=gen)
    clay = torch.rand(n, generator=gen)
    tonnes = 3 + 4 * nitrogen * (1 - 0.5 * nitrogen) + 2 * rain * clay
    return {
        "plot": torch.arange(n),
        "x": torch.stack([nitrogen, rain, clay], 1),
        "tonnes": tonnes + 0.2 * torch.randn(n, generator=gen),
    }


def resample(table, gen):
    n = len(table["plot"])
    rows = torch.randint(0, n, (n,), generator=gen)
    return {name: column[rows] for name, column in table.items()}


def fit_member(table, seed, steps=60):
    torch.manual_seed(seed)
    net = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 1))
    opt = torch.optim.Adam(net.parameters(), lr=3e-2)
    for _ in range(steps):
        loss = F.mse_loss(net(table["x"]).squeeze(1), table["tonnes"])
        opt.zero_grad()
        loss.backward()
        opt.step()
    return net, loss.item()


def ensemble(table, members, gen):
    nets = []
    for m in range(members):
        sample = resample(table, gen)
        net, loss = fit_member(sample, seed=m)
        distinct = sample["plot"].unique().numel()
        print(f"member {m:2d} loss {loss:.4f} distinct plots {distinct}")
        nets.append(net)
    return nets


@torch.no_grad()
def interval(nets, x):
    preds = torch.stack([net(x).squeeze(1) for net in nets])
    return preds.mean(0), preds.std(0)


def main():
    gen = torch.Generator().manual_seed(28)
    table = make_table(150, gen)
    nets = ensemble(table, members=12, gen=gen)
    fresh = make_table(400, gen)
    mean, std = interval(nets, fresh["x"])
    error = (mean - fresh["tonnes"]).abs().mean()
    print(f"mean absolute error {error:.3f} t/ha, mean ensemble std {std.mean():.3f}")


if __name__ == "__main__":
    main()
