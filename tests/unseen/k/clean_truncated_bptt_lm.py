"""RIGHT. Stateful character model with truncated back-propagation: the state is carried over segments and cut on purpose, the outputs are written in place into a preallocated tensor, embedding and output layer share one weight.
TRUTH: the state is detached at each segment border (values kept, graph cut); the indexed writes into logits touch disjoint slices that nobody saved for backward (F.linear, LayerNorm and cross entropy save other tensors, and cross entropy runs after the last write); the shared Parameter is listed once by parameters() and collects both gradients; evaluation keeps its own state and train mode is restored.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

cfg = dict(text="the quick brown fox jumps over the lazy dog. " * 40, batch=8, bptt=15, dim=32, lr=1e-2, epochs=3, clip=1.0)


def batchify(ids, batch):
    n = len(ids) // batch
    return ids[: n * batch].view(batch, n).t().contiguous()  # (time, batch)


class TiedGRULM(nn.Module):
    def __init__(self, n_vocab, dim):
        super().__init__()
        self.embed = nn.Embedding(n_vocab, dim)
        self.cell = nn.GRUCell(dim, dim)
        self.norm = nn.LayerNorm(dim)
        self.out = nn.Linear(dim, n_vocab)
        self.out.weight = self.embed.weight
        self.dim = dim
        nn.init.normal_(self.embed.weight, std=0.1)

    def init_state(self, batch):
        return torch.zeros(batch, self.dim)

    def forward(self, tokens, state):
        steps, batch = tokens.shape
        logits = torch.empty(steps, batch, self.out.out_features)
        x = self.embed(tokens)
        for t in range(steps):
            state = self.cell(x[t], state)
            logits[t] = self.out(self.norm(state))
        return logits, state


def segments(data, bptt):
    for i in range(0, len(data) - 1, bptt):
        n = min(bptt, len(data) - 1 - i)
        yield data[i : i + n], data[i + 1 : i + 1 + n]


@torch.no_grad()
def evaluate(model, data, bptt):
    was_training = model.training
    model.eval()
    state, total, count = model.init_state(data.shape[1]), 0.0, 0
    for x, y in segments(data, bptt):
        logits, state = model(x, state)
        total += F.cross_entropy(logits.flatten(0, 1), y.flatten(), reduction="sum").item()
        count += y.numel()
    model.train(was_training)
    return total / count


def main():
    chars = sorted(set(cfg["text"]))
    ids = torch.tensor([chars.index(c) for c in cfg["text"]])
    split = int(0.85 * len(ids))
    train_data, valid_data = batchify(ids[:split], cfg["batch"]), batchify(ids[split:], 2)
    model = TiedGRULM(len(chars), cfg["dim"])
    assert len(list(model.parameters())) == len({id(p) for p in model.parameters()})
    optimizer = torch.optim.Adam(model.parameters(), lr=cfg["lr"])
    print(f"before   valid {evaluate(model, valid_data, cfg['bptt']):.3f}")
    for epoch in range(cfg["epochs"]):
        state, running, n_seg = model.init_state(cfg["batch"]), 0.0, 0
        for x, y in segments(train_data, cfg["bptt"]):
            state = state.detach()
            logits, state = model(x, state)
            loss = F.cross_entropy(logits.flatten(0, 1), y.flatten())
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), cfg["clip"])
            optimizer.step()
            running += loss.item()
            n_seg += 1
        print(f"epoch {epoch}  train {running / n_seg:.3f}  valid {evaluate(model, valid_data, cfg['bptt']):.3f}")


if __name__ == "__main__":
    main()
