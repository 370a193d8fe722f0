"""GitHub issue (ViT implementation), "Is this view/permute/reshape chain right? view is always dangerous"
Symptom: none.
EXPECT: runs
TRUTH: Correct. The view only splits axes of a contiguous image, the permutation moves them and reshape joins neighbours."""
import torch
import torch.nn as nn

torch.manual_seed(0)


def patchify(img, p):
    b, c, h, w = img.shape
    t = img.view(b, c, h // p, p, w // p, p)
    t = t.permute(0, 2, 4, 1, 3, 5)
    return t.reshape(b, (h // p) * (w // p), c * p * p)


class ViT(nn.Module):
    def __init__(self, p=4, d=32):
        super().__init__()
        self.p = p
        self.embed = nn.Linear(p * p, d)
        self.cls = nn.Parameter(torch.zeros(1, 1, d))
        self.pos = nn.Parameter(torch.randn(1, 10, d) * 0.1)
        self.layer = nn.TransformerEncoderLayer(d, 4, 64, dropout=0.0, batch_first=True)
        self.head = nn.Linear(d, 3)

    def forward(self, x):
        t = self.embed(patchify(x, self.p))
        t = torch.cat([self.cls.expand(len(x), -1, -1), t], 1) + self.pos
        return self.head(self.layer(t)[:, 0])


y = torch.randint(0, 3, (150,))
x = 0.5 * torch.randn(150, 1, 12, 12)
for i, c in enumerate(y.tolist()):
    x[i, 0, 4 * c:4 * c + 4, 4:8] += 1.0
net = ViT()
opt = torch.optim.AdamW(net.parameters(), lr=2e-3)
for it in range(40):
    loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 10 == 0:
        print(it, loss.item())
print("loss", loss.item())
