"""GitHub issue (lucidrains-like repo), "VQ codebook vectors never move"
Symptom: codebook.weight is identical to the initial one, the encoder clusters around random codes.
EXPECT: runs
TRUTH: Both terms of the quantisation loss detach the code vectors, so the codebook has no gradient. In the codebook term
the detach belongs on the encoder output: mse(q, z.detach())."""
import torch
import torch.nn as nn

torch.manual_seed(0)


def sq(a, b):
    return ((a - b) ** 2).mean()


class Codebook(nn.Module):
    def __init__(self, n, dim):
        super().__init__()
        self.vectors = nn.Parameter(torch.randn(n, dim) * 3)

    def nearest(self, z):
        with torch.no_grad():
            return torch.cdist(z, self.vectors).argmin(-1)

    def forward(self, z):
        e = self.vectors[self.nearest(z)]
        commitment = sq(z, e.detach())
        dictionary = sq(e.detach(), z)  # CULPRIT
        out = z + (e - z).detach()
        return out, dictionary + 0.25 * commitment


class Speech(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.Conv1d(1, 6, 4, stride=4)
        self.book = Codebook(12, 6)
        self.up = nn.ConvTranspose1d(6, 1, 4, stride=4)

    def forward(self, wave):
        z = self.down(wave).transpose(1, 2)
        q, extra = self.book(z.flatten(0, 1))
        q = q.view_as(z).transpose(1, 2)
        return self.up(q), extra


t = torch.arange(64) / 64 * 6.28
wave = torch.sin(torch.randint(1, 5, (80, 1)) * t).unsqueeze(1)
net = Speech()
start = net.book.vectors.detach().clone()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for i in range(150):
    rec, extra = net(wave)
    loss = sq(rec, wave) + extra
    opt.zero_grad()
    loss.backward()
    opt.step()
print("loss", loss.item(), "codebook moved", (net.book.vectors - start).norm().item())
