"""Stack Overflow, "Score matching on a 2d Gaussian learns the wrong score"
Symptom: implicit score matching runs, but the learned score is off the analytic one for correlated data.
EXPECT: runs
TRUTH: grad(score.sum(), x).sum(1) is the sum over ALL entries of the Jacobian, the objective needs its trace. Differentiate each
component separately and take the i-th entry of its gradient."""
import torch
import torch.nn as nn

torch.manual_seed(0)


class Score(nn.Module):
    def __init__(self, d=2, w=32):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(d, w), nn.Softplus(), nn.Linear(w, d))

    def forward(self, x):
        return self.net(x)


def divergence(s, x):
    g = torch.autograd.grad(s.sum(), x, create_graph=True)[0]  # CULPRIT
    return g.sum(1)


def objective(model, x):
    x = x.detach().requires_grad_()
    s = model(x)
    return (0.5 * s.pow(2).sum(1) + divergence(s, x)).mean()


cov = torch.tensor([[1.0, 0.8], [0.8, 1.0]])
chol = torch.linalg.cholesky(cov)
prec = torch.linalg.inv(cov)
model = Score()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for it in range(400):
    x = torch.randn(256, 2) @ chol.t()
    loss = objective(model, x)
    opt.zero_grad()
    loss.backward()
    opt.step()
err = (model(x) + x @ prec).pow(2).mean().item()
print("loss", loss.item(), "squared error of the score", err, "size of the score", (x @ prec).pow(2).mean().item())
