"""discuss.pytorch.org, "Strong overfitting although dropout is 0.8"
Symptom: dropout makes no difference after the first epoch; train loss falls to 0 as if there were none.
EXPECT: runs
TRUTH: validate() puts the model in eval mode and train() is called once only, before the epoch loop, so from epoch 2
on dropout is off. Call model.train() at the start of every epoch."""
import torch
import torch.nn as nn

torch.manual_seed(0)
xtr, xva = torch.randn(60, 20), torch.randn(200, 20)
ytr = (xtr[:, 0] + 1.5 * torch.randn(60) > 0).long()
yva = (xva[:, 0] + 1.5 * torch.randn(200) > 0).long()
model = nn.Sequential(nn.Dropout(0.5), nn.Linear(20, 128), nn.ReLU(), nn.Dropout(0.8), nn.Linear(128, 2))
loss_fn = nn.CrossEntropyLoss()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)


def validate():
    model.eval()
    with torch.no_grad():
        return loss_fn(model(xva), yva).item()


def train_epoch():
    tot = 0.0
    for idx in torch.randperm(60).split(20):
        loss = loss_fn(model(xtr[idx]), ytr[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        tot += loss.item()
    return tot / 3


model.train()  # CULPRIT
for epoch in range(80):
    tr = train_epoch()
    va = validate()
    if epoch % 20 == 0:
        print(f"{epoch} train {tr:.3f} val {va:.3f}")
print("loss", tr, "val", va)
