"""Stack Overflow, "Freeze backbone, keep BatchNorm in eval, train only the head - correct?"
Symptom: none, half of the parameters have grad None.
EXPECT: runs
TRUTH: Correct. The backbone is frozen on purpose and runs under no_grad; only the head is in the optimizer and learns."""
import torch
import torch.nn as nn

torch.manual_seed(0)


class FrozenFeatures(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(1, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(4))
        for p in self.parameters():
            p.requires_grad_(False)

    def train(self, mode=True):
        return super().train(False)

    def forward(self, x):
        with torch.no_grad():
            return self.net(x).flatten(1)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = FrozenFeatures()
        self.head = nn.Linear(128, 3)

    def forward(self, x):
        return self.head(self.features(x))


proto = torch.randn(3, 1, 10, 10)
y = torch.randint(0, 3, (150,))
x = proto[y] + 0.3 * torch.randn(150, 1, 10, 10)
model = Model().train()
opt = torch.optim.Adam((p for p in model.parameters() if p.requires_grad), lr=0.02)
for i in range(60):
    loss = nn.functional.cross_entropy(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if i % 20 == 0:
        print(i, loss.item())
print("loss", loss.item())
