# kind: copy_without_buffers
"""Mean teacher: semi-supervised classification of machine vibrations."""
import copy

import torch
import torch.nn.functional as F
from torch import nn


def vibrations(n, width=64, classes=4):
    t = torch.linspace(0, 1, width)
    y = torch.randint(0, classes, (n,))
    freq = 3.0 + 2.5 * y.float()[:, None]
    amp = 4.0 + 2.0 * torch.rand(n, 1)
    x = amp * torch.sin(2 * torch.pi * freq * t + 6.28 * torch.rand(n, 1)) + 3.0
    return (x + torch.randn(n, width)).unsqueeze(1), y


class VibrationNet(nn.Module):
    def __init__(self, classes=4, width=16):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv1d(1, width, 9, stride=2, bias=False),
            nn.BatchNorm1d(width),
            nn.ReLU(),
            nn.Conv1d(width, 2 * width, 5, stride=2, bias=False),
            nn.BatchNorm1d(2 * width),
            nn.ReLU(),
        )
        self.fc = nn.Linear(2 * width, classes)

    def forward(self, x):
        return self.fc(self.body(x).mean(dim=2))


class Teacher:
    """Exponential moving average of a student."""

    def __init__(self, student, decay=0.95):
        self.net = copy.deepcopy(student).eval()
        for p in self.net.parameters():
            p.requires_grad_(False)
        self.decay = decay

    @torch.no_grad()
    def follow(self, student, step):
        decay = min(self.decay, 1 - 1 / (step + 1))
        own, other = self.net.state_dict(), student.state_dict()
        for name, mine in own.items():
            if mine.is_floating_point():
                mine.lerp_(other[name], 1 - decay)
            else:
                mine.copy_(other[name])

    @torch.no_grad()
    def predict(self, x):
        return self.net(x)


def augment(x):
    return torch.roll(x, int(torch.randint(-5, 6, (1,))), dims=2) + 0.2 * torch.randn_like(x)


@torch.no_grad()
def accuracy(net, x, y):
    was_training = net.training
    net.eval()
    acc = (net(x).argmax(1) == y).float().mean().item()
    net.train(was_training)
    return acc


def main():
    torch.manual_seed(0)
    x_lab, y_lab = vibrations(80)
    x_free, _ = vibrations(320)
    x_test, y_test = vibrations(200)
    student = VibrationNet()
    teacher = Teacher(student)
    opt = torch.optim.Adam(student.parameters(), lr=3e-3)
    for step in range(120):
        lab = torch.randint(0, len(x_lab), (24,))
        free = torch.randint(0, len(x_free), (48,))
        logits = student(augment(torch.cat([x_lab[lab], x_free[free]])))
        target = teacher.predict(augment(x_free[free])).softmax(dim=1)
        ramp = min(1.0, step / 60)
        consistency = F.mse_loss(logits[24:].softmax(dim=1), target)
        loss = F.cross_entropy(logits[:24], y_lab[lab]) + ramp * consistency
        opt.zero_grad()
        loss.backward()
        opt.step()
        teacher.follow(student, step)
        if step % 30 == 29:
            s, t = accuracy(student, x_test, y_test), accuracy(teacher.net, x_test, y_test)
            print(f"step {step + 1} loss {loss.item():.3f} student {s:.3f} teacher {t:.3f}")


main()
