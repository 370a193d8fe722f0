"""WRONG. A network whose output is the gradient of a potential trains fine for an epoch and then crashes in the validation with "element 0 of tensors does not require grad and does not have a grad_fn".
TRUTH: validation_epoch runs under @torch.no_grad(), but the model's forward itself differentiates the potential with autograd.grad; run the validation with gradients enabled (@torch.enable_grad() or no decorator).
THREAD: https://github.com/Lightning-AI/pytorch-lightning/issues/4487
"""
import torch
import torch.nn as nn


class Feedforward(nn.Module):
    """potential phi(x); forward gives the field -grad phi"""

    def __init__(self, input_size, hidden_size):
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.fc1 = nn.Linear(input_size, hidden_size)
        self.act = nn.Tanh()
        self.fc2 = nn.Linear(hidden_size, 1)

    def potential(self, x):
        return self.fc2(self.act(self.fc1(x)))

    def forward(self, x):
        x = x.detach().requires_grad_(True)
        output = self.potential(x).sum()
        field = torch.autograd.grad(outputs=output, inputs=x, create_graph=self.training)[0]
        return -field


class LitField:
    def __init__(self, model, lr=1e-2):
        self.model = model
        self.loss_fn = nn.MSELoss()
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)
        self.scheduler = torch.optim.lr_scheduler.ExponentialLR(self.optimizer, 0.95)
        self.logged = {}

    def log(self, name, value):
        self.logged.setdefault(name, []).append(float(value))

    def training_step(self, batch):
        x, y = batch
        loss = self.loss_fn(self.model(x), y)
        self.log("train_loss", loss.detach())
        return loss

    def validation_step(self, batch):
        x, y = batch
        y_hat = self.model(x)
        self.log("val_loss", self.loss_fn(y_hat, y).detach())
        self.log("val_cos", torch.cosine_similarity(y_hat, y, dim=1).mean().detach())


class Trainer:
    def __init__(self, max_epochs):
        self.max_epochs = max_epochs

    def train_epoch(self, lit, loader):
        lit.model.train()
        for batch in loader:
            lit.optimizer.zero_grad()
            loss = lit.training_step(batch)
            loss.backward()
            lit.optimizer.step()
        lit.scheduler.step()

    @torch.no_grad()  # CULPRIT
    def validation_epoch(self, lit, loader):
        lit.model.eval()
        for batch in loader:
            lit.validation_step(batch)

    def fit(self, lit, train_loader, val_loader):
        for epoch in range(self.max_epochs):
            self.train_epoch(lit, train_loader)
            self.validation_epoch(lit, val_loader)
            print(epoch, {k: round(v[-1], 4) for k, v in lit.logged.items()})


def make_loader(n, batch_size):
    x = torch.rand(n, 3) * 2 - 1
    stiffness = torch.tensor([1.0, 2.0, 0.5])
    y = -stiffness * x
    data = torch.utils.data.TensorDataset(x, y)
    return torch.utils.data.DataLoader(data, batch_size=batch_size, shuffle=True)


if __name__ == "__main__":
    torch.manual_seed(0)
    lit = LitField(Feedforward(3, 24))
    trainer = Trainer(max_epochs=6)
    trainer.fit(lit, make_loader(256, 32), make_loader(64, 32))
