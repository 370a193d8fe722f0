"""Center loss with its own optimizer whose gradients are rescaled by hand between backward() and step(), beside softmax loss with a margin."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class CenterLoss(nn.Module):
    def __init__(self, classes, dim):
        super().__init__()
        self.centers = nn.Parameter(torch.randn(classes, dim))

    def forward(self, feat, y):
        return (feat - self.centers[y]).pow(2).sum(1).clamp(1e-12, 1e12).mean()


class Net(nn.Module):
    def __init__(self, d, classes, dim=2):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(d, 64), nn.PReLU(), nn.Linear(64, dim))
        self.weight = nn.Parameter(torch.randn(classes, dim))

    def forward(self, x, y=None, margin=0.2):
        feat = self.body(x)
        logits = F.linear(feat, self.weight)
        if y is not None:
            logits = logits - margin * F.one_hot(y, logits.size(1))
        return feat, logits


def make(n, protos):
    y = torch.randint(0, len(protos), (n,))
    return protos[y] + 0.8 * torch.randn(n, protos.size(1)), y


def spread(feat, y):
    within = torch.stack([feat[y == c].var(0).sum() for c in y.unique()]).mean()
    return (within / feat.var(0).sum()).item()


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    protos = torch.randn(5, 16)
    loader = DataLoader(TensorDataset(*make(1200, protos)), batch_size=60, shuffle=True)
    xt, yt = make(400, protos)
    net, center = Net(16, 5), CenterLoss(5, 2)
    alpha = 0.1
    opt_model = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9, weight_decay=5e-4)
    opt_center = torch.optim.SGD(center.parameters(), lr=0.5)
    for epoch in range(15):
        net.train()
        for x, y in loader:
            feat, logits = net(x, y)
            loss_x, loss_c = F.cross_entropy(logits, y), center(feat, y)
            loss = loss_x + alpha * loss_c
            opt_model.zero_grad()
            opt_center.zero_grad()
            loss.backward()
            opt_model.step()
            for p in center.parameters():
                p.grad.data *= 1.0 / alpha
            opt_center.step()
        if epoch % 5 == 4:
            net.eval()
            with torch.no_grad():
                feat, logits = net(xt)
            print("epoch %d xent %.3f center %.3f acc %.3f within/total %.3f" % (
                epoch, loss_x.item(), loss_c.item(), (logits.argmax(1) == yt).float().mean().item(), spread(feat, yt)))


if __name__ == "__main__":
    main()
