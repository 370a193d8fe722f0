# kind: softmax_over_batch
import torch
import torch.nn as nn
import torch.nn.functional as F


def glyphs(n, noise=0.9):
    g = torch.Generator().manual_seed(4)
    prototypes = torch.randn(10, 36, generator=g)
    y = torch.randint(0, 10, (n,))
    return prototypes[y] + noise * torch.randn(n, 36), y


def net(width):
    return nn.Sequential(nn.Linear(36, width), nn.ReLU(), nn.Linear(width, 10))


def soften(logits, temperature, log=False):
    fn = F.log_softmax if log else F.softmax
    return fn(logits / temperature, dim=0)  # CULPRIT


class DistillLoss(nn.Module):
    def __init__(self, temperature=3.0):
        super().__init__()
        self.t = temperature

    def forward(self, student, teacher):
        kl = F.kl_div(soften(student, self.t, log=True), soften(teacher, self.t), reduction="batchmean")
        return kl * self.t ** 2


def train_teacher(steps=150):
    teacher = net(96)
    opt = torch.optim.Adam(teacher.parameters(), lr=3e-3)
    for _ in range(steps):
        x, y = glyphs(64)
        opt.zero_grad()
        F.cross_entropy(teacher(x), y).backward()
        opt.step()
    return teacher.eval().requires_grad_(False)


@torch.no_grad()
def accuracy(model, x, y):
    return (model(x).argmax(1) == y).float().mean().item()


def main():
    torch.manual_seed(0)
    teacher, student = train_teacher(), net(16)
    xv, yv = glyphs(500)
    print(f"teacher {accuracy(teacher, xv, yv):.3f}")
    criterion = DistillLoss()
    opt = torch.optim.SGD(student.parameters(), lr=0.02, momentum=0.9)
    for step in range(1, 201):
        x, _ = glyphs(64)
        with torch.no_grad():
            soft = teacher(x)
        loss = criterion(student(x), soft)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 40 == 0:
            print(f"step {step} loss {loss.item():.3f} student {accuracy(student, xv, yv):.3f}")


main()
