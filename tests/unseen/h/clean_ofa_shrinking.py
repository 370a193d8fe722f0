"""CORRECT. Progressive shrinking with a soft-target loss: softmax on the teacher's logits only, log_softmax inside the loss, gradients of several sampled sub-networks accumulated before one step (asked: one softmax too many? no).
THREAD: https://github.com/mit-han-lab/once-for-all/issues/5
"""
import copy
import random

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
random.seed(0)

N_CLASS, IN_DIM, MAX_WIDTH = 6, 20, 64


def cross_entropy_loss_with_soft_target(pred, soft_target):
    logsoftmax = nn.LogSoftmax(dim=1)
    return torch.mean(torch.sum(-soft_target * logsoftmax(pred), 1))


class DynamicLinear(nn.Module):
    """uses the first rows and columns of one shared weight"""

    def __init__(self, max_in, max_out):
        super().__init__()
        self.linear = nn.Linear(max_in, max_out)
        self.active_out = max_out

    def forward(self, x):
        weight = self.linear.weight[:self.active_out, :x.size(1)]
        return F.linear(x, weight, self.linear.bias[:self.active_out])


class OFANet(nn.Module):
    def __init__(self, depth=3):
        super().__init__()
        self.stem = DynamicLinear(IN_DIM, MAX_WIDTH)
        self.blocks = nn.ModuleList([DynamicLinear(MAX_WIDTH, MAX_WIDTH) for _ in range(depth)])
        self.classifier = DynamicLinear(MAX_WIDTH, N_CLASS)
        self.runtime_depth = depth

    def set_active_subnet(self, width, depth):
        self.stem.active_out = width
        for b in self.blocks:
            b.active_out = width
        self.runtime_depth = depth

    def sample_active_subnet(self):
        width, depth = random.choice([16, 32, 48, 64]), random.choice([1, 2, 3])
        self.set_active_subnet(width, depth)
        return width, depth

    def forward(self, x):
        x = F.relu(self.stem(x))
        for b in self.blocks[:self.runtime_depth]:
            x = x + F.relu(b(x))
        return self.classifier(x)


centers = torch.randn(N_CLASS, IN_DIM)


def batch(n):
    y = torch.randint(0, N_CLASS, (n,))
    return centers[y] * (0.5 + torch.rand(n, 1)) + 0.9 * torch.randn(n, IN_DIM), y


test_x, test_y = batch(1000)


def accuracy(net):
    with torch.no_grad():
        return (net(test_x).argmax(1) == test_y).float().mean().item()


def train_teacher(steps=200):
    net = OFANet()
    optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
    for _ in range(steps):
        x, y = batch(64)
        loss = F.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return net


teacher = train_teacher()
print('full net acc %.3f' % accuracy(teacher))
dynamic_net = copy.deepcopy(teacher)
teacher.eval()
optimizer = torch.optim.SGD(dynamic_net.parameters(), lr=0.02, momentum=0.9, nesterov=True)
kd_ratio, dynamic_batch_size = 1.0, 2

for it in range(1, 201):
    images, labels = batch(64)
    with torch.no_grad():
        soft_logits = teacher(images).detach()
        soft_label = F.softmax(soft_logits, dim=1)
    dynamic_net.zero_grad()
    for _ in range(dynamic_batch_size):
        dynamic_net.sample_active_subnet()
        output = dynamic_net(images)
        kd_loss = cross_entropy_loss_with_soft_target(output, soft_label)
        loss = kd_ratio * kd_loss + F.cross_entropy(output, labels)
        loss = loss * (2 / (kd_ratio + 1))
        loss.backward()
    optimizer.step()
    if it % 50 == 0:
        accs = []
        for width, depth in [(16, 1), (32, 2), (64, 3)]:
            dynamic_net.set_active_subnet(width, depth)
            accs.append('%d/%d %.3f' % (width, depth, accuracy(dynamic_net)))
        print('iter %d loss %.3f  %s' % (it, loss.item(), '  '.join(accs)))
