"""Stack Overflow, "Denoising autoencoder reconstructs the noise"
Symptom: loss ends low, but the output for a noisy input is noisy as well.
EXPECT: runs
TRUTH: add_ changes the batch in place, and the clean target is the same tensor (a view of the data set, which also gets noisier). Use x + noise."""
import torch
import torch.nn as nn

torch.manual_seed(0)


def corrupt(x, sigma=0.5):
    return x.add_(sigma * torch.randn_like(x))  # CULPRIT


class DAE(nn.Module):
    def __init__(self, d=16, h=64):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(d, h), nn.ReLU(), nn.Linear(h, d))

    def forward(self, x):
        return self.f(x)


def signals(n=200, d=16):
    t = torch.linspace(0, 3, d)
    return torch.sin(t + 6 * torch.rand(n, 1))


def epoch(model, opt, data):
    for batch in data.split(25):
        noisy = corrupt(batch)
        loss = nn.functional.mse_loss(model(noisy), batch)
        opt.zero_grad()
        loss.backward()
        opt.step()
    return loss.item()


data = signals()
model = DAE()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for e in range(30):
    loss = epoch(model, opt, data)
    if e % 10 == 0:
        print(e, loss, "std of the data", data.std().item())
clean = signals(100)
out = model(clean + 0.5 * torch.randn_like(clean))
print("loss", loss, "error against clean", nn.functional.mse_loss(out, clean).item())
