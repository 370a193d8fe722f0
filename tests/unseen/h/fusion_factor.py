"""WRONG. After backward the grad of the learnable factor is None and the factor keeps its initial value.
TRUTH: nn.Parameter(...) is moved by a conversion call (.cuda() in the post, here .double()) afterwards, so self.factor is a non-leaf tensor and no registered parameter; convert first, wrap last.
THREAD: https://blog.csdn.net/weixin_43751558/article/details/124036310
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Branch(nn.Module):
    def __init__(self, in_dim, out_dim):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(in_dim, 24), nn.ReLU(), nn.Linear(24, out_dim))

    def forward(self, x):
        return torch.tanh(self.net(x))


class FusionNet(nn.Module):
    """weights the branches of several sensors with one learnable factor each"""

    def __init__(self, num, in_dim, feat_dim, num_classes):
        super().__init__()
        self.branches = nn.ModuleList([Branch(in_dim, feat_dim) for _ in range(num)]).double()
        factor = torch.ones(num, requires_grad=True)
        self.factor = torch.nn.Parameter(factor).double()  # CULPRIT
        self.classifier = nn.Linear(feat_dim, num_classes).double()

    def forward(self, xs):
        weight = F.softmax(self.factor * 2, dim=0)
        fused = 0
        for w, branch, x in zip(weight, self.branches, xs):
            fused = fused + w * branch(x)
        return self.classifier(fused)


num_sensors, in_dim, num_classes = 4, 8, 3
mixing = torch.randn(num_classes, in_dim).double()
noise_level = [0.5, 3.0, 6.0, 6.0]


def sample(n):
    y = torch.randint(0, num_classes, (n,))
    xs = [mixing[y] + s * torch.randn(n, in_dim).double() for s in noise_level]
    return xs, y


train_xs, train_y = sample(600)
test_xs, test_y = sample(1000)

net = FusionNet(num_sensors, in_dim, 12, num_classes)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
criterion = nn.CrossEntropyLoss()


def test():
    net.eval()
    with torch.no_grad():
        out = net(test_xs)
        acc = (out.argmax(1) == test_y).double().mean().item()
    net.train()
    return criterion(out, test_y).item(), acc


for epoch in range(1, 31):
    perm = torch.randperm(len(train_y))
    epoch_loss = 0.0
    for i in range(0, len(perm), 50):
        j = perm[i:i + 50]
        out = net([x[j] for x in train_xs])
        loss = criterion(out, train_y[j])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        epoch_loss += loss.item()
    if epoch % 10 == 0:
        test_loss, acc = test()
        print('epoch %d train %.3f test %.3f acc %.3f factor %s' % (
            epoch, epoch_loss / 12, test_loss, acc,
            [round(v, 3) for v in net.factor.detach().tolist()]))
