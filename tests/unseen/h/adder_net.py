"""WRONG. loss.backward() raises "function adderBackward returned an incorrect number of gradients (expected 2, got 1)".
TRUTH: backward of the custom function computes both gradients but has no return statement; add `return grad_W_col, grad_X_col` after its last line.
THREAD: https://github.com/huawei-noah/AdderNet/issues/21
"""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.autograd import Function

torch.manual_seed(0)


class adder(Function):
    @staticmethod
    def forward(ctx, W_col, X_col):
        ctx.save_for_backward(W_col, X_col)
        output = -(W_col.unsqueeze(2) - X_col.unsqueeze(0)).abs().sum(1)
        return output

    @staticmethod
    def backward(ctx, grad_output):
        W_col, X_col = ctx.saved_tensors
        grad_W_col = ((X_col.unsqueeze(0) - W_col.unsqueeze(2)) * grad_output.unsqueeze(1)).sum(2)
        grad_W_col = grad_W_col / grad_W_col.norm(p=2).clamp(min=1e-12) * math.sqrt(
            W_col.size(1) * W_col.size(0)) / 5
        grad_X_col = (-(X_col.unsqueeze(0) - W_col.unsqueeze(2)).clamp(-1, 1) *
                      grad_output.unsqueeze(1)).sum(0)  # CULPRIT


def adder2d_function(X, W, stride=1, padding=0):
    n_filters, d_filter, h_filter, w_filter = W.size()
    n_x, d_x, h_x, w_x = X.size()

    h_out = int((h_x - h_filter + 2 * padding) / stride + 1)
    w_out = int((w_x - w_filter + 2 * padding) / stride + 1)

    X_col = F.unfold(X.view(1, -1, h_x, w_x), h_filter, dilation=1, padding=padding,
                     stride=stride).view(n_x, -1, h_out * w_out)
    X_col = X_col.permute(1, 2, 0).contiguous().view(X_col.size(1), -1)
    W_col = W.view(n_filters, -1)

    out = adder.apply(W_col, X_col)
    out = out.view(n_filters, h_out, w_out, n_x)
    out = out.permute(3, 0, 1, 2).contiguous()
    return out


class adder2d(nn.Module):
    def __init__(self, input_channel, output_channel, kernel_size, stride=1, padding=0, bias=False):
        super(adder2d, self).__init__()
        self.stride = stride
        self.padding = padding
        self.adder = nn.Parameter(torch.randn(output_channel, input_channel, kernel_size, kernel_size))
        self.bias = bias
        if bias:
            self.b = nn.Parameter(torch.zeros(output_channel))

    def forward(self, x):
        output = adder2d_function(x, self.adder, self.stride, self.padding)
        if self.bias:
            output = output + self.b.unsqueeze(0).unsqueeze(2).unsqueeze(3)
        return output


class Net(nn.Module):
    def __init__(self, num_classes=4):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(8)
        self.conv2 = adder2d(8, 12, 3, stride=2, padding=1)
        self.bn2 = nn.BatchNorm2d(12)
        self.fc = nn.Linear(12, num_classes)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        x = F.relu(self.bn2(self.conv2(x)))
        return self.fc(x.mean((2, 3)))


templates = torch.randn(4, 1, 8, 8)


def cifar_like(n):
    label = torch.randint(0, 4, (n,))
    return templates[label] + 0.4 * torch.randn(n, 1, 8, 8), label


net = Net()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)


def train(epoch, iters=40):
    net.train()
    for i in range(iters):
        images, labels = cifar_like(32)
        optimizer.zero_grad()
        output = net(images)
        loss = criterion(output, labels)
        loss.backward()
        optimizer.step()
    print('Train - Epoch %d, Loss: %f' % (epoch, loss.item()))


for e in range(1, 5):
    train(e)
