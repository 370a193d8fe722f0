"""RIGHT. Mean teacher for semi-supervised classification: the teacher never gets a gradient and is written by hand.
TRUTH: the teacher is a moving average of the student, updated in place under no_grad after the optimizer step, buffers are
copied; its predictions are targets and therefore constants; only the student's parameters are in the optimizer.
"""
import copy
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Classifier(nn.Module):
    def __init__(self, d=2, width=32, classes=2):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(d, width), nn.BatchNorm1d(width), nn.ReLU(),
            nn.Linear(width, width), nn.BatchNorm1d(width), nn.ReLU(),
            nn.Dropout(0.1),
            nn.Linear(width, classes),
        )

    def forward(self, x):
        return self.net(x)


class Teacher:
    def __init__(self, student, decay):
        self.model = copy.deepcopy(student)
        self.model.requires_grad_(False)
        self.model.eval()
        self.decay = decay
        self.updates = 0

    @torch.no_grad()
    def update(self, student):
        self.updates += 1
        d = min(self.decay, self.updates / (self.updates + 1))
        for mine, theirs in zip(self.model.parameters(), student.parameters()):
            mine.mul_(d).add_(theirs, alpha=1 - d)
        for mine, theirs in zip(self.model.buffers(), student.buffers()):
            mine.copy_(theirs)

    @torch.no_grad()
    def predict(self, x):
        return F.softmax(self.model(x), dim=1)


def two_moons(n, noise=0.12):
    y = torch.randint(0, 2, (n,))
    a = torch.rand(n) * math.pi
    x = torch.stack([torch.cos(a), torch.sin(a)], dim=1)
    x = torch.where(y[:, None] == 0, x, torch.tensor([1.0, 0.5]) - x)
    return x + noise * torch.randn(n, 2), y


def ramp_up(step, length):
    phase = 1.0 - min(step, length) / length
    return math.exp(-5.0 * phase * phase)


@torch.no_grad()
def accuracy(model, x, y):
    was_training = model.training
    model.eval()
    acc = (model(x).argmax(1) == y).float().mean().item()
    model.train(was_training)
    return acc


def main():
    x, y = two_moons(400)
    labelled = torch.cat([(y == c).nonzero().flatten()[:10] for c in (0, 1)])
    xt, yt = two_moons(400)
    student = Classifier()
    teacher = Teacher(student, decay=0.95)
    optimizer = torch.optim.Adam(student.parameters(), lr=5e-3)

    for step in range(150):
        student.train()
        lab = labelled[torch.randint(0, len(labelled), (16,))]
        unl = torch.randint(0, len(x), (64,))
        batch = torch.cat([x[lab], x[unl]])
        out = student(batch + 0.05 * torch.randn_like(batch))
        target = teacher.predict(batch + 0.05 * torch.randn_like(batch))
        supervised = F.cross_entropy(out[:16], y[lab])
        consistency = F.mse_loss(F.softmax(out, dim=1), target)
        loss = supervised + 3.0 * ramp_up(step, 60) * consistency

        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        teacher.update(student)
        if step % 30 == 29:
            print('step %3d sup %.3f cons %.4f student %.3f teacher %.3f' % (
                step + 1, supervised.item(), consistency.item(),
                accuracy(student, xt, yt), accuracy(teacher.model, xt, yt)))


if __name__ == '__main__':
    main()
