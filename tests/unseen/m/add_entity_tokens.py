"""WRONG. Fine-tuning a small LM after adding new entity tokens: the loss on the new tokens hardly falls, and the embedding table the
model uses is unchanged to the last bit.
TRUTH: the optimizer is built before resize_token_embeddings, which replaces the embedding by a new module, so it updates the old one;
resize first, then build the optimizer.
THREAD: https://github.com/huggingface/transformers/pull/3532
"""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Tokenizer:
    def __init__(self, words):
        self.itos = list(words)
        self.stoi = {w: i for i, w in enumerate(self.itos)}

    def add_tokens(self, tokens):
        for t in tokens:
            if t not in self.stoi:
                self.stoi[t] = len(self.itos)
                self.itos.append(t)

    def __len__(self):
        return len(self.itos)

    def encode(self, text):
        return [self.stoi[w] for w in text.split()]


class TinyLM(nn.Module):
    def __init__(self, vocab_size, dim=24, hidden=48, num_labels=6):
        super().__init__()
        self.wte = nn.Embedding(vocab_size, dim)
        self.rnn = nn.GRU(dim, hidden, batch_first=True)
        self.head = nn.Linear(hidden, num_labels)

    def resize_token_embeddings(self, new_num_tokens):
        old = self.wte
        new = nn.Embedding(new_num_tokens, old.embedding_dim)
        nn.init.normal_(new.weight, std=0.02)
        n = min(old.num_embeddings, new_num_tokens)
        new.weight.data[:n] = old.weight.data[:n]
        self.wte = new
        return new

    def forward(self, input_ids):
        return self.head(self.rnn(self.wte(input_ids))[0][:, -1])


def get_optimizer(model, lr, weight_decay=0.01):
    no_decay = ("bias", "wte")
    decay = [p for n, p in model.named_parameters() if not any(k in n for k in no_decay)]
    rest = [p for n, p in model.named_parameters() if any(k in n for k in no_decay)]
    groups = [{"params": decay, "weight_decay": weight_decay}, {"params": rest, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=lr)


def make_dataset(tokenizer, names, attributes, n):
    ids, labels = [], []
    for _ in range(n):
        i = int(torch.randint(0, len(names), ()))
        filler = "the " if torch.rand(()) < 0.5 else "a "
        ids.append(tokenizer.encode(filler + names[i] + " is a"))
        labels.append(attributes[i])
    return torch.tensor(ids), torch.tensor(labels)


def run_epoch(model, data, optimizer=None, batch_size=32):
    ids, labels = data
    model.train(optimizer is not None)
    total, hits = 0.0, 0
    order = torch.randperm(len(ids)) if optimizer else torch.arange(len(ids))
    with torch.set_grad_enabled(optimizer is not None):
        for idx in order.split(batch_size):
            logits = model(ids[idx])
            loss = F.cross_entropy(logits, labels[idx])
            if optimizer:
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
            total += loss.item() * len(idx)
            hits += int((logits.argmax(-1) == labels[idx]).sum())
    return total / len(ids), hits / len(ids)


def main():
    torch.manual_seed(0)
    base = ["the", "a", "is", "cat", "dog", "oak", "elm", "rose", "tulip"]
    tokenizer = Tokenizer(base)
    model = TinyLM(len(tokenizer))

    pretrain = make_dataset(tokenizer, base[3:], [0, 0, 1, 1, 2, 2], 256)
    optimizer = get_optimizer(model, lr=5e-3)
    for _ in range(4):
        loss, acc = run_epoch(model, pretrain, optimizer)
    print(f"pretraining loss {loss:.4f} acc {acc:.2f}")

    names = [f"<ent_{i}>" for i in range(40)]
    attributes = torch.randint(0, 6, (40,)).tolist()
    tokenizer.add_tokens(names)
    optimizer = get_optimizer(model, lr=5e-3)  # CULPRIT
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.9)
    model.resize_token_embeddings(len(tokenizer))
    train = make_dataset(tokenizer, names, attributes, 320)
    valid = make_dataset(tokenizer, names, attributes, 128)
    before = model.wte.weight.detach().clone()
    for epoch in range(6):
        loss, acc = run_epoch(model, train, optimizer)
        scheduler.step()
        val_loss, val_acc = run_epoch(model, valid)
        print(f"epoch {epoch} train {loss:.4f}/{acc:.2f} valid {val_loss:.4f}/{val_acc:.2f}")
    delta = (model.wte.weight - before).abs().max().item()
    print(f"largest change in the embedding table {delta:.6f}")


if __name__ == "__main__":
    main()
