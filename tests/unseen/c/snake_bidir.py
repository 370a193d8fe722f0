"""Stack Overflow, "Bidirectional GRU classifier is not better than chance, unidirectional is perfect"
Symptom: using both final states makes it worse.
EXPECT: runs
TRUTH: h_n is (2, B, H); view(B, 2H) joins states of different samples. Transpose first: h_n.transpose(0, 1).reshape(B, -1) (or cat of h_n[0], h_n[1])."""
import torch
import torch.nn as nn

torch.manual_seed(0)


class BiGRU(nn.Module):
    def __init__(self, v, h=24):
        super().__init__()
        self.emb = nn.Embedding(v, 12)
        self.gru = nn.GRU(12, h, batch_first=True, bidirectional=True)
        self.fc = nn.Linear(2 * h, 3)

    def encode(self, s):
        _, h_n = self.gru(self.emb(s))
        return self.join(h_n, len(s))

    @staticmethod
    def join(h_n, batch):
        return h_n.view(batch, -1)  # CULPRIT

    def forward(self, s):
        return self.fc(self.encode(s))


def sentences(n):
    s = torch.randint(0, 15, (n, 6))
    return s, s[:, -1] % 3


net = BiGRU(15)
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for it in range(250):
    s, y = sentences(64)
    loss = nn.functional.cross_entropy(net(s), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 80 == 0:
        print(it, loss.item())
s, y = sentences(500)
print("loss", loss.item(), "acc", (net(s).argmax(1) == y).float().mean().item())
