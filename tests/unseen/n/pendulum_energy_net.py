"""WRONG. Training is fine, but as soon as validation runs: RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn.
TRUTH: the forward pass differentiates the predicted energy with autograd.grad, which needs a graph; the validation runs it under torch.no_grad(). Validate with gradients enabled (torch.enable_grad()) and detach the results.
THREAD: https://github.com/Lightning-AI/pytorch-lightning/issues/4487
"""
import torch
import torch.nn as nn

torch.manual_seed(0)

cfg = {"hidden": 48, "lr": 5e-3, "epochs": 6, "batch_size": 64, "weight_decay": 1e-5}


def true_field(state):
    q, p = state[:, 0:1], state[:, 1:2]
    return torch.cat([p, -torch.sin(q)], dim=1)


def make_loader(n, shuffle):
    state = torch.rand(n, 2) * 4 - 2
    ds = torch.utils.data.TensorDataset(state, true_field(state))
    return torch.utils.data.DataLoader(ds, batch_size=cfg["batch_size"], shuffle=shuffle)


class HamiltonianNet(nn.Module):
    """learns H(q, p); the time derivative follows from Hamilton's equations"""

    def __init__(self, hidden):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, hidden), nn.Tanh(),
                                 nn.Linear(hidden, hidden), nn.Tanh(),
                                 nn.Linear(hidden, 1))

    def hamiltonian(self, state):
        return self.net(state)

    def forward(self, state):
        state = state.detach().requires_grad_(True)
        H = self.hamiltonian(state).sum()
        dH = torch.autograd.grad(H, state, create_graph=True)[0]
        return torch.stack([dH[:, 1], -dH[:, 0]], dim=1)


class Trainer:
    def __init__(self, model, train_loader, val_loader):
        self.model = model
        self.train_loader = train_loader
        self.val_loader = val_loader
        self.criterion = nn.MSELoss()
        self.optimizer = torch.optim.Adam(model.parameters(), lr=cfg["lr"],
                                          weight_decay=cfg["weight_decay"])
        self.scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(self.optimizer, cfg["epochs"])
        self.best = float("inf")

    def train_epoch(self):
        self.model.train()
        total = 0.0
        for state, target in self.train_loader:
            loss = self.criterion(self.model(state), target)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            total += loss.item()
        return total / len(self.train_loader)

    def validate(self):
        self.model.eval()
        total = 0.0
        with torch.no_grad():  # CULPRIT
            for state, target in self.val_loader:
                pred = self.model(state)
                total += self.criterion(pred, target).item()
        return total / len(self.val_loader)

    def fit(self, epochs):
        for epoch in range(epochs):
            train_loss = self.train_epoch()
            print(f"epoch {epoch} train {train_loss:.5f}", end=" ")
            val_loss = self.validate()
            self.scheduler.step()
            self.best = min(self.best, val_loss)
            print(f"val {val_loss:.5f}")


def main():
    trainer = Trainer(HamiltonianNet(cfg["hidden"]), make_loader(512, True), make_loader(128, False))
    trainer.fit(cfg["epochs"])
    print(f"best validation loss {trainer.best:.5f}")


if __name__ == "__main__":
    main()
