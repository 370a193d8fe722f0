"""discuss.pytorch.org, "clip_grad_norm_ returns 0 and training diverges"
Symptom: total_norm printed is 0.0, the loss explodes.
EXPECT: runs
TRUTH: model.parameters() is a generator and the optimizer has used it up, so clipping gets no parameters. Keep a list (list(model.parameters()))."""
import torch
import torch.nn as nn

torch.manual_seed(0)


class Fitter:
    def __init__(self, model, lr, max_norm):
        self.model = model
        self.params = model.parameters()  # CULPRIT
        self.opt = torch.optim.SGD(self.params, lr=lr)
        self.max_norm = max_norm

    def step(self, x, y):
        loss = (self.model(x) - y).pow(2).mean()
        self.opt.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(self.params, self.max_norm)  # CULPRIT
        self.opt.step()
        return loss.item(), float(norm)


def heavy_tailed(n):
    x = torch.randn(n, 4) * torch.where(torch.rand(n, 1) < 0.1, 15.0, 1.0)
    return x, x.sum(1, keepdim=True)


model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
f = Fitter(model, lr=0.03, max_norm=1.0)
for it in range(200):
    loss, norm = f.step(*heavy_tailed(64))
    if it % 40 == 0:
        print(it, loss, "norm", norm)
print("loss", loss)
