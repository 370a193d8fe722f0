# kind: clip_after_step
"""Character model of arithmetic strings, trained by a loop with callbacks."""
import torch
from torch import nn
import torch.nn.functional as F

CHARS = "0123456789+=;"


def corpus(n):
    pairs = torch.randint(0, 10, (n, 2)).tolist()
    text = "".join(f"{a}+{b}={a + b};" for a, b in pairs)
    return torch.tensor([CHARS.index(c) for c in text])


class CharModel(nn.Module):
    def __init__(self, hidden=48):
        super().__init__()
        self.embed = nn.Embedding(len(CHARS), 16)
        self.rnn = nn.GRU(16, hidden, batch_first=True)
        self.out = nn.Linear(hidden, len(CHARS))

    def forward(self, ids):
        return self.out(self.rnn(self.embed(ids))[0])


class Callback:
    def before_batch(self, loop): ...
    def after_backward(self, loop): ...
    def after_batch(self, loop): ...


class ClipGradients(Callback):
    def __init__(self, max_norm):
        self.max_norm, self.norms = max_norm, []

    def after_backward(self, loop):
        norm = nn.utils.clip_grad_norm_(loop.model.parameters(), self.max_norm)
        self.norms.append(norm.item())


class Report(Callback):
    def __init__(self, every):
        self.every, self.count, self.total = every, 0, 0.0

    def after_batch(self, loop):
        self.count += 1
        self.total += loop.loss.item()
        if self.count % self.every == 0:
            size = torch.stack([(p.detach() - q).norm() for p, q in zip(loop.model.parameters(), loop.previous)]).norm()
            print(f"batch {self.count}: loss {self.total / self.every:.3f} last update {size.item():.4f}")
            self.total = 0.0


class Loop:
    def __init__(self, model, optimizer, callbacks):
        self.model, self.optimizer, self.callbacks = model, optimizer, callbacks

    def emit(self, event):
        for callback in self.callbacks:
            getattr(callback, event)(self)

    def run(self, batches):
        for ids in batches:
            self.previous = [p.detach().clone() for p in self.model.parameters()]
            self.emit("before_batch")
            logits = self.model(ids[:, :-1])
            self.loss = F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
            self.optimizer.zero_grad()
            self.loss.backward()
            self.emit("after_backward")
            self.optimizer.step()
            self.emit("after_batch")


def windows(data, steps, batch=16, length=33):
    for _ in range(steps):
        start = torch.randint(len(data) - length, (batch, 1))
        yield data[start + torch.arange(length)]


torch.manual_seed(0)
model = CharModel()
optimizer = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9)
clip = ClipGradients(max_norm=0.25)
Loop(model, optimizer, [clip, Report(40)]).run(windows(corpus(3000), steps=160))
print(f"largest norm seen {max(clip.norms):.3f}")
