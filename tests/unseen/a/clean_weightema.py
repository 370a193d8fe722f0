"""GitHub issue (timm), "ModelEMA: copies of parameters never get gradients"
Symptom: none, the averaged model has requires_grad False everywhere.
EXPECT: runs
TRUTH: Correct. The EMA copy is a deepcopy updated in place under no_grad; it is for evaluation only."""
import copy
import torch
import torch.nn as nn

torch.manual_seed(0)


class ModelEma:
    def __init__(self, model, decay=0.95):
        self.module = copy.deepcopy(model).eval().requires_grad_(False)
        self.decay = decay

    @torch.no_grad()
    def update(self, model):
        for e, m in zip(self.module.state_dict().values(), model.state_dict().values()):
            if e.dtype.is_floating_point:
                e.mul_(self.decay).add_(m, alpha=1 - self.decay)
            else:
                e.copy_(m)


x = torch.randn(320, 12)
y = ((x[:, 0] + x[:, 1] * x[:, 2]) > 0).long()
model = nn.Sequential(nn.Linear(12, 48), nn.BatchNorm1d(48), nn.ReLU(), nn.Linear(48, 2))
ema = ModelEma(model)
opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for epoch in range(20):
    for idx in torch.randperm(320).split(32):
        loss = nn.functional.cross_entropy(model(x[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        ema.update(model)
print("loss", loss.item())
print("ema acc", (ema.module(x).argmax(1) == y).float().mean().item())
