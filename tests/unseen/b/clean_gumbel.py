"""discuss.pytorch.org, "Discrete latent with argmax one-hot in forward: y_hard - y_soft.detach() + y_soft"
Symptom: none, asker says that argmax cannot have gradients.
EXPECT: runs
TRUTH: Correct. The hard one-hot is used in forward and the soft sample's gradient in backward (straight-through Gumbel softmax)."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


def gumbel_st(logits, tau):
    u = torch.rand_like(logits).clamp(1e-6, 1 - 1e-6)
    soft = F.softmax((logits - (-u.log()).log()) / tau, dim=-1)
    hard = torch.zeros_like(soft).scatter_(-1, soft.argmax(-1, keepdim=True), 1.0)
    return hard - soft.detach() + soft


class DiscreteAE(nn.Module):
    def __init__(self, d=12, n=3, k=5):
        super().__init__()
        self.n, self.k = n, k
        self.enc = nn.Sequential(nn.Linear(d, 48), nn.ReLU(), nn.Linear(48, n * k))
        self.dec = nn.Sequential(nn.Linear(n * k, 48), nn.ReLU(), nn.Linear(48, d))

    def forward(self, x, tau):
        logits = self.enc(x).view(-1, self.n, self.k)
        return self.dec(gumbel_st(logits, tau).flatten(1))


x = 1.5 * torch.randn(10, 12)[torch.randint(0, 10, (300,))]
ae = DiscreteAE()
opt = torch.optim.Adam(ae.parameters(), lr=3e-3)
for it in range(300):
    tau = max(0.5, 1.0 * 0.997 ** it)
    loss = F.mse_loss(ae(x, tau), x)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 100 == 0:
        print(it, loss.item())
print("loss", loss.item(), "variance", x.var().item())
