"""discuss.pytorch.org, "Guarded sqrt with torch.where: output becomes the same number for every input"
Symptom: loss is finite all the time but stops at the variance of the target; the first layer's weights print as nan.
EXPECT: runs
TRUTH: where does not protect the branch that is not taken: sqrt at negative or zero values has a nan/inf derivative, and 0 * nan is nan. Clamp the argument inside
the sqrt as well."""
import torch
import torch.nn as nn

torch.manual_seed(0)


class Intensity(nn.Module):
    """signed input -> nonnegative rate, zero below the threshold"""

    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 8)
        self.out = nn.Linear(8, 1)

    def root(self, v):
        return torch.where(v > 0, torch.sqrt(v), torch.zeros_like(v))  # CULPRIT

    def forward(self, x):
        return self.out(self.root(self.lin(x)))


def events(n=200):
    x = torch.randn(n, 4)
    return x, (x[:, :1].relu() + 0.1).sqrt()


x, y = events()
model = Intensity()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for it in range(100):
    loss = (model(x) - y).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 25 == 0:
        print(it, loss.item())
print("loss", loss.item(), "variance", y.var().item(), "std of output", model(x).std().item())
