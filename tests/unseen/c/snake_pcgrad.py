"""GitHub issue (multi-task repo), "PCGrad: task gradients are all identical / cosine is always 1"
Symptom: conflict between the tasks is never detected.
EXPECT: runs
TRUTH: The collected lists hold references to p.grad, and the next backward accumulates into the same tensors after they were zeroed in place
(set_to_none=False). Clone the gradients when collecting."""
import torch
import torch.nn as nn

torch.manual_seed(0)


class PCGrad:
    def __init__(self, model, opt):
        self.ps, self.opt, self.cos = list(model.parameters()), opt, []

    def collect(self, loss):
        self.opt.zero_grad(set_to_none=False)  # CULPRIT
        loss.backward(retain_graph=True)
        return [p.grad for p in self.ps]  # CULPRIT

    def step(self, l1, l2):
        g1, g2 = self.collect(l1), self.collect(l2)
        a, b = (torch.cat([g.flatten() for g in gs]) for gs in (g1, g2))
        dot = a @ b
        self.cos.append((dot / (a.norm() * b.norm() + 1e-12)).item())
        for p, u, v in zip(self.ps, g1, g2):
            if dot < 0:
                u, v = u - dot / (b @ b) * v, v - dot / (a @ a) * u
            p.grad = (u + v) / 2
        self.opt.step()


net = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 2))
pc = PCGrad(net, torch.optim.SGD(net.parameters(), lr=0.05))
x = torch.randn(200, 6)
t1, t2 = x[:, 0] * 2, -x[:, 0] + x[:, 1]
for it in range(200):
    out = net(x)
    l1, l2 = (out[:, 0] - t1).pow(2).mean(), (out[:, 1] - t2).pow(2).mean()
    pc.step(l1, l2)
print("loss", l1.item(), l2.item(), "cosines", min(pc.cos), max(pc.cos))
