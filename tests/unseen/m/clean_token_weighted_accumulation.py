"""RIGHT. Gradient accumulation over micro-batches of very different length, with a hook that scales the gradient of a shared table.
TRUTH: micro-batch losses are sums, the gradients are divided once by the number of tokens of the whole step, which equals one large batch (checked
at the end); zero_grad is called once per step on purpose; padding is no class (rows 1.. of the table are the head); the hook returns a new tensor; dividing .grad in place happens outside the graph.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

PAD = 0


class TiedGRU(nn.Module):
    def __init__(self, vocab, dim, table_scale=0.5):
        super().__init__()
        self.table = nn.Embedding(vocab, dim, padding_idx=PAD)
        nn.init.normal_(self.table.weight, std=dim ** -0.5)
        with torch.no_grad():
            self.table.weight[PAD].zero_()
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.norm = nn.LayerNorm(dim)
        self.hook = self.table.weight.register_hook(lambda g: table_scale * g)

    def forward(self, ids):
        h, _ = self.rnn(self.table(ids))
        return F.linear(self.norm(h), self.table.weight[1:])


def summed_loss(model, ids):
    logits = model(ids[:, :-1])
    target = ids[:, 1:] - 1
    loss = F.cross_entropy(logits.flatten(0, 1), target.flatten(), ignore_index=PAD - 1, reduction="sum")
    return loss, int((target != PAD - 1).sum())


def documents(n, vocab):
    docs = []
    for _ in range(n):
        length = int(torch.randint(4, 24, ()))
        start = int(torch.randint(0, vocab - 1, ()))
        stride = int(torch.randint(1, 3, ()))
        docs.append(1 + (start + stride * torch.arange(length)) % (vocab - 1))
    return docs


def collate(docs):
    return nn.utils.rnn.pad_sequence(docs, batch_first=True, padding_value=PAD)


def accumulate(model, micro_batches):
    total, tokens = 0.0, 0
    for ids in micro_batches:
        loss, n = summed_loss(model, ids)
        loss.backward()
        total += loss.item()
        tokens += n
    for p in model.parameters():
        if p.grad is not None:
            p.grad.div_(tokens)
    return total / tokens


def gradient_vector(model):
    return torch.cat([p.grad.flatten() for p in model.parameters()]).clone()


def compare(model, docs, size):
    model.zero_grad()
    accumulate(model, [collate(docs[i:i + size]) for i in range(0, len(docs), size)])
    small = gradient_vector(model)
    model.zero_grad()
    loss, n = summed_loss(model, collate(docs))
    (loss / n).backward()
    large = gradient_vector(model)
    model.zero_grad()
    return ((small - large).norm() / large.norm()).item()


def main():
    torch.manual_seed(0)
    vocab, micro, accum = 15, 6, 4
    model = TiedGRU(vocab, 40)
    opt = torch.optim.AdamW(model.parameters(), lr=5e-3, weight_decay=0.0)
    sched = torch.optim.lr_scheduler.LinearLR(opt, 0.2, 1.0, total_iters=10)
    for step in range(60):
        docs = documents(micro * accum, vocab)
        opt.zero_grad()
        mean = accumulate(model, [collate(docs[i:i + micro]) for i in range(0, len(docs), micro)])
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        sched.step()
        if step % 15 == 14:
            print(f"step {step + 1} loss per token {mean:.4f} grad norm {norm.item():.3f}")
    print(f"relative difference to one large batch {compare(model, documents(24, vocab), 6):.1e}")
    print(f"padding row {model.table.weight[PAD].abs().max().item():.1e}")


if __name__ == "__main__":
    main()
