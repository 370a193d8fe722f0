"""GitHub issue (nanoGPT-like repo), "LayerNorm and embedding weights are not updated with my weight decay groups"
Symptom: loss higher than with a plain AdamW, position embedding stays at its init.
EXPECT: runs
TRUTH: The no-decay group takes the names with 'bias' only and the decay group only matrices of linear layers, so embeddings and norms are in no group.
Make the second filter the complement of the first."""
import torch
import torch.nn as nn

torch.manual_seed(0)


class TinyLM(nn.Module):
    def __init__(self, v=12, d=24, t=6):
        super().__init__()
        self.tok = nn.Embedding(v, d)
        self.pos = nn.Embedding(t, d)
        self.norm = nn.LayerNorm(d)
        self.ff = nn.Linear(d, d)
        self.out = nn.Linear(d, v)

    def forward(self, s):
        h = self.tok(s) + self.pos(torch.arange(s.size(1)))
        return self.out(torch.relu(self.ff(self.norm(h))))


def configure(model, lr, wd):
    named = list(model.named_parameters())
    decay = [p for n, p in named if n.endswith("weight") and n.startswith(("ff", "out"))]  # CULPRIT
    rest = [p for n, p in named if n.endswith("bias")]  # CULPRIT
    return torch.optim.AdamW([{"params": decay, "weight_decay": wd}, {"params": rest, "weight_decay": 0.0}], lr=lr)


model = TinyLM()
opt = configure(model, 1e-2, 0.01)
before = {n: p.detach().clone() for n, p in model.named_parameters()}
for it in range(150):
    s = torch.randint(0, 12, (64, 6))
    y = (s * 5 + torch.arange(6)) % 12
    loss = nn.functional.cross_entropy(model(s).flatten(0, 1), y.flatten())
    opt.zero_grad(); model.zero_grad()
    loss.backward()
    opt.step()
print("loss", loss.item())
print("unchanged", [n for n, p in model.named_parameters() if torch.equal(p, before[n])])
