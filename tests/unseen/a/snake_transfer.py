"""discuss.pytorch.org, "Fine-tuning: new classifier weights are not changing"
Symptom: transfer learning with a new head, loss decreases slowly, the head's weights are
bit for bit those of the initialisation.
EXPECT: runs
TRUTH: The optimizer was built before the head was replaced, so it holds the old head's
parameters and the new ones are never stepped. Build the optimizer after the surgery."""
import torch
import torch.nn as nn

torch.manual_seed(0)


def pretrained():
    m = nn.Sequential()
    m.add_module("features", nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU()))
    m.add_module("fc", nn.Linear(32, 100))
    return m


class Experiment:
    def __init__(self, n_classes):
        self.model = pretrained()
        self.opt = torch.optim.SGD(self.model.parameters(), lr=0.05)  # CULPRIT
        self.adapt(n_classes)  # CULPRIT
        self.crit = nn.CrossEntropyLoss()

    def adapt(self, n_classes):
        self.model.fc = nn.Linear(32, n_classes)

    def step(self, x, y):
        self.opt.zero_grad()
        loss = self.crit(self.model(x), y)
        loss.backward()
        self.opt.step()
        return loss.item()


x = torch.randn(200, 20)
y = (x[:, :3].argmax(1))
exp = Experiment(3)
before = exp.model.fc.weight.detach().clone()
for it in range(60):
    loss = exp.step(x, y)
print("loss", loss)
print("head change", (exp.model.fc.weight - before).abs().max().item())
