# kind: mask_without_effect
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(33)
TEXT = "the cat sat on the mat and the dog sat on the log while the rat ran to the cat . " * 6
CHARS = sorted(set(TEXT))
CODE = {c: i for i, c in enumerate(CHARS)}
IDS = torch.tensor([CODE[c] for c in TEXT])
CONTEXT = 24
MASK_VALUE = 1e-9  # CULPRIT


class CausalAttention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.qkv, self.proj = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.register_buffer("past", torch.ones(CONTEXT, CONTEXT).tril().bool())

    def split(self, x):
        b, t, d = x.shape
        return x.view(b, t, self.heads, d // self.heads).transpose(1, 2)

    def forward(self, x):
        t = x.size(1)
        q, k, v = map(self.split, self.qkv(x).chunk(3, dim=-1))
        scores = q @ k.transpose(-2, -1) / q.size(-1) ** 0.5
        scores = scores.masked_fill(~self.past[:t, :t], MASK_VALUE)
        return self.proj((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))


class CharLM(nn.Module):
    def __init__(self, dim=32, heads=2, depth=2):
        super().__init__()
        self.tok, self.pos = nn.Embedding(len(CHARS), dim), nn.Embedding(CONTEXT, dim)
        self.attn = nn.ModuleList(CausalAttention(dim, heads) for _ in range(depth))
        self.mlp = nn.ModuleList(
            nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))
            for _ in range(depth)
        )
        self.norms = nn.ModuleList(nn.LayerNorm(dim) for _ in range(depth))
        self.out = nn.Linear(dim, len(CHARS))

    def forward(self, ids):
        x = self.tok(ids) + self.pos(torch.arange(ids.size(1)))
        for norm, attn, mlp in zip(self.norms, self.attn, self.mlp):
            x = x + attn(norm(x))
            x = x + mlp(x)
        return self.out(x)


@torch.no_grad()
def continue_text(model, prompt, n=30):
    model.eval()
    ids = [CODE[c] for c in prompt]
    for _ in range(n):
        logits = model(torch.tensor([ids[-CONTEXT:]]))
        ids.append(int(logits[0, -1].argmax()))
    model.train()
    return "".join(CHARS[i] for i in ids)


@torch.no_grad()
def leak(model):
    """How far the first prediction moves when only the last character changes."""
    a = IDS[:CONTEXT][None].clone()
    b = a.clone()
    b[0, -1] = (b[0, -1] + 1) % len(CHARS)
    return (model(a)[0, 0] - model(b)[0, 0]).abs().max().item()


model = CharLM()
opt = torch.optim.AdamW(model.parameters(), lr=5e-3)
for step in range(1, 101):
    starts = torch.randint(0, len(IDS) - CONTEXT - 1, (16,))
    chunk = IDS[starts[:, None] + torch.arange(CONTEXT + 1)]
    loss = F.cross_entropy(model(chunk[:, :-1]).transpose(1, 2), chunk[:, 1:])
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 25 == 0:
        print(f"step {step} loss {loss.item():.3f} leak {leak(model):.4f} | {continue_text(model, 'the c')}")
