"""GitHub issue (VQGAN), "Adaptive weight computed from gradient norms of the last layer and then detached"
Symptom: none, asker says .detach() kills the adversarial loss.
EXPECT: runs
TRUTH: Correct. Only the weight between the two losses is a constant; both losses keep their gradients. retain_graph is needed for the two grad calls."""
import torch
import torch.nn as nn

torch.manual_seed(0)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 4))
        self.dec = nn.Sequential(nn.Linear(4, 32), nn.ReLU())
        self.last = nn.Linear(32, 12)

    def forward(self, x):
        return self.last(self.dec(self.enc(x)))


def balance(l1, l2, weight):
    g1, = torch.autograd.grad(l1, weight, retain_graph=True)
    g2, = torch.autograd.grad(l2, weight, retain_graph=True)
    return (g1.norm() / (g2.norm() + 1e-4)).clamp(0, 1e3).detach()


x = torch.randn(300, 3) @ torch.randn(3, 12)
probe = torch.randn(12, 2)
model = Model()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
for it in range(200):
    out = model(x)
    rec = (out - x).pow(2).mean()
    perceptual = (torch.tanh(out @ probe) - torch.tanh(x @ probe)).pow(2).mean()
    lam = balance(rec, perceptual, model.last.weight)
    loss = rec + 0.3 * lam * perceptual
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 60 == 0:
        print(it, rec.item(), "lam", lam.item())
print("loss", rec.item(), perceptual.item())
