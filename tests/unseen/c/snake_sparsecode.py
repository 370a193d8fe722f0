"""Stack Overflow, "Changing the weight of my penalty has no influence at all on the result"
Symptom: sparsity term with factor 0, 1 or 100 gives the same loss to all digits.
EXPECT: runs
TRUTH: The second line starting with + is an expression statement of its own, so the penalty is never added. Put the sum in parentheses (or end the first
line with +)."""
import torch
import torch.nn as nn

torch.manual_seed(0)


class SparseAE(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.enc, self.dec = nn.Linear(d, h), nn.Linear(h, d)

    def forward(self, x):
        code = torch.relu(self.enc(x))
        return self.dec(code), code


class Objective:
    def __init__(self, lam, smooth):
        self.lam, self.smooth = lam, smooth

    def __call__(self, x, out, code, weight):
        rec = nn.functional.mse_loss(out, x)
        loss = rec + self.smooth * weight.pow(2).mean()
        +self.lam * code.abs().mean()  # CULPRIT
        return loss


def train(lam):
    torch.manual_seed(0)
    x = torch.randn(200, 3) @ torch.randn(3, 10)
    ae, obj = SparseAE(10, 20), Objective(lam, 1e-4)
    opt = torch.optim.Adam(ae.parameters(), lr=1e-2)
    for _ in range(150):
        out, code = ae(x)
        loss = obj(x, out, code, ae.enc.weight)
        opt.zero_grad()
        loss.backward()
        opt.step()
    return loss.item(), (code > 0).float().mean().item()


for lam in (0.0, 1.0, 100.0):
    print("lam", lam, "loss and active units", train(lam))
