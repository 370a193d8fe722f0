"""discuss.pytorch.org, "When are inplace operations allowed? (ReLU(inplace=True), +=)"
Symptom: none, asker expects an error that does not come.
EXPECT: runs
TRUTH: Correct. ReLU after a convolution or batch norm may overwrite its input because neither saves its output,
and out += shortcut comes before a ReLU that saves only its result."""
import torch
import torch.nn as nn

torch.manual_seed(0)


class Block(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.c1 = nn.Conv1d(c, c, 3, padding=1, bias=False)
        self.b1 = nn.BatchNorm1d(c)
        self.c2 = nn.Conv1d(c, c, 3, padding=1, bias=False)
        self.b2 = nn.BatchNorm1d(c)
        self.act = nn.ReLU(inplace=True)

    def forward(self, x):
        out = self.act(self.b1(self.c1(x)))
        out = self.b2(self.c2(out))
        out += x
        return self.act(out)


net = nn.Sequential(nn.Conv1d(1, 12, 3, padding=1), nn.ReLU(inplace=True), Block(12), Block(12),
                    nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(12, 2))
t = torch.linspace(0, 6.28, 40)
y = torch.randint(0, 2, (96,))
freq = torch.where(y == 1, 5.0, 2.0)[:, None]
x = torch.sin(freq * t + 6 * torch.rand(96, 1)).unsqueeze(1) + 0.2 * torch.randn(96, 1, 40)
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for i in range(40):
    loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if i % 10 == 0:
        print(i, loss.item())
print("loss", loss.item())
