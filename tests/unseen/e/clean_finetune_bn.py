"""Fine-tuning: the pretrained backbone is frozen and kept in eval mode by an overridden train(), only a new head is trained; later the last block is unfrozen with a new parameter group."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(5)
torch.set_num_threads(1)


def images(n, kinds):
    x = 0.4 * torch.randn(n, 1, 10, 10)
    y = torch.randint(0, kinds, (n,))
    for i in range(n):
        p = torch.randint(1, 8, (1,)).item()
        if y[i] == 0:
            x[i, 0, p, :] += 1
        elif y[i] == 1:
            x[i, 0, :, p] += 1
        else:
            x[i, 0, p:p + 2, p:p + 2] += 2
    return TensorDataset(x, y)


class Net(nn.Module):
    def __init__(self, n_classes, freeze=False):
        super().__init__()
        self.block1 = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2))
        self.block2 = nn.Sequential(nn.Conv2d(8, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU())
        self.head = nn.Linear(16, n_classes)
        self.freeze = freeze

    def train(self, mode=True):
        super().train(mode)
        if self.freeze:
            self.block1.eval()
            self.block2.eval()
        return self

    def forward(self, x):
        return self.head(self.block2(self.block1(x)).amax(dim=(2, 3)))


def fit(net, optimizer, loader, epochs, tag):
    for epoch in range(epochs):
        net.train()
        for x, y in loader:
            optimizer.zero_grad()
            loss = F.cross_entropy(net(x), y)
            loss.backward()
            optimizer.step()
        net.eval()
        with torch.no_grad():
            xs, ys = loader.dataset.tensors
            acc = (net(xs).argmax(1) == ys).float().mean().item()
        print("%s epoch %d loss %.4f acc %.3f" % (tag, epoch, loss.item(), acc))


def main():
    pre = Net(2)
    fit(pre, torch.optim.Adam(pre.parameters(), lr=1e-2), DataLoader(images(400, 2), batch_size=40, shuffle=True), 3, "pretrain")
    net = Net(3, freeze=True)
    state = {k: v for k, v in pre.state_dict().items() if not k.startswith("head")}
    net.load_state_dict(state, strict=False)
    for name, p in net.named_parameters():
        p.requires_grad = name.startswith("head")
    loader = DataLoader(images(400, 3), batch_size=40, shuffle=True)
    optimizer = torch.optim.Adam(filter(lambda p: p.requires_grad, net.parameters()), lr=2e-2)
    fit(net, optimizer, loader, 4, "head only")
    for p in net.block2.parameters():
        p.requires_grad = True
    optimizer.add_param_group({"params": net.block2.parameters(), "lr": 2e-3})
    fit(net, optimizer, loader, 4, "with block2")


if __name__ == "__main__":
    main()
