"""discuss.pytorch.org, "Network cannot learn concentration from spectra although linear regression in Excel can"
Symptom: the loss stays near the variance after I added standardisation, without it the loss falls.
EXPECT: runs
TRUTH: The standardisation runs over dim=1, inside each sample, which removes the level that carries the target. Statistics must be
per wavelength over the samples (dim=0)."""
import torch
import torch.nn as nn

torch.manual_seed(0)


def standardise(t, eps=1e-6):
    mean = t.mean(dim=1, keepdim=True)  # CULPRIT
    std = t.std() + eps
    return (t - mean) / std


def spectra(n=300, k=20):
    wave = torch.linspace(0, 3, k)
    shape = torch.exp(-(wave - 1.5) ** 2)
    conc = torch.rand(n, 1)
    baseline = conc * 2.0
    width = torch.rand(n, 1)
    return baseline + width * shape + 0.01 * torch.randn(n, k), conc


class Calibrator(nn.Module):
    def __init__(self, k=20):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(k, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, s):
        return self.net(s)


s, c = spectra()
x = standardise(s)
model = Calibrator()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for ep in range(30):
    for i in torch.randperm(300).split(30):
        loss = nn.functional.mse_loss(model(x[i]), c[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
print("loss", nn.functional.mse_loss(model(x), c).item(), "variance", c.var().item())
