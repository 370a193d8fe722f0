"""discuss.pytorch.org, "Different predictions for the same input every time I evaluate"
Symptom: model.eval() is called, still each evaluation gives another accuracy.
EXPECT: runs
TRUTH: F.dropout has training=True as a default and does not know about model.eval().
Pass training=self.training or use nn.Dropout."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Digits(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(16, 64)
        self.fc2 = nn.Linear(64, 4)

    def forward(self, x):
        x = F.relu(self.fc1(x))
        x = F.dropout(x, 0.7)  # CULPRIT
        return self.fc2(x)


centers = torch.randn(4, 16)


def sample(n):
    y = torch.randint(0, 4, (n,))
    return centers[y] + torch.randn(n, 16), y


@torch.no_grad()
def evaluate(model, x, y):
    model.eval()
    acc = (model(x).argmax(1) == y).float().mean().item()
    model.train()
    return acc


model = Digits()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
xv, yv = sample(300)
for it in range(150):
    x, y = sample(64)
    loss = F.cross_entropy(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print("loss", loss.item())
print("val acc", [round(evaluate(model, xv, yv), 3) for _ in range(3)])
