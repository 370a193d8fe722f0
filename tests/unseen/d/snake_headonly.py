"""lxztju/pytorch_classification#32
Symptom: training needs loss.requires_grad_(True), else "element 0 of tensors does not require grad"; with it the loss does not fall.
EXPECT: runs
TRUTH: the freezing runs over the whole model after the new head was put in, so nothing is trainable; freeze model.features only.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class SmallResNet(nn.Module):
    def __init__(self, num_classes=100):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        )
        self.fc = nn.Linear(32 * 4 * 4, num_classes)

    def forward(self, x):
        x = self.features(x)
        return self.fc(torch.flatten(x, 1))


def set_parameter_requires_grad(module, feature_extract=True):
    if feature_extract:
        for param in module.parameters():
            param.requires_grad = False


def get_net(num_classes):
    model = SmallResNet()
    model.fc = nn.Linear(model.fc.in_features, num_classes)
    set_parameter_requires_grad(model)  # CULPRIT
    return model


def make_images(n, num_classes, protos):
    labels = torch.randint(0, num_classes, (n,))
    images = protos[labels] + 0.8 * torch.randn(n, 3, 16, 16)
    return TensorDataset(images, labels)


def accuracy(output, target):
    return 100.0 * (output.argmax(1) == target).float().mean().item()


def train(model, train_loader, val_loader, epochs):
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=5e-4)
    for epoch in range(epochs):
        model.train()
        losses, top1 = [], []
        for inputs, targets in train_loader:
            outputs = model(inputs)
            loss = criterion(outputs, targets)
            loss.requires_grad_(True)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            top1.append(accuracy(outputs, targets))
        model.eval()
        with torch.no_grad():
            val = [accuracy(model(x), y) for x, y in val_loader]
        print("epoch %d | train loss %.4f | train top1 %.1f | val top1 %.1f" % (
            epoch + 1, sum(losses) / len(losses), sum(top1) / len(top1), sum(val) / len(val)))


if __name__ == "__main__":
    torch.manual_seed(42)
    torch.set_num_threads(1)
    classes = 6
    protos = torch.randn(classes, 3, 16, 16)
    train_loader = DataLoader(make_images(600, classes, protos), batch_size=32, shuffle=True)
    val_loader = DataLoader(make_images(200, classes, protos), batch_size=50)
    train(get_net(classes), train_loader, val_loader, epochs=4)
