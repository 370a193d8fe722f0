"""GitHub issue (diffusion tutorial), "Diffusion loss stuck at about 1, samples are blobs"
Symptom: the eps-prediction loss never goes below 1, the variance of the noise.
EXPECT: runs
TRUTH: The noise that the loss compares with is drawn anew, it is not the noise that was added in q_sample. Use one noise tensor for both."""
import torch
import torch.nn as nn

torch.manual_seed(0)
T = 50
beta = torch.linspace(1e-3, 0.2, T)
abar = torch.cumprod(1 - beta, 0)


class Eps(nn.Module):
    def __init__(self, d=2, w=64):
        super().__init__()
        self.t = nn.Embedding(T, w)
        self.i = nn.Linear(d, w)
        self.o = nn.Sequential(nn.SiLU(), nn.Linear(w, w), nn.SiLU(), nn.Linear(w, d))

    def forward(self, x, t):
        return self.o(self.i(x) + self.t(t))


def q_sample(x0, t, noise=None):
    if noise is None:
        noise = torch.randn_like(x0)
    a = abar[t].unsqueeze(1)
    return a.sqrt() * x0 + (1 - a).sqrt() * noise


def p_losses(model, x0):
    t = torch.randint(0, T, (len(x0),))
    noise = torch.randn_like(x0)
    xt = q_sample(x0, t)  # CULPRIT
    return (model(xt, t) - noise).pow(2).mean()


model = Eps()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
avg = 1.0
for it in range(400):
    x0 = torch.randint(0, 2, (128, 1)) * 2.0 - 1 + 0.1 * torch.randn(128, 2)
    loss = p_losses(model, x0)
    opt.zero_grad()
    loss.backward()
    opt.step()
    avg = 0.98 * avg + 0.02 * loss.item()
print("loss", avg)
