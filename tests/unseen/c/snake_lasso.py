"""discuss.pytorch.org, "L1 regularisation does not make weights sparse"
Symptom: the penalty is in the loss (it is printed), but the weights are those of the unpenalised fit.
EXPECT: runs
TRUTH: The penalty is computed from state_dict(), whose tensors are detached from the graph, so it has no gradient. Use named_parameters()."""
import torch
import torch.nn as nn

torch.manual_seed(0)


class Lasso(nn.Module):
    def __init__(self, d, lam):
        super().__init__()
        self.linear = nn.Linear(d, 1)
        self.lam = lam

    def forward(self, x):
        return self.linear(x)

    def penalty(self):
        total = 0.0
        for name, value in self.state_dict().items():  # CULPRIT
            if name.endswith("weight"):
                total = total + value.abs().sum()
        return self.lam * total


def sparse_problem(n=100, d=30):
    x = torch.randn(n, d)
    w = torch.zeros(d, 1)
    w[:3] = torch.tensor([[2.0], [-3.0], [1.5]])
    return x, x @ w + torch.randn(n, 1)


x, y = sparse_problem()
model = Lasso(30, lam=0.3)
opt = torch.optim.SGD(model.parameters(), lr=0.02)
for it in range(400):
    fit = nn.functional.mse_loss(model(x), y)
    pen = model.penalty()
    loss = fit + pen
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 100 == 0:
        print(it, "fit", fit.item(), "penalty", pen.item())
print("loss", loss.item(), "sum of |w| of the useless columns", model.linear.weight[0, 3:].abs().sum().item())
