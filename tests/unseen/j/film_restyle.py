# kind: part_cut_off
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(9)
STYLES = 4


class StyledBatch:
    """Pairs (grey texture, style id) -> the texture with the contrast and brightness of the style."""

    def __init__(self):
        self.gain = torch.tensor([0.5, 1.0, 1.5, -1.0])
        self.offset = torch.tensor([0.8, -0.6, 0.2, 0.4])

    def draw(self, n):
        x = F.avg_pool2d(torch.randn(n, 1, 14, 14), 3, stride=1) * 2
        s = torch.randint(0, STYLES, (n,))
        y = self.gain[s].view(-1, 1, 1, 1) * x + self.offset[s].view(-1, 1, 1, 1)
        return x, s, y


class FiLM(nn.Module):
    def __init__(self, style_dim, channels):
        super().__init__()
        self.channels = channels
        self.to_params = nn.Linear(style_dim, 2 * channels)

    def forward(self, h, style):
        p = self.to_params(style)[:, :, None, None]
        scale = p[:, :self.channels]
        shift = p[:, :self.channels]  # CULPRIT
        return h * (1 + scale) + shift


class StyleNet(nn.Module):
    def __init__(self, channels=12, style_dim=8):
        super().__init__()
        self.style = nn.Embedding(STYLES, style_dim)
        self.enter = nn.Conv2d(1, channels, 3, padding=1)
        self.films = nn.ModuleList(FiLM(style_dim, channels) for _ in range(2))
        self.convs = nn.ModuleList(nn.Conv2d(channels, channels, 3, padding=1) for _ in range(2))
        self.leave = nn.Conv2d(channels, 1, 1)

    def forward(self, x, style_id):
        s = self.style(style_id)
        h = self.enter(x)
        for conv, film in zip(self.convs, self.films):
            h = h + F.silu(film(conv(h), s))
        return self.leave(h)


def main():
    data, net = StyledBatch(), StyleNet()
    opt = torch.optim.AdamW(net.parameters(), lr=5e-3, weight_decay=1e-4)
    for step in range(1, 101):
        x, s, y = data.draw(32)
        loss = F.mse_loss(net(x, s), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 25 == 0:
            rows = torch.stack([f.to_params.weight.grad.norm(dim=1) for f in net.films])
            silent = int((rows == 0).sum())
            print(f"step {step} mse {loss.item():.4f} rows without gradient {silent}")


main()
