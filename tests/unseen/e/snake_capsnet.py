"""motokimura/capsnet_pytorch#1, "Softmax dim"
Symptom: dynamic routing seems to perform incorrectly, accuracy and margin loss are worse than in the paper.
EXPECT: runs
TRUTH: the routing softmax normalises over the input capsules (dim 1) instead of over the output capsules (dim 2).
"""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(3)
torch.set_num_threads(1)


def make_shapes(n, size=12):
    x = 0.25 * torch.randn(n, 1, size, size)
    y = torch.randint(0, 5, (n,))
    for i in range(n):
        r, c = torch.randint(2, size - 3, (2,)).tolist()
        if y[i] == 0:
            x[i, 0, r, :] += 1
        elif y[i] == 1:
            x[i, 0, :, c] += 1
        elif y[i] == 2:
            x[i, 0, r - 1:r + 3, c - 1:c + 3] += 1
        elif y[i] == 3:
            x[i, 0] += torch.diag(torch.ones(size))
        else:
            x[i, 0, r, :] += 1
            x[i, 0, :, c] += 1
    return TensorDataset(x, y)


def squash(s, dim=-1):
    sq = (s ** 2).sum(dim=dim, keepdim=True)
    return sq / (1 + sq) * s / torch.sqrt(sq + 1e-8)


class PrimaryCaps(nn.Module):
    def __init__(self, in_ch, caps_dim=4, maps=4):
        super().__init__()
        self.caps_dim = caps_dim
        self.conv = nn.Conv2d(in_ch, caps_dim * maps, 3, stride=2)

    def forward(self, x):
        u = self.conv(x)
        u = u.view(u.size(0), -1, self.caps_dim, u.size(2), u.size(3))
        return squash(u.permute(0, 1, 3, 4, 2).reshape(u.size(0), -1, self.caps_dim))


class DigitCaps(nn.Module):
    def __init__(self, in_caps, in_dim, out_caps, out_dim=8, routing=3):
        super().__init__()
        self.W = nn.Parameter(0.3 * torch.randn(in_caps, out_caps, in_dim, out_dim))
        self.routing = routing

    def forward(self, u):
        u_hat = torch.einsum("bid,iodh->bioh", u, self.W)
        b_ij = u_hat.new_zeros(u_hat.shape[:3])
        for it in range(self.routing):
            c_ij = F.softmax(b_ij, dim=1)  # CULPRIT
            v = squash((c_ij.unsqueeze(-1) * u_hat).sum(dim=1))
            if it < self.routing - 1:
                b_ij = b_ij + (u_hat * v.unsqueeze(1)).sum(-1)
        return v


class CapsNet(nn.Module):
    def __init__(self, n_classes=5):
        super().__init__()
        self.conv = nn.Conv2d(1, 16, 3)
        self.primary = PrimaryCaps(16)
        self.digits = DigitCaps(4 * 4 * 4, 4, n_classes)

    def forward(self, x):
        return self.digits(self.primary(F.relu(self.conv(x)))).norm(dim=-1)


def margin_loss(lengths, y):
    t = F.one_hot(y, lengths.size(1)).float()
    loss = t * F.relu(0.9 - lengths) ** 2 + 0.5 * (1 - t) * F.relu(lengths - 0.1) ** 2
    return loss.sum(1).mean()


def main():
    train_loader = DataLoader(make_shapes(800), batch_size=40, shuffle=True)
    test_x, test_y = make_shapes(300).tensors
    net = CapsNet()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    for epoch in range(8):
        for x, y in train_loader:
            optimizer.zero_grad()
            loss = margin_loss(net(x), y)
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            out = net(test_x)
        print("epoch %d test margin loss %.4f acc %.3f"
              % (epoch, margin_loss(out, test_y).item(), (out.argmax(1) == test_y).float().mean().item()))


if __name__ == "__main__":
    main()
