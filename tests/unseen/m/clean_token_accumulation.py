"""RIGHT. Gradient accumulation over micro-batches of different token counts: the losses are summed, backward is called many times, and the gradients are divided in place once at the end of a window.
TRUTH: dividing the accumulated sum by the number of tokens of the window gives exactly the gradient of the mean over all its tokens; the last, shorter window is flushed too, clipping and scheduler happen once per update. The program checks the gradient against the full batch.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

PAD = -100
CFG = dict(vocab=25, dim=24, micro=8, accum=4, epochs=3, lr=1e-2, clip=1.0)


class Tagger(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.emb = nn.Embedding(cfg["vocab"], cfg["dim"])
        self.rnn = nn.GRU(cfg["dim"], cfg["dim"], batch_first=True)
        self.out = nn.Linear(cfg["dim"], 4)

    def forward(self, ids):
        h, _ = self.rnn(self.emb(ids))
        return self.out(h)


def make_sentences(n, vocab):
    sentences = []
    for _ in range(n):
        length = int(torch.randint(3, 20, (1,)))
        ids = torch.randint(1, vocab, (length,))
        tags = ids % 4
        sentences.append((ids, tags))
    return sentences


def collate(chunk):
    length = max(len(i) for i, _ in chunk)
    ids = torch.zeros(len(chunk), length, dtype=torch.long)
    tags = torch.full((len(chunk), length), PAD)
    for row, (i, t) in enumerate(chunk):
        ids[row, :len(i)] = i
        tags[row, :len(t)] = t
    return ids, tags


def micro_batches(sentences, size):
    return [collate(sentences[i:i + size]) for i in range(0, len(sentences), size)]


def summed_loss(model, ids, tags):
    logits = model(ids)
    return F.cross_entropy(logits.flatten(0, 1), tags.flatten(), ignore_index=PAD, reduction="sum")


def windows(items, size):
    for i in range(0, len(items), size):
        yield items[i:i + size]


def accumulate(model, window):
    total, tokens = 0.0, 0
    for ids, tags in window:
        loss = summed_loss(model, ids, tags)
        loss.backward()
        total += loss.item()
        tokens += int((tags != PAD).sum())
    for p in model.parameters():
        if p.grad is not None:
            p.grad.div_(tokens)
    return total / tokens


def check_against_full_batch(model, window):
    model.zero_grad()
    accumulate(model, window)
    accumulated = [p.grad.clone() for p in model.parameters()]
    losses = [summed_loss(model, i, t) for i, t in window]
    tokens = sum(int((t != PAD).sum()) for _, t in window)
    full = torch.autograd.grad(sum(losses) / tokens, list(model.parameters()))
    model.zero_grad()
    return max((a - b).abs().max().item() for a, b in zip(accumulated, full))


def main():
    sentences = make_sentences(208, CFG["vocab"])
    model = Tagger(CFG)
    batches = micro_batches(sentences, CFG["micro"])
    print(f"largest difference to the full batch: {check_against_full_batch(model, batches[:4]):.1e}")
    updates = CFG["epochs"] * -(-len(batches) // CFG["accum"])
    optimizer = torch.optim.AdamW(model.parameters(), lr=CFG["lr"])
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, updates)
    done = 0
    for epoch in range(CFG["epochs"]):
        for window in windows(batches, CFG["accum"]):
            loss = accumulate(model, window)
            nn.utils.clip_grad_norm_(model.parameters(), CFG["clip"])
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
            done += 1
        print(f"epoch {epoch} last window loss {loss:.4f} lr {scheduler.get_last_lr()[0]:.5f}")
    print("updates planned and done:", updates, done)


if __name__ == "__main__":
    main()
