"""WRONG. The forward pass is fine, the backward pass stops with AttributeError: 'GradReverseBackward' object has no attribute 'lambd'.
TRUTH: lambd is set on an instance of the Function, but apply runs with a fresh ctx that does not have it; pass lambd through apply and set ctx.lambd in forward (returning None for it).
THREAD: https://github.com/YU1ut/openset-DA/issues/8
"""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

cfg = dict(vocab=60, dim=16, hidden=24, steps=40, batch=32, lr=1e-2, max_lambda=0.5)


class GradReverse(torch.autograd.Function):
    def __init__(self, lambd):
        self.lambd = lambd  # CULPRIT

    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * -ctx.lambd


def grad_reverse(x, lambd=1.0):
    return GradReverse(lambd).apply(x)  # CULPRIT


class Encoder(nn.Module):
    def __init__(self, vocab, dim, hidden):
        super().__init__()
        self.emb = nn.EmbeddingBag(vocab, dim, mode="mean")
        self.fc = nn.Linear(dim, hidden)

    def forward(self, tokens):
        return torch.relu(self.fc(self.emb(tokens)))


class DANN(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.encoder = Encoder(cfg["vocab"], cfg["dim"], cfg["hidden"])
        self.sentiment = nn.Linear(cfg["hidden"], 2)
        self.domain = nn.Sequential(nn.Linear(cfg["hidden"], 16), nn.ReLU(), nn.Linear(16, 2))

    def forward(self, tokens, lambd):
        feat = self.encoder(tokens)
        return self.sentiment(feat), self.domain(grad_reverse(feat, lambd))


def sample_reviews(n, domain):
    label = torch.randint(0, 2, (n,))
    sentiment_words = torch.randint(0, 10, (n, 4)) + 10 * label.unsqueeze(1)
    lo = 20 if domain == 0 else 40
    filler = torch.randint(lo, lo + 20, (n, 8))
    return torch.cat([sentiment_words, filler], dim=1), label


def lambda_schedule(step, total, max_lambda):
    p = step / total
    return max_lambda * (2.0 / (1.0 + math.exp(-10 * p)) - 1.0)


@torch.no_grad()
def accuracy(model, domain):
    model.eval()
    tokens, label = sample_reviews(200, domain)
    logits, _ = model(tokens, 0.0)
    model.train()
    return (logits.argmax(1) == label).float().mean().item()


def main():
    model = DANN(cfg)
    optimizer = torch.optim.Adam(model.parameters(), lr=cfg["lr"])
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=cfg["steps"])
    for step in range(cfg["steps"]):
        lambd = lambda_schedule(step, cfg["steps"], cfg["max_lambda"])
        src, y = sample_reviews(cfg["batch"], 0)
        tgt, _ = sample_reviews(cfg["batch"], 1)

        cls_src, dom_src = model(src, lambd)
        _, dom_tgt = model(tgt, lambd)
        cls_loss = F.cross_entropy(cls_src, y)
        dom_logits = torch.cat([dom_src, dom_tgt])
        dom_label = torch.cat([torch.zeros(cfg["batch"]), torch.ones(cfg["batch"])]).long()
        dom_loss = F.cross_entropy(dom_logits, dom_label)

        optimizer.zero_grad()
        (cls_loss + dom_loss).backward()
        optimizer.step()
        scheduler.step()
        if step % 10 == 0:
            print(f"step {step:3d} cls {cls_loss.item():.3f} dom {dom_loss.item():.3f} lambda {lambd:.3f}")
    print(f"source acc {accuracy(model, 0):.3f} target acc {accuracy(model, 1):.3f}")


if __name__ == "__main__":
    main()
