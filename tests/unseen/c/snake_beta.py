"""Stack Overflow, "Per-sample weights in the loss have no effect"
Symptom: samples with weight 0 (known to be wrong) still spoil the fit, exactly as with weight 1.
EXPECT: runs
TRUTH: The elementwise loss is (B, 1) and the weights are (B,), the product is (B, B): each loss is multiplied with every weight, i.e. the
mean weight. Bring the weights to (B, 1)."""
import torch
import torch.nn as nn

torch.manual_seed(0)


class WeightedRegression:
    def __init__(self, dim):
        self.net = nn.Linear(dim, 1)
        self.opt = torch.optim.Adam(self.net.parameters(), lr=0.05)
        self.crit = nn.MSELoss(reduction="none")

    def loss(self, x, y, w):
        per_sample = self.crit(self.net(x), y)
        return (per_sample * w).mean()  # CULPRIT

    def fit(self, x, y, w, epochs=200):
        for _ in range(epochs):
            l = self.loss(x, y, w)
            self.opt.zero_grad()
            l.backward()
            self.opt.step()
        return l.item()


def dataset(n=200):
    x = torch.randn(n, 4)
    beta = torch.tensor([[1.0], [2.0], [-1.0], [0.5]])
    y = x @ beta
    broken = torch.rand(n) < 0.4
    y[broken] = -y[broken]
    return x, y, (~broken).float(), beta


x, y, w, beta = dataset()
reg = WeightedRegression(4)
print("loss", reg.fit(x, y, w))
print("weights", reg.net.weight.data.flatten().tolist(), "true", beta.flatten().tolist())
