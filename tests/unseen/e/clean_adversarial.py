"""Adversarial training: PGD on the input with autograd.grad in eval mode, detach in the loop, parameters untouched by the attack, then a normal step on the mixture."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(12)
torch.set_num_threads(1)


def pgd(model, x, y, eps=0.3, alpha=0.1, steps=4):
    was_training = model.training
    model.eval()
    x_adv = x + eps * (2 * torch.rand_like(x) - 1)
    for _ in range(steps):
        x_adv = x_adv.detach().requires_grad_(True)
        loss = F.cross_entropy(model(x_adv), y)
        grad = torch.autograd.grad(loss, x_adv)[0]
        x_adv = x_adv.detach() + alpha * grad.sign()
        x_adv = torch.min(torch.max(x_adv, x - eps), x + eps)
    model.train(was_training)
    return x_adv.detach()


def main():
    centers = torch.randn(4, 15)
    y = torch.randint(0, 4, (1200,))
    x = centers[y] + 0.6 * torch.randn(1200, 15)
    loader = DataLoader(TensorDataset(x[:1000], y[:1000]), batch_size=50, shuffle=True)
    model = nn.Sequential(nn.Linear(15, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for epoch in range(8):
        model.train()
        for xb, yb in loader:
            x_adv = pgd(model, xb, yb)
            loss = 0.5 * F.cross_entropy(model(xb), yb) + 0.5 * F.cross_entropy(model(x_adv), yb)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        xt, yt = x[1000:], y[1000:]
        x_adv = pgd(model, xt, yt)
        with torch.no_grad():
            clean = (model(xt).argmax(1) == yt).float().mean().item()
            robust = (model(x_adv).argmax(1) == yt).float().mean().item()
        print("epoch %d loss %.4f clean %.3f robust %.3f" % (epoch, loss.item(), clean, robust))


if __name__ == "__main__":
    main()
