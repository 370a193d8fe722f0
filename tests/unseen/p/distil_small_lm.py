"""Distil a larger next-token model into a small one with soft targets and hard labels.

TRUTH: the log-probabilities of the student in the soft-target term are computed from the logits of the
teacher (large_logits) and not from the student's output, so KL(teacher || teacher) is 0 and has no
gradient: no distillation is done at all, the student only learns from the (noisy) labels. Symptom: the
printed soft loss is exactly zero from the first step, and the total's gradient equals that of the label
term alone. Fix: `F.log_softmax(output / self.temperature, dim=-1)`.
Drawn from labmlai/annotated_deep_learning_paper_implementations#66.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F


class NextToken(nn.Module):
    def __init__(self, vocab, ctx, dim, hidden, layers):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        mods, d = [], ctx * dim
        for _ in range(layers):
            mods += [nn.Linear(d, hidden), nn.ReLU()]
            d = hidden
        self.body = nn.Sequential(*mods)
        self.head = nn.Linear(d, vocab)

    def forward(self, x):
        return self.head(self.body(self.emb(x).flatten(1)))


class Configs:
    vocab: int = 16
    ctx: int = 3
    temperature: float = 3.0
    soft_targets: float = 20.0
    label_loss: float = 0.5
    teacher_steps: int = 400
    student_steps: int = 250
    label_noise: float = 0.7

    def __init__(self):
        self.gen = torch.Generator().manual_seed(11)
        self.table = torch.randint(0, self.vocab, (self.vocab,) * self.ctx, generator=self.gen)
        self.large = NextToken(self.vocab, self.ctx, 24, 128, 2)
        self.model = NextToken(self.vocab, self.ctx, 16, 128, 2)

    def batch(self, n, noisy):
        x = torch.randint(0, self.vocab, (n, self.ctx), generator=self.gen)
        y = (x[:, 0] + 3 * x[:, 1] * (x[:, 2] % 2)) % self.vocab
        if noisy:
            flip = torch.rand(n, generator=self.gen) < self.label_noise
            y = torch.where(flip, torch.randint(0, self.vocab, (n,), generator=self.gen), y)
        return x, y

    def accuracy(self, net):
        net.eval()
        x, y = self.batch(2000, noisy=False)
        with torch.no_grad():
            acc = (net(x).argmax(-1) == y).float().mean().item()
        net.train()
        return acc

    def train_teacher(self):
        opt = torch.optim.Adam(self.large.parameters(), lr=3e-3)
        for step in range(self.teacher_steps):
            x, y = self.batch(256, noisy=False)
            loss = F.cross_entropy(self.large(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(f"teacher: loss {loss.item():.4f} acc {self.accuracy(self.large):.3f}")
        self.large.eval()

    def calc_loss(self, x, y):
        with torch.no_grad():
            large_logits = self.large(x)
        output = self.model(x)
        soft_targets = F.softmax(large_logits / self.temperature, dim=-1)
        soft_prob = F.log_softmax(large_logits / self.temperature, dim=-1)  # CULPRIT
        soft_loss = F.kl_div(soft_prob, soft_targets, reduction="batchmean")
        label_loss = F.cross_entropy(output, y)
        return self.soft_targets * soft_loss + self.label_loss * label_loss, soft_loss, label_loss

    def run(self):
        self.train_teacher()
        opt = torch.optim.Adam(self.model.parameters(), lr=3e-3)
        for step in range(self.student_steps):
            x, y = self.batch(32, noisy=True)
            loss, soft, label = self.calc_loss(x, y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            if step % 50 == 0 or step == self.student_steps - 1:
                print(f"step {step:3d} loss {loss.item():.4f} soft {soft.item():.5f} "
                      f"label {label.item():.4f} student acc {self.accuracy(self.model):.3f}")


if __name__ == "__main__":
    torch.manual_seed(42)
    Configs().run()
