"""GitHub issue (resnet v2 reimplementation), "Pre-activation ResNet: negative half of the identity path disappears"
Symptom: identity function of the input cannot be learned, the output never sees negative inputs. No autograd error.
EXPECT: runs
TRUTH: The block starts with ReLU(inplace=True) on its own input, which is also the shortcut, so the skip path is rectified too. Use inplace=False for that
first activation (or clone the shortcut)."""
import torch
import torch.nn as nn

torch.manual_seed(0)


class PreAct(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.branch = nn.Sequential(
            nn.ReLU(inplace=True),  # CULPRIT
            nn.Linear(d, d),
            nn.ReLU(inplace=True),
            nn.Linear(d, d),
        )

    def forward(self, x):
        shortcut = x  # CULPRIT
        out = self.branch(x)
        return out + shortcut


class Net(nn.Module):
    def __init__(self, i, d, o, n):
        super().__init__()
        self.stem = nn.Linear(i, d)
        self.blocks = nn.Sequential(*[PreAct(d) for _ in range(n)])
        self.head = nn.Linear(d, o)

    def forward(self, x):
        return self.head(self.blocks(self.stem(x)))


x = torch.randn(256, 8)
y = x @ torch.randn(8, 4)
net = Net(8, 8, 4, 3)
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for it in range(300):
    loss = (net(x) - y).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
h = net.stem(x)
low = h.min().item()
net.blocks[0](h)
print("loss", loss.item(), "min of the stem before and after the block", low, h.min().item())
