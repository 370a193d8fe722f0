"""WRONG. Label distribution learning (age as a soft histogram) with KLDivLoss. The divergence is negative from the first
epoch on although a divergence cannot be, and the predicted histograms are one single spike.
TRUTH: KLDivLoss wants log-probabilities as its first argument, it got probabilities: `criterion(torch.log(probs), dist)`
(or log_softmax in the network).
THREAD: https://discuss.pytorch.org/t/kullback-leibler-divergence-loss-function-giving-negative-values/763
"""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)

BINS = torch.arange(0, 20, dtype=torch.float32)


class AgeNet(nn.Module):
    def __init__(self, d_in=10, hidden=48):
        super(AgeNet, self).__init__()
        self.fc1 = nn.Linear(d_in, hidden)
        self.fc2 = nn.Linear(hidden, hidden)
        self.fc3 = nn.Linear(hidden, len(BINS))
        self.drop = nn.Dropout(0.05)

    def forward(self, x):
        x = F.relu(self.fc1(x))
        x = self.drop(F.relu(self.fc2(x)))
        x = self.fc3(x)
        return F.softmax(x, dim=1)


def convert_ages_to_distribution(age, sigma=1.5):
    dist = torch.exp(-0.5 * ((BINS[None, :] - age[:, None]) / sigma) ** 2)
    return dist / dist.sum(1, keepdim=True)


def make_people(n):
    x = torch.randn(n, 10)
    age = (10 + 3 * x[:, 0] + 2 * torch.tanh(x[:, 1]) + 0.5 * x[:, 2] * x[:, 3]).clamp(0, 19)
    return TensorDataset(x, age)


def expected_age(probs):
    return (probs * BINS).sum(1)


@torch.no_grad()
def evaluate(net, loader):
    net.eval()
    mae = div = spread = n = 0.0
    for x, age in loader:
        probs = net(x)
        dist = convert_ages_to_distribution(age)
        p = torch.distributions.Categorical(probs=dist)
        q = torch.distributions.Categorical(probs=probs)
        div += torch.distributions.kl_divergence(p, q).sum().item()
        mae += (expected_age(probs) - age).abs().sum().item()
        spread += ((probs * (BINS - expected_age(probs)[:, None]) ** 2).sum(1)).sqrt().sum().item()
        n += len(x)
    net.train()
    return mae / n, div / n, spread / n


def main():
    trainloader = DataLoader(make_people(512), batch_size=64, shuffle=True)
    testloader = DataLoader(make_people(256), batch_size=128)
    net = AgeNet()
    criterion = nn.KLDivLoss(reduction='batchmean')
    optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=15, gamma=0.3)

    for epoch in range(24):
        running_loss = running_mae = 0.0
        for inputs, ages in trainloader:
            dist = convert_ages_to_distribution(ages)
            optimizer.zero_grad()
            probs = net(inputs)
            loss = criterion(probs, dist)  # CULPRIT
            mae = (expected_age(probs) - ages).abs().mean()
            (loss + 0.02 * mae).backward()
            optimizer.step()
            running_loss += loss.item()
            running_mae += mae.item()
        scheduler.step()
        if epoch % 6 == 5:
            print('[%d] loss: %.3f mae: %.3f' % (
                epoch + 1, running_loss / len(trainloader), running_mae / len(trainloader)))

    print('test: mae %.3f, KL(target || prediction) %.3f, spread %.3f (should be about 1.5)' % evaluate(net, testloader))


if __name__ == '__main__':
    main()
