"""huawei-noah/AdderNet#21
Symptom: RuntimeError: function adderBackward returned an incorrect number of gradients (expected 2, got 1)
EXPECT: raises RuntimeError
TRUTH: backward returns the gradient of the weights only, it must return one per input; return grad_W_col, grad_X_col.
"""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.autograd import Function
from torch.utils.data import DataLoader, TensorDataset


class adder(Function):
    @staticmethod
    def forward(ctx, W_col, X_col):
        ctx.save_for_backward(W_col, X_col)
        return -(W_col.unsqueeze(2) - X_col.unsqueeze(0)).abs().sum(1)

    @staticmethod
    def backward(ctx, grad_output):
        W_col, X_col = ctx.saved_tensors
        diff = X_col.unsqueeze(0) - W_col.unsqueeze(2)
        grad_W_col = (diff * grad_output.unsqueeze(1)).sum(2)
        grad_W_col = grad_W_col / grad_W_col.norm(p=2).clamp(min=1e-12) * math.sqrt(W_col.numel()) / 5
        grad_X_col = (-diff.clamp(-1, 1) * grad_output.unsqueeze(1)).sum(0)
        return grad_W_col  # CULPRIT


class adder2d(nn.Module):
    def __init__(self, input_channel, output_channel, kernel_size, stride=1, padding=0):
        super().__init__()
        self.stride, self.padding, self.kernel_size = stride, padding, kernel_size
        self.output_channel = output_channel
        self.adder = nn.Parameter(torch.randn(output_channel, input_channel, kernel_size, kernel_size))

    def forward(self, x):
        n, _, h, w = x.shape
        h_out = (h - self.kernel_size + 2 * self.padding) // self.stride + 1
        w_out = (w - self.kernel_size + 2 * self.padding) // self.stride + 1
        X_col = F.unfold(x, self.kernel_size, padding=self.padding, stride=self.stride)
        X_col = X_col.permute(1, 2, 0).reshape(X_col.size(1), -1)
        W_col = self.adder.view(self.output_channel, -1)
        out = adder.apply(W_col, X_col)
        return out.view(self.output_channel, h_out, w_out, n).permute(3, 0, 1, 2).contiguous()


class AdderNet(nn.Module):
    def __init__(self, num_classes):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(8)
        self.add2 = adder2d(8, 12, 3, stride=2, padding=1)
        self.bn2 = nn.BatchNorm2d(12)
        self.fc = nn.Linear(12 * 9, num_classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(x))), 2)
        x = F.relu(self.bn2(self.add2(x)))
        return self.fc(x.flatten(1))


def make_digits(n, protos):
    y = torch.randint(0, len(protos), (n,))
    return TensorDataset(protos[y] + 0.6 * torch.randn(n, 1, 12, 12), y)


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    protos = torch.randn(5, 1, 12, 12)
    data_train_loader = DataLoader(make_digits(320, protos), batch_size=32, shuffle=True)
    x_test, y_test = make_digits(200, protos).tensors
    net = AdderNet(5)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)
    for epoch in range(4):
        net.train()
        for images, labels in data_train_loader:
            optimizer.zero_grad()
            loss = F.cross_entropy(net(images), labels)
            loss.backward()
            optimizer.step()
        net.eval()
        with torch.no_grad():
            acc = (net(x_test).argmax(1) == y_test).float().mean().item()
        print("Train - Epoch %d, Loss: %f, Accuracy: %f" % (epoch, loss.item(), acc))


if __name__ == "__main__":
    main()
