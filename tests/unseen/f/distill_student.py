"""What the user sees: the distillation (soft) loss is exactly 0 in all the epochs, the student is not better than when I
train it with the hard labels alone.

TRUTH: the student's soft log-probabilities are computed from large_logits (the teacher) instead of the student's output, so
the KL divergence is 0 and has no gradient. Fix: log_softmax(output / temperature).
THREAD: https://github.com/labmlai/annotated_deep_learning_paper_implementations/issues/66 "Small error in distillation"
"""
import torch
import torch.nn as nn
import torch.nn.functional as F


class LargeModel(nn.Module):
    def __init__(self, n_in=20, n_classes=6):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(n_in, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(),
                                 nn.Linear(128, n_classes))

    def forward(self, x):
        return self.net(x)


class SmallModel(nn.Module):
    def __init__(self, n_in=20, n_classes=6):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(n_in, 24), nn.ReLU(), nn.Linear(24, n_classes))

    def forward(self, x):
        return self.net(x)


class Configs:
    temperature = 4.
    soft_targets = 100.
    label_loss = 0.5

    def __init__(self, large, small):
        self.large = large
        self.small = small
        self.kl_div_loss = nn.KLDivLoss(log_target=True)
        self.loss_func = nn.CrossEntropyLoss()
        self.optimizer = torch.optim.Adam(small.parameters(), lr=1e-3)

    def step(self, data, target):
        with torch.no_grad():
            large_logits = self.large(data)
        output = self.small(data)

        soft_targets = F.log_softmax(large_logits / self.temperature, dim=-1)
        soft_prob = F.log_softmax(large_logits / self.temperature, dim=-1)  # CULPRIT
        soft_targets_loss = self.kl_div_loss(soft_prob, soft_targets)
        label_loss = self.loss_func(output, target)
        loss = self.soft_targets * soft_targets_loss + self.label_loss * label_loss

        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return soft_targets_loss.item(), label_loss.item()


def teacher_fit(model, data, target, epochs=60):
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    for _ in range(epochs):
        for i in range(0, len(data), 200):
            loss = F.cross_entropy(model(data[i:i + 200]), target[i:i + 200], label_smoothing=0.1)
            opt.zero_grad()
            loss.backward()
            opt.step()


def accuracy(model, x, y):
    with torch.no_grad():
        return (model(x).argmax(1) == y).float().mean().item()


def main():
    torch.manual_seed(0)
    w = torch.randn(20, 6)
    label = lambda x: (x @ w + (x.roll(1, 1) * x) @ w.flip(0) * 0.7).argmax(1)
    x, xt = torch.randn(4000, 20), torch.randn(1500, 20)
    y, yt = label(x), label(xt)
    large, small = LargeModel(), SmallModel()
    teacher_fit(large, x, y)
    large.eval()
    print('teacher accuracy %.3f' % accuracy(large, xt, yt))
    conf = Configs(large, small)
    noisy = torch.where(torch.rand(600) < 0.45, torch.randint(0, 6, (600,)), y[:600])
    for epoch in range(60):
        perm = torch.randperm(600)
        logs = [conf.step(x[perm[i:i + 50]], noisy[perm[i:i + 50]]) for i in range(0, 600, 50)]
        if epoch % 10 == 9:
            soft, hard = (sum(v) / len(v) for v in zip(*logs))
            print('epoch %d soft loss %.6f label loss %.4f student accuracy %.3f' % (epoch, soft, hard, accuracy(small, xt, yt)))


main()
