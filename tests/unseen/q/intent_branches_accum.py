"""Distils one intent classifier from the four language branches of a help line, accumulating over the branches.

TRUTH: Distiller.fit runs one micro-batch per branch and steps every accum_steps micro-batches, but both optimisers'
zero_grad stand before every backward. The gradients of all branches but the last are thrown away before the step, so
only the last branch is learned and the others stay near chance. Fix: call zero_grad only after the steps (inside the
if). Drawn from tientrandinh/Revisiting-Reverse-Distillation#12.
"""
import argparse
import torch
import torch.nn as nn
import torch.nn.functional as F

BRANCHES = ["north", "coast", "lakes", "south"]
WORDS, LENGTH, INTENTS = 60, 10, 5


class Branch:
    """Utterances of one branch: an own word block, and an own mapping of its words to intents."""

    def __init__(self, number):
        self.offset = number * WORDS
        g = torch.Generator().manual_seed(100 + number)
        self.meaning = torch.randint(0, INTENTS, (WORDS,), generator=g)

    def sample(self, n, g):
        y = torch.randint(0, INTENTS, (n,), generator=g)
        w = torch.randint(0, WORDS, (n, LENGTH), generator=g)
        for k in range(INTENTS):
            own = (self.meaning == k).nonzero().squeeze(1)
            rows = (y == k).nonzero().squeeze(1)
            pick = own[torch.randint(0, len(own), (len(rows), 4), generator=g)]
            w[rows[:, None], torch.arange(4)] = pick
        return w + self.offset, y

    def teacher(self, w):
        votes = F.one_hot(self.meaning[w - self.offset], INTENTS).float().sum(1)
        return F.softmax(1.5 * votes, -1)


class Projector(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.words = nn.Embedding(WORDS * len(BRANCHES), dim)
        self.proj = nn.Linear(dim, dim)

    def forward(self, w):
        return torch.tanh(self.proj(self.words(w).mean(1)))


class Distiller:
    def __init__(self, dim=32, lr=4e-3, accum_steps=len(BRANCHES)):
        self.projector = Projector(dim)
        self.student = nn.Sequential(nn.Linear(dim, 48), nn.ReLU(), nn.Linear(48, INTENTS))
        self.opt_proj = torch.optim.Adam(self.projector.parameters(), lr=lr)
        self.opt_distill = torch.optim.Adam(self.student.parameters(), lr=lr)
        self.accum_steps = accum_steps

    def loss(self, branch, w):
        logp = F.log_softmax(self.student(self.projector(w)), -1)
        return F.kl_div(logp, branch.teacher(w), reduction="batchmean")

    def fit(self, branches, steps, batch, seed=0):
        g = torch.Generator().manual_seed(seed)
        running = 0.0
        for i in range(steps * self.accum_steps):
            branch = branches[i % len(branches)]
            w, _ = branch.sample(batch, g)
            loss = self.loss(branch, w) / self.accum_steps
            self.opt_proj.zero_grad()  # CULPRIT
            self.opt_distill.zero_grad()  # CULPRIT
            loss.backward()
            running += loss.item()
            if (i + 1) % self.accum_steps == 0:
                self.opt_proj.step()
                self.opt_distill.step()
                done = (i + 1) // self.accum_steps
                if done % 100 == 0:
                    yield done, running / 100
                    running = 0.0

    @torch.no_grad()
    def accuracy(self, branch, n=400):
        w, y = branch.sample(n, torch.Generator().manual_seed(9))
        return (self.student(self.projector(w)).argmax(1) == y).float().mean().item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=500)
    ap.add_argument("--batch", type=int, default=32)
    args = ap.parse_args()
    torch.manual_seed(0)
    branches = [Branch(i) for i in range(len(BRANCHES))]
    model = Distiller()
    for step, loss in model.fit(branches, args.steps, args.batch):
        accs = " ".join(f"{n} {model.accuracy(b):.2f}" for n, b in zip(BRANCHES, branches))
        print(f"step {step} loss {loss:.4f}  {accs}")


if __name__ == "__main__":
    main()
