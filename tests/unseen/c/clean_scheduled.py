"""Stack Overflow, "Scheduled sampling: decoder input is argmax of its own output, numbers go through .item() and a coin"
Symptom: none, asker asks whether feeding back argmax breaks the training.
EXPECT: runs
TRUTH: Correct. The fed back token is a constant index by design, the loss of each step still reaches all weights through the hidden state."""
import random
import torch
import torch.nn as nn

random.seed(0)
torch.manual_seed(0)
V, BOS = 8, 0


class Seq2Seq(nn.Module):
    def __init__(self, h=32):
        super().__init__()
        self.emb = nn.Embedding(V, 16)
        self.enc = nn.GRU(16, h, batch_first=True)
        self.cell = nn.GRUCell(16, h)
        self.out = nn.Linear(h, V)

    def forward(self, src, trg, forcing):
        _, h = self.enc(self.emb(src))
        h = h[0]
        tok = torch.full((len(src),), BOS)
        logits = []
        for t in range(trg.size(1)):
            h = self.cell(self.emb(tok), h)
            logits.append(self.out(h))
            with torch.no_grad():
                guess = logits[-1].argmax(1)
            tok = trg[:, t] if random.random() < forcing else guess
        return torch.stack(logits, 2)


def prob(it, total):
    return max(0.2, 1.0 - it / total)


net = Seq2Seq()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for it in range(250):
    src = torch.randint(1, V, (64, 3))
    trg = src.flip(1)
    loss = nn.functional.cross_entropy(net(src, trg, prob(it, 250)), trg)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 80 == 0:
        print(it, loss.item(), f"forcing {prob(it, 250):.2f}")
print("loss", loss.item(), "acc", (net(src, trg, 0.0).argmax(1) == trg).float().mean().item())
