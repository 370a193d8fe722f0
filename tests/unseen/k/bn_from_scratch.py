"""WRONG. My own BatchNorm2d (nothing inherited from nn.BatchNorm) works for the first batch; on the second batch
loss.backward() says "Trying to backward through the graph a second time". retain_graph=True only gives another error.
TRUTH: blend() keeps the autograd history of the old running statistics, so the graph of step n hangs on that of step n-1.
The old value has to enter as a constant: `self.momentum * old.detach() + (1.0 - self.momentum) * new`.
THREAD: https://discuss.pytorch.org/t/implementing-batchnorm-in-pytorch-problem-with-updating-self-running-mean-and-self-running-var/49314/11
"""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import uniform

torch.manual_seed(0)


class BatchNorm(nn.Module):
    """4D input (mini_batch_size, channel, w, h), normalises with exponentially averaged statistics."""

    def __init__(self, insize, momentum=0.3, epsilon=1e-05):
        super(BatchNorm, self).__init__()
        self.momentum = momentum
        self.insize = insize
        self.epsilon = epsilon

        U = uniform.Uniform(torch.tensor([0.5]), torch.tensor([1.0]))
        self.weight = nn.Parameter(U.sample(torch.Size([self.insize])).view(self.insize))
        self.bias = nn.Parameter(torch.zeros(self.insize))
        self.register_buffer('running_mean', torch.zeros(self.insize))
        self.register_buffer('running_var', torch.ones(self.insize))

    def blend(self, old, new):
        return self.momentum * old + (1.0 - self.momentum) * new  # CULPRIT

    def forward(self, input):
        if self.training:
            n = input.numel() / input.size(1)
            mean = input.mean([0, 2, 3])  # along channel axis
            var = input.var([0, 2, 3], unbiased=False)
            self.running_mean = self.blend(self.running_mean, mean)
            self.running_var = self.blend(self.running_var, var * n / (n - 1))

        mean = self.running_mean.view(1, self.insize, 1, 1)
        var = self.running_var.view(1, self.insize, 1, 1)
        current = (input - mean) / torch.sqrt(var + self.epsilon)
        return current * self.weight.view(1, -1, 1, 1) + self.bias.view(1, -1, 1, 1)


class Net(nn.Module):
    def __init__(self, num_classes=3):
        super(Net, self).__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1)
        self.bn1 = BatchNorm(8)
        self.conv2 = nn.Conv2d(8, 16, 3, padding=1)
        self.bn2 = BatchNorm(16)
        self.fc = nn.Linear(16, num_classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(x))), 2)
        x = F.relu(self.bn2(self.conv2(x)))
        x = F.adaptive_avg_pool2d(x, 1).flatten(1)
        return self.fc(x)


def make_split(n):
    """Horizontal, vertical and diagonal bars in noise."""
    x = 0.3 * torch.randn(n, 1, 12, 12)
    y = torch.randint(0, 3, (n,))
    for i in range(n):
        p = int(torch.randint(2, 10, (1,)))
        if y[i] == 0:
            x[i, 0, p, :] += 2.0
        elif y[i] == 1:
            x[i, 0, :, p] += 2.0
        else:
            x[i, 0] += 2.0 * torch.eye(12).roll(p, 0)
    return x, y


@torch.no_grad()
def accuracy(net, x, y):
    net.eval()
    acc = (net(x).argmax(1) == y).float().mean().item()
    net.train()
    return acc


def main():
    train_x, train_y = make_split(192)
    val_x, val_y = make_split(96)
    net = Net()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=6, gamma=0.5)

    for epoch in range(8):
        running_loss = 0.0
        perm = torch.randperm(len(train_x))
        for idx in perm.split(32):
            optimizer.zero_grad()
            loss = F.cross_entropy(net(train_x[idx]), train_y[idx])
            loss.backward()
            optimizer.step()
            running_loss += loss.item() * len(idx)
        scheduler.step()
        print('epoch %d loss %.3f val acc %.2f' % (epoch, running_loss / len(train_x), accuracy(net, val_x, val_y)))


if __name__ == '__main__':
    main()
