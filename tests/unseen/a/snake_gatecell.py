"""discuss.pytorch.org, "one of the variables needed for gradient computation has been modified: SigmoidBackward"
Symptom: own gated cell, forward works, backward raises about version 1, expected version 0.
EXPECT: raises RuntimeError
TRUTH: sigmoid saves its output for backward and the gate is then changed in place by mul_.
Use an out of place product (gate = gate * mask)."""
import torch
import torch.nn as nn

torch.manual_seed(0)


class GatedCell(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.gate = nn.Linear(d + h, h)
        self.cand = nn.Linear(d + h, h)

    def forward(self, x, h, valid):
        xh = torch.cat([x, h], dim=1)
        z = torch.sigmoid(self.gate(xh))
        n = torch.tanh(self.cand(xh))
        z.mul_(valid)  # CULPRIT
        return (1 - z) * h + z * n


class Model(nn.Module):
    def __init__(self, d=5, h=12):
        super().__init__()
        self.cell = GatedCell(d, h)
        self.head = nn.Linear(h, 1)
        self.h = h

    def forward(self, x, lengths):
        h = x.new_zeros(x.size(0), self.h)
        for t in range(x.size(1)):
            valid = (t < lengths).float().unsqueeze(1)
            h = self.cell(x[:, t], h, valid)
        return self.head(h).squeeze(1)


x = torch.randn(32, 7, 5)
lengths = torch.randint(2, 8, (32,))
y = x[:, :2, 0].sum(1)
model = Model()
opt = torch.optim.Adam(model.parameters(), 0.01)
for i in range(10):
    loss = ((model(x, lengths) - y) ** 2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
