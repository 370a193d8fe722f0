"""WGAN with weight clipping: critic steps on samples made under no_grad, in-place clamp of p.data, an unbounded (negative) critic loss, and the critic frozen while the generator is trained."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
torch.set_num_threads(1)

latent = 4


def build(sizes):
    layers = []
    for i, (a, b) in enumerate(zip(sizes[:-1], sizes[1:])):
        layers.append(nn.Linear(a, b))
        if i < len(sizes) - 2:
            layers.append(nn.LeakyReLU(0.2))
    return nn.Sequential(*layers)


def main():
    data = torch.tensor([2.0, -1.0]) + torch.randn(2000, 2) @ torch.tensor([[0.5, 0.2], [0.0, 0.3]])
    loader = DataLoader(TensorDataset(data), batch_size=100, shuffle=True)
    G, C = build([latent, 32, 2]), build([2, 64, 64, 1])
    opt_g = torch.optim.RMSprop(G.parameters(), lr=1e-3)
    opt_c = torch.optim.RMSprop(C.parameters(), lr=1e-3)
    for epoch in range(40):
        for i, (real,) in enumerate(loader):
            for p in C.parameters():
                p.requires_grad_(True)
            with torch.no_grad():
                fake = G(torch.randn(len(real), latent))
            loss_c = C(fake).mean() - C(real).mean()
            opt_c.zero_grad()
            loss_c.backward()
            opt_c.step()
            for p in C.parameters():
                p.data.clamp_(-0.1, 0.1)
            if i % 4 == 3:
                for p in C.parameters():
                    p.requires_grad_(False)
                loss_g = -C(G(torch.randn(len(real), latent))).mean()
                opt_g.zero_grad()
                loss_g.backward()
                opt_g.step()
        if epoch % 13 == 0 or epoch == 39:
            with torch.no_grad():
                mean = G(torch.randn(1000, latent)).mean(0)
            print("epoch %d critic %.4f mean of the samples %s" % (epoch, loss_c.item(), mean.tolist()))


if __name__ == "__main__":
    main()
