"""RIGHT. Mean teacher for a few labels: the teacher is never in an optimizer, is updated in place, and validation swaps the averaged weights in and out.
TRUTH: the teacher gets its weights by lerp_ under no_grad and its target is a constant by design; the swap keeps clones of the raw weights and copies them back in place, so the optimizer goes on with the same tensors; batch norm buffers are copied (integers too).
"""
import copy
from contextlib import contextmanager

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


def make_net():
    return nn.Sequential(nn.Linear(2, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 2))


def two_moons(n):
    y = torch.randint(0, 2, (n,))
    a = torch.rand(n) * 3.1416
    x = torch.stack([torch.cos(a), torch.sin(a)], 1)
    x[y == 1] = torch.tensor([1.0, 0.4]) - x[y == 1]
    return x + 0.08 * torch.randn(n, 2), y


class MeanTeacher:
    def __init__(self, student, decay=0.95):
        self.student = student
        self.teacher = copy.deepcopy(student).requires_grad_(False)
        self.decay = decay
        self.steps = 0

    @torch.no_grad()
    def update(self):
        self.steps += 1
        decay = min(self.decay, 1 - 1 / (self.steps + 1))
        for t, s in zip(self.teacher.parameters(), self.student.parameters()):
            t.lerp_(s, 1 - decay)
        for t, s in zip(self.teacher.buffers(), self.student.buffers()):
            t.copy_(s)

    @contextmanager
    def averaged_weights(self):
        live = self.student.state_dict()
        backup = {k: v.clone() for k, v in live.items()}
        self.student.load_state_dict(self.teacher.state_dict())
        try:
            yield self.student
        finally:
            self.student.load_state_dict(backup)


def jitter(x):
    return x + 0.05 * torch.randn_like(x)


def rampup(step, length=30):
    return min(1.0, step / length) ** 2


@torch.no_grad()
def accuracy(net, x, y):
    was_training = net.training
    net.eval()
    acc = (net(x).argmax(1) == y).float().mean().item()
    net.train(was_training)
    return acc


def main():
    xl, yl = two_moons(16)
    xu, _ = two_moons(400)
    xv, yv = two_moons(300)
    mt = MeanTeacher(make_net())
    mt.teacher.train()
    opt = torch.optim.Adam(mt.student.parameters(), lr=1e-2)
    for step in range(60):
        batch = xu[torch.randint(0, len(xu), (48,))]
        inputs = torch.cat([jitter(xl), jitter(batch)])
        logits = mt.student(inputs)
        with torch.no_grad():
            bn_state = [b.clone() for b in mt.teacher.buffers()]
            target = mt.teacher(torch.cat([jitter(xl), jitter(batch)])).softmax(1)
            for b, kept in zip(mt.teacher.buffers(), bn_state):
                b.copy_(kept)
        supervised = F.cross_entropy(logits[:len(xl)], yl)
        consistency = (logits.softmax(1) - target).pow(2).sum(1).mean()
        loss = supervised + 5.0 * rampup(step) * consistency
        opt.zero_grad()
        loss.backward()
        opt.step()
        mt.update()
        if step % 15 == 14:
            raw = accuracy(mt.student, xv, yv)
            with mt.averaged_weights() as net:
                avg = accuracy(net, xv, yv)
            assert raw == accuracy(mt.student, xv, yv)
            print(f"step {step + 1} loss {loss.item():.4f} raw {raw:.3f} averaged {avg:.3f}")


if __name__ == "__main__":
    main()
