"""Tiny language model with tied input/output embeddings, micro-batches of different lengths and a short last window.

TRUTH: correct: lm_head.weight is the embedding's parameter on purpose (listed once by parameters()); gradients are meant to add
up over the micro-batches of a window, each loss is a sum divided by the token count of the whole window, so the step equals
that of one big batch also in the shorter last window; zero_grad at the window's end is where it belongs.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

PAD = 0


class Vocab:
    def __init__(self, sentences):
        self.itos = ["<pad>", "<bos>", "<eos>"] + sorted({w for s in sentences for w in s.split()})
        self.stoi = {w: i for i, w in enumerate(self.itos)}

    def encode(self, s):
        return torch.tensor([1] + [self.stoi[w] for w in s.split()] + [2])


def make_sentences(n, seed):
    g = torch.Generator().manual_seed(seed)
    pick = lambda xs: xs[int(torch.randint(0, len(xs), (1,), generator=g))]
    subj = {"the cat": "sleeps", "the dogs": "bark", "a bird": "sings", "two fish": "swim"}
    adv = ["", " today", " in the garden", " very quietly in the old house", " again and again"]
    return [f"{s} {subj[s]}{pick(adv)}" for s in (pick(list(subj)) for _ in range(n))]


class TinyLM(nn.Module):
    def __init__(self, n_vocab, dim=32, tie_weights=True):
        super().__init__()
        self.tok = nn.Embedding(n_vocab, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.drop = nn.Dropout(0.1)
        self.lm_head = nn.Linear(dim, n_vocab, bias=False)
        nn.init.normal_(self.tok.weight, std=0.1)
        if tie_weights:
            self.lm_head.weight = self.tok.weight

    def forward(self, idx):
        h, _ = self.rnn(self.drop(self.tok(idx)))
        return self.lm_head(self.drop(h))


def pad(batch):
    ids = nn.utils.rnn.pad_sequence(batch, batch_first=True, padding_value=PAD)
    return ids[:, :-1], ids[:, 1:]


def windows(data, micro_bs, accum, gen):
    perm = torch.randperm(len(data), generator=gen).tolist()
    micro = [pad([data[i] for i in perm[k:k + micro_bs]]) for k in range(0, len(perm), micro_bs)]
    for k in range(0, len(micro), accum):
        yield micro[k:k + accum]


def train_epoch(model, opt, sched, data, gen, micro_bs=6, accum=4):
    model.train()
    total, tokens = 0.0, 0
    for window in windows(data, micro_bs, accum, gen):
        n = sum(int((y != PAD).sum()) for _, y in window)
        for x, y in window:
            logits = model(x)
            loss = F.cross_entropy(logits.flatten(0, 1), y.flatten(), ignore_index=PAD, reduction="sum") / n
            loss.backward()
            total += loss.item() * n
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        sched.step()
        opt.zero_grad(set_to_none=True)
        tokens += n
    return total / tokens


@torch.no_grad()
def perplexity(model, data):
    model.eval()
    x, y = pad(data)
    logits = model(x)
    return F.cross_entropy(logits.flatten(0, 1), y.flatten(), ignore_index=PAD).exp().item()


def main():
    torch.manual_seed(0)
    sents = make_sentences(190, 0)
    vocab = Vocab(sents)
    train = [vocab.encode(s) for s in sents[:150]]
    valid = [vocab.encode(s) for s in sents[150:]]
    model = TinyLM(len(vocab.itos))
    decay = [p for p in model.parameters() if p.dim() >= 2]
    no_decay = [p for p in model.parameters() if p.dim() < 2]
    opt = torch.optim.AdamW([{"params": decay, "weight_decay": 0.01}, {"params": no_decay, "weight_decay": 0.0}], lr=1e-2)
    epochs = 12
    steps = epochs * 7
    sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: min(1.0, (s + 1) / 10) * max(0.05, 1 - s / steps))
    gen = torch.Generator().manual_seed(1)
    print("parameters:", sum(p.numel() for p in model.parameters()), "| ppl before", round(perplexity(model, valid), 2))
    for epoch in range(1, epochs + 1):
        loss = train_epoch(model, opt, sched, train, gen)
        if epoch % 3 == 0:
            print(f"epoch {epoch:2d} loss/token {loss:.4f} valid ppl {perplexity(model, valid):.3f}")


if __name__ == "__main__":
    main()
