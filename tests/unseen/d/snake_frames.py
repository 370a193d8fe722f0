"""Jee-King/TSAN#3
Symptom: "one of the variables needed for gradient computation has been modified by an inplace operation" in the alignment module.
EXPECT: raises RuntimeError
TRUTH: out = x is only a second name of x, so out += ... overwrites the saved ReLU output and convolution input; use x.clone().
"""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class TemporalAttention(nn.Module):
    def __init__(self, feats):
        super().__init__()
        self.query = nn.Conv2d(feats, feats, 1)
        self.key = nn.Conv2d(feats, feats, 1)
        self.value = nn.Conv2d(feats, feats, 3, padding=1)

    def forward(self, center, neighbour):
        gate = torch.sigmoid((self.query(center) * self.key(neighbour)).sum(1, keepdim=True))
        return gate * self.value(neighbour)


class TSAN(nn.Module):
    def __init__(self, n_frames=3, feats=8):
        super().__init__()
        self.n_frames = n_frames
        self.head = nn.Conv2d(1, feats, 3, padding=1)
        self.align = nn.ModuleList([TemporalAttention(feats) for _ in range(n_frames)])
        self.recon = nn.Sequential(nn.Conv2d(feats, feats, 3, padding=1), nn.ReLU(inplace=True))
        self.tail = nn.Conv2d(feats, 1, 3, padding=1)

    def forward(self, frames):
        feats = [F.relu(self.head(frames[:, i:i + 1])) for i in range(self.n_frames)]
        x = feats[self.n_frames // 2]
        out = x  # CULPRIT
        for i, attention in enumerate(self.align):
            out += attention(x, feats[i])
        return frames[:, self.n_frames // 2].unsqueeze(1) + self.tail(self.recon(out))


def make_clips(n, size=14):
    base = F.avg_pool2d(torch.randn(n, 1, size + 4, size + 4), 3, 1) * 2
    frames = torch.stack([base[:, 0, 1:1 + size, s:s + size] for s in range(3)], dim=1)
    target = frames[:, 1:2].clone()
    return TensorDataset(frames + 0.3 * torch.randn_like(frames), target)


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    loader = DataLoader(make_clips(200), batch_size=20, shuffle=True)
    model = TSAN()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    criterion = nn.L1Loss()
    for epoch in range(6):
        total = 0.0
        for lr_frames, hr in loader:
            optimizer.zero_grad()
            sr = model(lr_frames)
            loss = criterion(sr, hr)
            loss.backward()
            optimizer.step()
            total += loss.item()
        print("epoch %d  L1 %.4f" % (epoch + 1, total / len(loader)))


if __name__ == "__main__":
    main()
