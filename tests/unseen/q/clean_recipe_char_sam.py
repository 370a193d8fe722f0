"""Trains a small causal transformer on an artificial recipe language with a hand-written sharpness-aware optimiser.

TRUTH: correct. SharpStep.climb moves the weights in place along the first gradient under no_grad, remembers the moves
and clears the gradients; the second forward and backward are then taken at the moved weights, descend takes the moves
back and applies the update with these gradients, so two backward calls per step on two separate graphs are meant. The
output layer shares the embedding's weight on purpose (parameters() lists it once), padding is ignored in the loss, and
the schedule is stepped per batch.
"""
import argparse
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

PAD, START, VOCAB, LENGTH = 0, 1, 26, 24


def recipes(n, seed):
    """Steps of the form verb, amount, thing, thing..., the number of things being the amount."""
    g = torch.Generator().manual_seed(seed)
    rows = torch.full((n, LENGTH), PAD)
    for i in range(n):
        seq, thing = [START], int(torch.randint(0, 16, (1,), generator=g))
        stop = int(torch.randint(12, LENGTH + 1, (1,), generator=g))
        while len(seq) < stop:
            verb, amount = torch.randint(0, 4, (2,), generator=g).tolist()
            seq += [2 + verb, 6 + amount]
            for _ in range(amount + 1):
                thing = (thing + 1) % 16
                seq.append(10 + thing)
        rows[i, :stop] = torch.tensor(seq[:stop])
    return rows


class RecipeLM(nn.Module):
    def __init__(self, dim=48, heads=4, layers=2):
        super().__init__()
        self.token, self.place = nn.Embedding(VOCAB, dim, padding_idx=PAD), nn.Embedding(LENGTH, dim)
        nn.init.normal_(self.token.weight, std=0.1)
        layer = nn.TransformerEncoderLayer(dim, heads, 2 * dim, dropout=0.0, batch_first=True, norm_first=True)
        self.blocks = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(dim)
        self.out = nn.Linear(dim, VOCAB, bias=False)
        self.out.weight = self.token.weight
        self.register_buffer("future", torch.triu(torch.ones(LENGTH, LENGTH, dtype=torch.bool), 1))

    def forward(self, x):
        size = x.shape[1]
        h = self.token(x) + self.place.weight[:size]
        return self.out(self.norm(self.blocks(h, mask=self.future[:size, :size])))


class SharpStep:
    """Adam with decoupled decay, taken with the gradient at the top of a small ascent step."""

    def __init__(self, params, lr, rho=0.02, betas=(0.9, 0.98), decay=1e-3):
        self.params = list(params)
        self.lr, self.rho, self.betas, self.decay, self.count = lr, rho, betas, decay, 0
        self.first = [torch.zeros_like(p) for p in self.params]
        self.second = [torch.zeros_like(p) for p in self.params]
        self.moves = []

    def zero_grad(self):
        for p in self.params:
            p.grad = None

    @torch.no_grad()
    def climb(self):
        norm = torch.stack([p.grad.norm() for p in self.params]).norm() + 1e-12
        self.moves = [p.grad * (self.rho / norm) for p in self.params]
        for p, move in zip(self.params, self.moves):
            p.add_(move)
        self.zero_grad()

    @torch.no_grad()
    def descend(self):
        nn.utils.clip_grad_norm_(self.params, 1.0)
        self.count += 1
        b1, b2 = self.betas
        size = self.lr * math.sqrt(1 - b2 ** self.count) / (1 - b1 ** self.count)
        for p, move, m, v in zip(self.params, self.moves, self.first, self.second):
            p.sub_(move)
            m.lerp_(p.grad, 1 - b1)
            v.mul_(b2).addcmul_(p.grad, p.grad, value=1 - b2)
            p.mul_(1 - self.lr * self.decay).addcdiv_(m, v.sqrt().add_(1e-8), value=-size)
        self.zero_grad()


def lm_loss(model, rows):
    logits = model(rows[:, :-1])
    return F.cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten(), ignore_index=PAD)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=8)
    ap.add_argument("--batch", type=int, default=40)
    ap.add_argument("--lr", type=float, default=4e-3)
    args = ap.parse_args()
    torch.manual_seed(0)
    train, valid = recipes(1200, 1), recipes(300, 2)
    model = RecipeLM()
    opt = SharpStep(model.parameters(), args.lr)
    steps, done = args.epochs * math.ceil(len(train) / args.batch), 0
    for epoch in range(args.epochs):
        total = 0.0
        for idx in torch.randperm(len(train)).split(args.batch):
            opt.lr = args.lr * min(1.0, (done + 1) / 30) * 0.5 * (1 + math.cos(math.pi * done / steps))
            loss = lm_loss(model, train[idx])
            loss.backward()
            opt.climb()
            lm_loss(model, train[idx]).backward()
            opt.descend()
            done += 1
            total += loss.item() * len(idx) / len(train)
        with torch.no_grad():
            held = lm_loss(model, valid).item()
        print(f"epoch {epoch} loss {total:.3f} valid perplexity {math.exp(held):.2f}")


if __name__ == "__main__":
    main()
