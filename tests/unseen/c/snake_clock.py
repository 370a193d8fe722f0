"""Stack Overflow, "Periodic feature from timestamps learns nothing, the same model with a toy counter does"
Symptom: features sin/cos of seconds; the loss stays at more than half of the variance.
EXPECT: runs
TRUTH: Unix timestamps (1.7e9) are put into float32, whose spacing there is 128 seconds, so the phase within the 4 minute period is lost. Reduce modulo
the period in integers (or float64) before the conversion."""
import math
import torch
import torch.nn as nn

torch.manual_seed(0)
PERIOD = 240


def phase(stamps):
    t = stamps.float() % PERIOD  # CULPRIT
    return 2 * math.pi * t / PERIOD


def features(stamps):
    p = phase(stamps)
    return torch.stack([p.sin(), p.cos()], dim=1)


def measurements(n=400):
    start = 1_700_000_000
    stamps = start + torch.randint(0, 86_400, (n,), dtype=torch.int64)
    angle = 2 * math.pi * (stamps % PERIOD).double() / PERIOD
    return stamps, torch.sin(angle + 0.5).float().unsqueeze(1)


class Periodic(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 1))

    def forward(self, stamps):
        return self.net(features(stamps))


s, y = measurements()
model = Periodic()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for it in range(200):
    loss = (model(s) - y).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 60 == 0:
        print(it, loss.item())
print("loss", loss.item(), "variance", y.var().item())
