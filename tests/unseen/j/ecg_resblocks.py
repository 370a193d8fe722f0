# kind: parameter_made_in_forward
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(27)


def beats(n, length=48):
    """Synthetic heart beats: class 1 has a wide, class 2 a missing second wave."""
    y = torch.randint(0, 3, (n,))
    t = torch.linspace(0, 1, length)
    width = torch.where(y == 1, 0.10, 0.04)[:, None]
    second = torch.where(y == 2, 0.0, 0.6)[:, None]
    shift = 0.05 * torch.randn(n, 1)
    x = torch.exp(-((t - 0.35 - shift) / 0.03) ** 2)
    x = x + second * torch.exp(-((t - 0.65 - shift) / width) ** 2)
    return (x + 0.1 * torch.randn(n, length)).unsqueeze(1), y


class ResBlock(nn.Module):
    def __init__(self, c_in, c_out, stride=2):
        super().__init__()
        self.c_in, self.c_out, self.stride = c_in, c_out, stride
        self.main = nn.Sequential(
            nn.Conv1d(c_in, c_out, 5, stride=stride, padding=2, bias=False), nn.GroupNorm(4, c_out), nn.ReLU(),
            nn.Conv1d(c_out, c_out, 5, padding=2),
        )

    def make_shortcut(self):
        if self.stride == 1 and self.c_in == self.c_out:
            return nn.Identity()
        return nn.Conv1d(self.c_in, self.c_out, 1, stride=self.stride)

    def forward(self, x):
        return F.relu(self.main(x) + self.make_shortcut()(x))  # CULPRIT


class BeatNet(nn.Module):
    def __init__(self, widths=(8, 16, 16)):
        super().__init__()
        self.stem = nn.Conv1d(1, widths[0], 7, padding=3)
        self.blocks = nn.Sequential(*(ResBlock(a, b) for a, b in zip(widths, widths[1:])))
        self.classify = nn.Linear(widths[-1], 3)

    def forward(self, x):
        return self.classify(self.blocks(F.relu(self.stem(x))).mean(-1))


def train(model, steps=60):
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    for step in range(1, steps + 1):
        x, y = beats(48)
        loss = F.cross_entropy(model(x), y, label_smoothing=0.05)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 15 == 0:
            print(f"step {step} loss {loss.item():.3f}")


@torch.no_grad()
def consistency(model):
    """The same beats twice through the trained network."""
    model.eval()
    x, y = beats(200)
    a, b = model(x), model(x)
    return (a.argmax(1) == y).float().mean().item(), (a - b).abs().max().item()


net = BeatNet()
train(net)
print("accuracy %.3f, difference of two runs %.4f" % consistency(net))
