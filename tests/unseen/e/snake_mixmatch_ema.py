"""YU1ut/MixMatch-pytorch#23, "fix parameter assignment bug"
Symptom: the EMA model is much worse than the model itself for a long time, although both should start equal.
EXPECT: runs
TRUTH: "param = ema_param" only rebinds the loop variable, the weights are not copied, so model and EMA model start from different initialisations; copy with param.data.copy_.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(9)
torch.set_num_threads(1)


def make_data(n, centers):
    y = torch.randint(0, len(centers), (n,))
    return TensorDataset(centers[y] + 1.1 * torch.randn(n, centers.size(1)), y)


def create_model(ema=False):
    model = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 6))
    if ema:
        for param in model.parameters():
            param.detach_()
    return model


class WeightEMA(object):
    def __init__(self, model, ema_model, lr, alpha=0.995):
        self.model = model
        self.ema_model = ema_model
        self.alpha = alpha
        self.params = list(model.state_dict().values())
        self.ema_params = list(ema_model.state_dict().values())
        self.wd = 0.02 * lr
        for param, ema_param in zip(self.params, self.ema_params):
            param = ema_param  # CULPRIT

    def step(self):
        one_minus_alpha = 1.0 - self.alpha
        for param, ema_param in zip(self.params, self.ema_params):
            ema_param.mul_(self.alpha)
            ema_param.add_(param * one_minus_alpha)
            param.mul_(1 - self.wd)


def mixup(x, y, alpha=0.75):
    l = torch.distributions.Beta(alpha, alpha).sample().item()
    l = max(l, 1 - l)
    idx = torch.randperm(x.size(0))
    return l * x + (1 - l) * x[idx], l * y + (1 - l) * y[idx]


def train(loader, model, optimizer, ema_optimizer):
    model.train()
    total = 0.0
    for x, y in loader:
        target = F.one_hot(y, 6).float()
        mixed_x, mixed_y = mixup(x, target)
        logits = model(mixed_x)
        loss = -torch.mean(torch.sum(F.log_softmax(logits, dim=1) * mixed_y, dim=1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        ema_optimizer.step()
        total += loss.item()
    return total / len(loader)


def validate(loader, model):
    model.eval()
    with torch.no_grad():
        correct = sum((model(x).argmax(1) == y).sum().item() for x, y in loader)
    return correct / len(loader.dataset)


def main():
    centers = torch.randn(6, 16)
    train_loader = DataLoader(make_data(1000, centers), batch_size=32, shuffle=True)
    test_loader = DataLoader(make_data(600, centers), batch_size=200)
    model = create_model()
    ema_model = create_model(ema=True)
    lr = 2e-3
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    ema_optimizer = WeightEMA(model, ema_model, lr)
    for epoch in range(10):
        loss = train(train_loader, model, optimizer, ema_optimizer)
        print("epoch %d loss %.3f acc %.3f ema acc %.3f"
              % (epoch, loss, validate(test_loader, model), validate(test_loader, ema_model)))


if __name__ == "__main__":
    main()
