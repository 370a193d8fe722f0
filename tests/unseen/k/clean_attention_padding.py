"""RIGHT. Self-written attention encoder for sequences of different length, some of them empty; word vectors are pretrained for the known words and fixed by a gradient hook, the padding row stays zero.
TRUTH: the scores are masked with the lowest finite number in place (the product saves query and key, not the scores, and softmax saves only its output), so wholly masked rows give a uniform softmax and no NaN, and are removed by the mask in the pooling; the divisor is clamped to one; the hook returns a new tensor and does not write into the gradient; Adam without weight decay leaves rows with zero gradient where they are; the pretrained rows are written under no_grad.
"""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pad_sequence

torch.manual_seed(0)

PAD, N_KNOWN, N_WORDS, DIM, HEADS = 0, 20, 30, 16, 4


class SelfAttention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.out = nn.Linear(dim, dim)

    def forward(self, x, mask):
        b, t, d = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-2, -1) / math.sqrt(d // self.heads)
        scores.masked_fill_(~mask[:, None, None, :], torch.finfo(scores.dtype).min)
        mixed = F.softmax(scores, dim=-1) @ v
        return self.out(mixed.transpose(1, 2).reshape(b, t, d))


class Classifier(nn.Module):
    def __init__(self, pretrained):
        super().__init__()
        self.embed = nn.Embedding(N_WORDS, DIM, padding_idx=PAD)
        with torch.no_grad():
            self.embed.weight[1 : N_KNOWN + 1] = pretrained
        free = torch.zeros(N_WORDS, 1)
        free[N_KNOWN + 1 :] = 1.0
        self.register_buffer("free_rows", free, persistent=False)
        self.embed.weight.register_hook(lambda grad: grad * self.free_rows)
        self.attention = SelfAttention(DIM, HEADS)
        self.norm = nn.LayerNorm(DIM)
        self.head = nn.Linear(DIM, 2)

    def forward(self, tokens):
        mask = tokens != PAD
        x = self.embed(tokens)
        x = self.norm(x + self.attention(x, mask))
        weights = mask.unsqueeze(-1).float()
        pooled = (x * weights).sum(dim=1) / weights.sum(dim=1).clamp(min=1.0)
        return self.head(pooled)


def make_data(n):
    """Label 1 if more words of the upper half occur than of the lower; empty sequences are label 0."""
    seqs, labels = [], []
    for _ in range(n):
        length = torch.randint(0, 10, (1,)).item()
        words = torch.randint(1, N_WORDS, (length,))
        seqs.append(words)
        labels.append(int((words > N_WORDS // 2).sum() > (words <= N_WORDS // 2).sum()))
    return seqs, torch.tensor(labels)


def collate(seqs):
    return pad_sequence(seqs, batch_first=True, padding_value=PAD)


@torch.no_grad()
def accuracy(model, seqs, labels):
    model.eval()
    acc = (model(collate(seqs)).argmax(dim=1) == labels).float().mean().item()
    model.train()
    return acc


def main():
    pretrained = torch.randn(N_KNOWN, DIM) * 0.5
    model = Classifier(pretrained)
    train_seqs, train_labels = make_data(320)
    test_seqs, test_labels = make_data(80)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(6):
        order = torch.randperm(len(train_seqs)).tolist()
        total = 0.0
        for i in range(0, len(order), 32):
            pick = order[i : i + 32]
            loss = F.cross_entropy(model(collate([train_seqs[j] for j in pick])), train_labels[pick])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(pick)
        print(f"epoch {epoch}  loss {total / len(order):.4f}  test accuracy {accuracy(model, test_seqs, test_labels):.3f}")
    weight = model.embed.weight.detach()
    print("known rows fixed:", torch.equal(weight[1 : N_KNOWN + 1], pretrained), " padding row zero:", bool((weight[PAD] == 0).all()))


if __name__ == "__main__":
    main()
