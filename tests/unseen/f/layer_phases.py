"""What the user sees: I have frozen the layer fc1 in my model, but the parameters of that layer still show a small
change after the training.

TRUTH: the layer was trained before with the same Adam optimizer; its .grad tensors still exist (zeroed, not None), so
Adam's momentum keeps moving it although requires_grad is False. Fix: param.grad = None when freezing (or let zero_grad
set gradients to None).
THREAD: https://discuss.pytorch.org/t/why-there-is-still-a-small-change-in-frozen-layer-parameters/153740
"""
from collections.abc import Iterable

import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.fc1 = nn.Sequential(nn.Linear(12, 32), nn.Tanh())
        self.fc2 = nn.Sequential(nn.Linear(32, 32), nn.Tanh())
        self.out = nn.Linear(32, 3)

    def forward(self, x):
        return self.out(self.fc2(self.fc1(x)))


def set_freeze_by_layer_names(model, layer_names, freeze=True):
    if isinstance(layer_names, str) or not isinstance(layer_names, Iterable):
        layer_names = [layer_names]
    for name, child in model.named_children():
        if name not in layer_names:
            continue
        print("set freeze for layer {} as: {}".format(name, freeze))
        for param in child.parameters():
            param.requires_grad = not freeze  # CULPRIT


def training(model, optimizer, data, target, epochs):
    criterion = nn.CrossEntropyLoss()
    for epoch in range(epochs):
        perm = torch.randperm(len(data))
        running = 0.0
        for k in range(0, len(data), 50):
            idx = perm[k:k + 50]
            optimizer.zero_grad(set_to_none=False)  # CULPRIT
            loss = criterion(model(data[idx]), target[idx])
            loss.backward()
            optimizer.step()
            running += loss.item()
        print('   epoch', epoch, 'loss %.4f' % (running / (len(data) / 50)))


def main():
    torch.manual_seed(0)
    data = torch.randn(500, 12)
    target = (data[:, :3] + data[:, 3:6] * data[:, 6:9]).argmax(1)
    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

    print('stage 1: everything')
    training(model, optimizer, data, target, 5)

    print('stage 2: fc1 fixed')
    set_freeze_by_layer_names(model, 'fc1', freeze=True)
    before = model.fc1[0].weight.detach().clone()
    print('before_train', before[0, :6])
    training(model, optimizer, data, target, 5)
    after = model.fc1[0].weight.detach()
    print('after_train', after[0, :6])
    print('max change of fc1 while frozen:', (after - before).abs().max().item())
    set_freeze_by_layer_names(model, 'fc1', freeze=False)


main()
