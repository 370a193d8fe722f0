"""Predict secondary structure of toy proteins with a small attention model, validated after every epoch.

TRUTH: scaled_dot_product_attention applies dropout_p in eval mode as well, it does not know about model.eval(); two validation passes over the same data give different losses (printed); pass 0.0 unless training.
"""
import torch
import torch.nn.functional as F
from torch import nn


class SelfAttention(nn.Module):
    def __init__(self, dim, heads, dropout):
        super().__init__()
        self.heads = heads
        self.dropout = dropout
        self.qkv = nn.Linear(dim, 3 * dim)
        self.out = nn.Linear(dim, dim)

    def forward(self, x):
        n, t, d = x.shape
        q, k, v = self.qkv(x).view(n, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, dropout_p=self.dropout)  # CULPRIT
        return self.out(y.transpose(1, 2).reshape(n, t, d))


class StructureNet(nn.Module):
    def __init__(self, residues=20, states=3, dim=32, heads=4, dropout=0.2, length=24):
        super().__init__()
        self.embed = nn.Embedding(residues, dim)
        self.place = nn.Parameter(0.02 * torch.randn(length, dim))
        self.attend = SelfAttention(dim, heads, dropout)
        self.norm = nn.LayerNorm(dim)
        self.drop = nn.Dropout(dropout)
        self.head = nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, states))

    def forward(self, seq):
        x = self.embed(seq) + self.place
        x = self.norm(x + self.drop(self.attend(x)))
        return self.head(x)


def proteins(n, gen, length=24):
    seq = torch.randint(0, 20, (n, length), generator=gen)
    propensity = (seq % 5).float() + torch.roll(seq, 1, 1) % 3
    return seq, torch.bucketize(propensity, torch.tensor([1.5, 3.5]))


@torch.no_grad()
def validate(model, seq, state):
    model.eval()
    loss = F.cross_entropy(model(seq).flatten(0, 1), state.flatten())
    model.train()
    return loss.item()


def main():
    torch.manual_seed(9)
    gen = torch.Generator().manual_seed(9)
    model = StructureNet()
    opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
    held_out = proteins(128, gen)
    for epoch in range(5):
        for _ in range(25):
            seq, state = proteins(32, gen)
            loss = F.cross_entropy(model(seq).flatten(0, 1), state.flatten())
            opt.zero_grad()
            loss.backward()
            opt.step()
        first, again = validate(model, *held_out), validate(model, *held_out)
        print(f"epoch {epoch} train {loss.item():.4f} held out {first:.5f} again {again:.5f}")


if __name__ == "__main__":
    main()
