"""GitHub issue (SAM optimizer), "Weights are perturbed in place between two backward passes"
Symptom: none, asker expects the in-place error.
EXPECT: runs
TRUTH: Correct. The first graph is consumed before the weights are moved under no_grad, the second pass builds its own and the weights
are restored before the step."""
import torch
import torch.nn as nn

torch.manual_seed(0)


class SAM:
    def __init__(self, params, base, rho=0.05, **kw):
        self.params = list(params)
        self.base = base(self.params, **kw)
        self.rho = rho

    @torch.no_grad()
    def ascend(self):
        norm = torch.stack([p.grad.norm() for p in self.params]).norm() + 1e-12
        self.eps = [p.grad * (self.rho / norm) for p in self.params]
        for p, e in zip(self.params, self.eps):
            p.add_(e)
        self.base.zero_grad()

    @torch.no_grad()
    def descend(self):
        for p, e in zip(self.params, self.eps):
            p.sub_(e)
        self.base.step()
        self.base.zero_grad()


x = torch.randn(300, 10)
y = (x[:, 0] * x[:, 1] > 0).long()
net = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 2))
sam = SAM(net.parameters(), torch.optim.SGD, lr=0.1, momentum=0.9)
for it in range(150):
    idx = torch.randint(0, 300, (100,))
    loss = nn.functional.cross_entropy(net(x[idx]), y[idx])
    loss.backward()
    sam.ascend()
    nn.functional.cross_entropy(net(x[idx]), y[idx]).backward()
    sam.descend()
    if it % 50 == 0:
        print(it, loss.item())
print("loss", loss.item())
