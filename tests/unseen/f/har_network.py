"""What the user sees: the training loss goes down only slowly and never below a certain value (about 0.75 with 4
classes even when the training accuracy is high), I expected it near zero.

TRUTH: forward() returns softmax probabilities and nn.CrossEntropyLoss applies log_softmax again. Fix: return the raw
outputs (no F.softmax).
THREAD: https://github.com/jindongwang/Deep-learning-activity-recognition/issues/10 "Bug in code"
"""
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.utils.data import DataLoader, TensorDataset

n_channels, n_steps, n_class = 6, 32, 4


class Network(nn.Module):
    def __init__(self):
        super(Network, self).__init__()
        self.conv1 = nn.Sequential(
            nn.Conv2d(in_channels=n_channels, out_channels=16, kernel_size=(1, 5)),
            nn.ReLU(),
            nn.MaxPool2d(kernel_size=(1, 2), stride=2)
        )
        self.conv2 = nn.Sequential(
            nn.Conv2d(in_channels=16, out_channels=24, kernel_size=(1, 5)),
            nn.ReLU(),
            nn.MaxPool2d(kernel_size=(1, 2), stride=2)
        )
        self.fc1 = nn.Linear(24 * 5, 64)
        self.fc2 = nn.Linear(64, n_class)

    def forward(self, x):
        out = self.conv1(x)
        out = self.conv2(out)
        out = out.reshape(-1, 24 * 5)
        out = F.relu(self.fc1(out))
        out = self.fc2(out)
        out = F.softmax(out, dim=1)  # CULPRIT
        return out


def load_data(n):
    t = torch.arange(n_steps) / n_steps * 6.2832
    y = torch.randint(0, n_class, (n,))
    freq = torch.tensor([1., 2., 3., 5.])[y]
    phase = torch.rand(n, n_channels, 1) * 6.2832
    x = torch.sin(freq.view(-1, 1, 1) * t + phase) + 0.5 * torch.randn(n, n_channels, n_steps)
    return TensorDataset(x.unsqueeze(2), y)


def train(model, optimizer, train_loader, test_loader, n_epoch=8):
    criterion = nn.CrossEntropyLoss()
    for e in range(n_epoch):
        model.train()
        correct, total_loss, total = 0, 0, 0
        for sample, target in train_loader:
            output = model(sample)
            loss = criterion(output, target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total_loss += loss.item() * len(target)
            total += len(target)
            correct += (output.argmax(1) == target).sum().item()
        acc_test = valid(model, test_loader)
        print('Epoch: [{}/{}], loss: {:.4f}, train acc: {:.2f}%, test acc: {:.2f}%'.format(
            e + 1, n_epoch, total_loss / total, 100. * correct / total, 100. * acc_test))


def valid(model, test_loader):
    model.eval()
    with torch.no_grad():
        hit = [(model(s).argmax(1) == t).float().mean().item() for s, t in test_loader]
    return sum(hit) / len(hit)


if __name__ == '__main__':
    torch.manual_seed(10)
    train_loader = DataLoader(load_data(1500), batch_size=64, shuffle=True)
    test_loader = DataLoader(load_data(400), batch_size=200)
    model = Network()
    optimizer = optim.SGD(params=model.parameters(), lr=0.1, momentum=0.9)
    train(model, optimizer, train_loader, test_loader)
