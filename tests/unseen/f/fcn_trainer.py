"""What the user sees: the training loss does one thing until the first validation and another one after it; it suddenly
becomes larger when a new epoch starts. The training seems to have no dropout/BN effect after a validation.

TRUTH: validate() puts the model in eval mode and nobody puts it back, validation happens in the middle of the epoch; the
rest of the epoch is trained in eval mode (frozen, immature BatchNorm statistics, no dropout). Fix: self.model.train() at
the end of validate() (or after the call).
THREAD: https://github.com/wkentaro/pytorch-fcn/issues/57 (also joeynmt/joeynmt#184)
"""
import torch
import torch.nn as nn
import torch.nn.functional as F


class FCN(nn.Module):
    def __init__(self, n_class=3):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 12, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(12)
        self.drop = nn.Dropout2d(0.2)
        self.conv2 = nn.Conv2d(12, 16, 3, padding=1)
        self.bn2 = nn.BatchNorm2d(16)
        self.score = nn.Conv2d(16, n_class, 1)

    def forward(self, x):
        h = F.relu(self.bn1(self.conv1(x)))
        h = F.relu(self.bn2(self.conv2(self.drop(h))))
        return self.score(h)


class Loader:
    def __init__(self, n_batches, seed):
        g = torch.Generator().manual_seed(seed)
        self.batches = []
        for _ in range(n_batches):
            lbl = F.interpolate(torch.randint(0, 3, (8, 1, 4, 4), generator=g).float(), size=12).squeeze(1).long()
            col = torch.tensor([[40., 60., 50.], [60., 40., 50.], [50., 50., 40.]])
            img = col[lbl].permute(0, 3, 1, 2) + 14 * torch.randn(8, 3, 12, 12, generator=g)
            self.batches.append((img, lbl))

    def __iter__(self):
        return iter(self.batches)

    def __len__(self):
        return len(self.batches)


class Trainer(object):
    def __init__(self, model, optimizer, train_loader, val_loader, max_iter, interval_validate=None):
        self.model = model
        self.optim = optimizer
        self.train_loader = train_loader
        self.val_loader = val_loader
        self.max_iter = max_iter
        self.interval_validate = interval_validate
        self.iteration = 0
        self.epoch = 0

    def validate(self):
        self.model.eval()  # CULPRIT
        val_loss = acc = 0
        for data, target in self.val_loader:
            with torch.no_grad():
                score = self.model(data)
            val_loss += F.cross_entropy(score, target).item()
            acc += (score.argmax(1) == target).float().mean().item()
        n = len(self.val_loader)
        print(f'   [valid] iteration {self.iteration} loss {val_loss / n:.4f} acc {acc / n:.4f}')

    def train_epoch(self):
        self.model.train()
        window = []
        for data, target in self.train_loader:
            if self.iteration > 0 and self.iteration % self.interval_validate == 0:
                self.validate()  # CULPRIT
            self.optim.zero_grad()
            score = self.model(data)
            loss = F.cross_entropy(score, target)
            loss.backward()
            self.optim.step()
            window.append(loss.item())
            self.iteration += 1
            if len(window) == 20:
                print(f'epoch {self.epoch} iteration {self.iteration} loss {sum(window) / 20:.4f}')
                window = []
            if self.iteration >= self.max_iter:
                break

    def train(self):
        while self.iteration < self.max_iter:
            self.train_epoch()
            self.epoch += 1


if __name__ == '__main__':
    torch.manual_seed(0)
    model = FCN()
    optim = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9, weight_decay=5e-4)
    Trainer(model, optim, Loader(60, 1), Loader(6, 2), max_iter=240, interval_validate=40).train()
