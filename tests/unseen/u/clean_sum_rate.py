"""Beamforming of unit power by a network: the sum rate in bit/s/Hz, maximised."""
import torch
from torch import nn

torch.manual_seed(0)
K, M, SNR = 3, 4, 10.0
net = nn.Sequential(nn.Linear(2 * K * M, 128), nn.ReLU(), nn.Linear(128, 2 * K * M))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
for step in range(200):
    h = torch.randn(256, K, M, 2)
    w = net(h.flatten(1)).view(256, K, M, 2)
    w = w / w.square().sum((1, 2, 3), keepdim=True).sqrt()  # total power 1
    re = torch.einsum("bkm,bjm->bkj", h[..., 0], w[..., 0]) - torch.einsum("bkm,bjm->bkj", h[..., 1], w[..., 1])
    im = torch.einsum("bkm,bjm->bkj", h[..., 0], w[..., 1]) + torch.einsum("bkm,bjm->bkj", h[..., 1], w[..., 0])
    power = re.square() + im.square()
    wanted = power.diagonal(dim1=1, dim2=2)
    rate = torch.log2(1 + SNR * wanted / (SNR * (power.sum(2) - wanted).clamp(min=0) + 1)).sum(1)
    loss = -rate.mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(step, -loss.item())
