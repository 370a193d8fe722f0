"""WRONG. Whatever weight the KL term gets, the posteriors of the convolution layers never move towards the prior, and the KL in the log is smaller than what the layers report one by one.
TRUTH: in probforward the _kl of the convolutions is overwritten and never added, only that of the classifier counts; add kl += _kl after layer.convprobforward(x).
THREAD: https://github.com/kumar-shridhar/PyTorch-BayesianCNN/issues/25
"""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

PRIOR_SIGMA = 0.5


def gaussian_kl(mu, log_sigma):
    sigma2 = torch.exp(2 * log_sigma)
    return (math.log(PRIOR_SIGMA) - log_sigma + (sigma2 + mu ** 2) / (2 * PRIOR_SIGMA ** 2) - 0.5).sum()


class BBBConv1d(nn.Module):
    def __init__(self, c_in, c_out, kernel_size, padding=0):
        super().__init__()
        self.padding = padding
        self.qw_mean = nn.Parameter(torch.randn(c_out, c_in, kernel_size) / math.sqrt(c_in * kernel_size))
        self.qw_logsigma = nn.Parameter(torch.full_like(self.qw_mean, -4.0))

    def convprobforward(self, x):
        mean = F.conv1d(x, self.qw_mean, padding=self.padding)
        var = F.conv1d(x ** 2, torch.exp(2 * self.qw_logsigma), padding=self.padding)
        out = mean + torch.sqrt(var + 1e-8) * torch.randn_like(mean)
        return out, self.kl()

    def kl(self):
        return gaussian_kl(self.qw_mean, self.qw_logsigma)


class BBBLinear(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.qw_mean = nn.Parameter(torch.randn(n_out, n_in) / math.sqrt(n_in))
        self.qw_logsigma = nn.Parameter(torch.full_like(self.qw_mean, -4.0))

    def fcprobforward(self, x):
        mean = F.linear(x, self.qw_mean)
        var = F.linear(x ** 2, torch.exp(2 * self.qw_logsigma))
        return mean + torch.sqrt(var + 1e-8) * torch.randn_like(mean), self.kl()

    def kl(self):
        return gaussian_kl(self.qw_mean, self.qw_logsigma)


class BBBSignalNet(nn.Module):
    def __init__(self, n_class):
        super().__init__()
        self.classifier = BBBLinear(8 * 4, n_class)
        self.conv1 = BBBConv1d(1, 6, 5, padding=2)
        self.soft1 = nn.Softplus()
        self.pool1 = nn.MaxPool1d(2)
        self.conv2 = BBBConv1d(6, 8, 3, padding=1)
        self.soft2 = nn.Softplus()
        self.pool2 = nn.MaxPool1d(4)
        self.layers = [self.conv1, self.soft1, self.pool1, self.conv2, self.soft2, self.pool2]

    def probforward(self, x):
        kl = 0
        for layer in self.layers:
            if hasattr(layer, "convprobforward") and callable(layer.convprobforward):
                x, _kl, = layer.convprobforward(x)  # CULPRIT
            else:
                x = layer.forward(x)
        x = x.view(x.size(0), -1)
        x, _kl = self.classifier.fcprobforward(x)
        kl += _kl
        logits = x
        return logits, kl


def make_data(n):
    t = torch.linspace(0, 1, 32)
    y = torch.randint(0, 3, (n,))
    freq = torch.tensor([1.0, 3.0, 6.0])[y].unsqueeze(1)
    phase = torch.rand(n, 1) * 6.28
    x = torch.sin(2 * math.pi * freq * t + phase) + 0.1 * torch.randn(n, 32)
    return x.unsqueeze(1), y


def main():
    torch.manual_seed(0)
    x, y = make_data(300)
    xv, yv = make_data(100)
    net = BBBSignalNet(3)
    optimizer = torch.optim.Adam(net.parameters(), lr=2e-2)
    beta = 1.0 / 300
    for epoch in range(12):
        for idx in torch.randperm(300).split(60):
            logits, kl = net.probforward(x[idx])
            nll = F.cross_entropy(logits, y[idx])
            loss = nll + beta * kl
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if epoch % 4 == 3:
            with torch.no_grad():
                acc = (net.probforward(xv)[0].argmax(1) == yv).float().mean().item()
            per_layer = [round(m.kl().item(), 1) for m in (net.conv1, net.conv2, net.classifier)]
            print(epoch, "nll", round(nll.item(), 3), "kl", round(kl.item(), 1), "per layer", per_layer, "acc", acc)
    print("mean log sigma conv1 %.3f conv2 %.3f fc %.3f" % tuple(
        m.qw_logsigma.mean().item() for m in (net.conv1, net.conv2, net.classifier)))


if __name__ == "__main__":
    main()
