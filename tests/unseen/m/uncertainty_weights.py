"""WRONG. The learned task weights move, the combined loss goes down, yet the depth and normal errors on the validation set stay exactly where they were before training.
TRUTH: MultiTaskLoss.forward builds the loss vector with torch.Tensor(list), which copies the numbers and cuts the graph, so only eta gets a gradient; torch.stack(losses) mends it.
THREAD: https://discuss.pytorch.org/t/how-to-learn-the-weights-between-two-losses/39681
"""
import torch
import torch.nn as nn
import torch.optim as optim
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)

CFG = {
    "in_dim": 12,
    "hidden": 32,
    "epochs": 12,
    "batch": 64,
    "lr": 5e-3,
    "eta_init": [0.0, 0.0],
}


class SharedEncoder(nn.Module):
    def __init__(self, in_dim, hidden):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(in_dim, hidden), nn.ReLU(),
            nn.Linear(hidden, hidden), nn.ReLU(),
        )

    def forward(self, x):
        return self.net(x)


class MultiTaskModel(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.encoder = SharedEncoder(cfg["in_dim"], cfg["hidden"])
        self.depth_head = nn.Linear(cfg["hidden"], 1)
        self.normal_head = nn.Linear(cfg["hidden"], 3)

    def forward(self, x):
        z = self.encoder(x)
        return [self.depth_head(z).squeeze(-1), self.normal_head(z)]


class MultiTaskLoss(nn.Module):
    def __init__(self, model, loss_fn, eta):
        super().__init__()
        self.model = model
        self.loss_fn = loss_fn
        self.eta = nn.Parameter(torch.tensor(eta))

    def forward(self, inputs, targets):
        outputs = self.model(inputs)
        losses = [l(o, y) for l, o, y in zip(self.loss_fn, outputs, targets)]
        losses = torch.Tensor(losses)  # CULPRIT
        total = losses * torch.exp(-self.eta) + self.eta
        return losses, total.sum()


def make_data(n, in_dim):
    g = torch.Generator().manual_seed(7)
    w1 = torch.randn(in_dim, generator=g)
    w2 = torch.randn(in_dim, 3, generator=g)
    x = torch.randn(n, in_dim)
    depth = torch.tanh(x @ w1) * 2
    normal = x @ w2 * 0.5 + 0.05 * torch.randn(n, 3)
    return x, depth, normal


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    d_err = n_err = count = 0.0
    for x, d, n in loader:
        pd, pn = model(x)
        d_err += (pd - d).abs().sum().item()
        n_err += (pn - n).abs().mean(1).sum().item()
        count += x.size(0)
    model.train()
    return d_err / count, n_err / count


def main():
    train = DataLoader(TensorDataset(*make_data(512, CFG["in_dim"])), CFG["batch"], shuffle=True)
    val = DataLoader(TensorDataset(*make_data(256, CFG["in_dim"])), CFG["batch"])
    model = MultiTaskModel(CFG)
    mtl = MultiTaskLoss(model, [nn.MSELoss(), nn.MSELoss()], CFG["eta_init"])
    optimizer = optim.Adam(mtl.parameters(), lr=CFG["lr"])
    print("before  depth %.3f normal %.3f" % evaluate(model, val))

    for epoch in range(CFG["epochs"]):
        running = 0.0
        for x, d, n in train:
            optimizer.zero_grad()
            losses, total = mtl(x, [d, n])
            total.backward()
            optimizer.step()
            running += total.item()
        if epoch % 3 == 2:
            d_err, n_err = evaluate(model, val)
            print(f"epoch {epoch:2d} total {running / len(train):.3f} depth {d_err:.3f} "
                  f"normal {n_err:.3f} eta {mtl.eta.data.tolist()}")


if __name__ == "__main__":
    main()
