"""WRONG. The freeze loop freezes nothing, PyTorch does not complain and keeps all the params trainable.
TRUTH: The attribute is misspelled require_grad (a new attribute is set silently); it must be requires_grad.
THREAD: https://github.com/SvenBecker/vscode-pytorch/issues/8
"""
from collections import OrderedDict

import torch
from torch import nn, optim

torch.manual_seed(0)

N_OLD, N_NEW = 8, 5


class VGGSmall(nn.Module):
    def __init__(self, num_classes):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(),
            nn.AdaptiveAvgPool2d(2))
        self.classifier = nn.Sequential(nn.Linear(128, num_classes))

    def forward(self, x):
        x = self.features(x)
        return self.classifier(x.flatten(1))


patterns = torch.randn(N_OLD + N_NEW, 3, 12, 12)


def images(classes, n, noise=1.0):
    y = torch.randint(0, len(classes), (n,))
    x = patterns[torch.tensor(classes)[y]] + noise * torch.randn(n, 3, 12, 12)
    return x, y


def pretrain():
    model = VGGSmall(N_OLD)
    optimizer = optim.Adam(model.parameters(), lr=3e-3)
    criterion = nn.CrossEntropyLoss()
    for _ in range(80):
        x, y = images(list(range(N_OLD)), 64)
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
    print('pretrained, loss %.3f' % loss.item())
    return model


model = pretrain()
reference = {k: v.clone() for k, v in model.features.state_dict().items()}

# Freeze parameters so we don't backprop through them
for param in model.parameters():
    param.require_grad = False  # CULPRIT

model.classifier = nn.Sequential(OrderedDict([
    ('fc1', nn.Linear(128, 64)),
    ('relu', nn.ReLU()),
    ('dropout', nn.Dropout(0.2)),
    ('fc2', nn.Linear(64, N_NEW)),
    ('output', nn.LogSoftmax(dim=1)),
]))

criterion = nn.NLLLoss()
optimizer = optim.Adam(model.parameters(), lr=2e-3)

new_classes = list(range(N_OLD, N_OLD + N_NEW))
train_x, train_y = images(new_classes, 160)
test_x, test_y = images(new_classes, 400)

steps, print_every, running_loss = 0, 30, 0.0
for epoch in range(24):
    for i in range(0, len(train_x), 32):
        steps += 1
        inputs, labels = train_x[i:i + 32], train_y[i:i + 32]
        optimizer.zero_grad()
        logps = model(inputs)
        loss = criterion(logps, labels)
        loss.backward()
        optimizer.step()
        running_loss += loss.item()

        if steps % print_every == 0:
            model.eval()
            with torch.no_grad():
                test_logps = model(test_x)
                test_loss = criterion(test_logps, test_y).item()
                accuracy = (test_logps.argmax(1) == test_y).float().mean().item()
            print('Step %d.. Train loss: %.3f.. Test loss: %.3f.. Test accuracy: %.3f' % (
                steps, running_loss / print_every, test_loss, accuracy))
            running_loss = 0.0
            model.train()

moved = sum((v - reference[k]).abs().sum().item() for k, v in model.features.state_dict().items())
print('change of the feature extractor: %.4f' % moved)
