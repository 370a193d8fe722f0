"""discuss.pytorch.org, "Restoring the best model gives the accuracy of the last epoch"
Symptom: early stopping reports val 0.3 for the best epoch, after load_state_dict the val loss is that of the last one.
EXPECT: runs
TRUTH: state_dict() returns references to the live parameters, so the 'best' copy goes on training. Use copy.deepcopy(model.state_dict())."""
import torch
import torch.nn as nn

torch.manual_seed(0)


class EarlyStopping:
    def __init__(self, patience):
        self.patience, self.best, self.state, self.bad = patience, float("inf"), None, 0

    def __call__(self, val, model):
        if val < self.best:
            self.best, self.bad = val, 0
            self.state = model.state_dict()  # CULPRIT
        else:
            self.bad += 1
        return self.bad > self.patience


xt, xv = torch.randn(40, 20), torch.randn(200, 20)
yt = (xt[:, 0] + 0.8 * torch.randn(40) > 0).long()
yv = (xv[:, 0] + 0.8 * torch.randn(200) > 0).long()
model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 2))
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
stop = EarlyStopping(patience=60)
ce = nn.CrossEntropyLoss()


def validate():
    with torch.no_grad():
        return ce(model(xv), yv).item()


for epoch in range(200):
    loss = ce(model(xt), yt)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if stop(validate(), model):
        break
model.load_state_dict(stop.state)
print("loss", loss.item(), "epoch", epoch)
print("best val", stop.best, "val of the restored model", validate())
