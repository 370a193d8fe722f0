"""wkentaro/pytorch-fcn#57, "A little bug in trainer.py"
Symptom: the training loss suddenly becomes larger whenever a new epoch starts.
EXPECT: runs
TRUTH: validate() puts the model into eval mode in the middle of an epoch and nobody switches back, so the rest of the epoch trains without dropout and with frozen batch statistics; call model.train() again for every batch or after validate().
"""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(10)
torch.set_num_threads(1)


def make_scenes(n, size=16):
    yy, xx = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    cy, cx = torch.randint(4, 12, (2, n, 1, 1))
    r = torch.randint(2, 5, (n, 1, 1))
    label = (((yy - cy).abs() <= r) & ((xx - cx).abs() <= r)).long()
    img = 0.7 * label.float() + 0.5 * torch.randn(n, size, size)
    return TensorDataset(img.unsqueeze(1), label)


class FCN(nn.Module):
    def __init__(self, n_class=2, ch=12):
        super().__init__()
        self.conv1 = nn.Sequential(nn.Conv2d(1, ch, 3, padding=1), nn.BatchNorm2d(ch), nn.ReLU())
        self.conv2 = nn.Sequential(nn.Conv2d(ch, ch, 3, stride=2, padding=1), nn.BatchNorm2d(ch), nn.ReLU())
        self.drop = nn.Dropout2d(0.5)
        self.score = nn.Conv2d(ch, n_class, 1)
        self.up = nn.ConvTranspose2d(n_class, n_class, 4, stride=2, padding=1)

    def forward(self, x):
        return self.up(self.score(self.drop(self.conv2(self.conv1(x)))))


class Trainer(object):
    def __init__(self, model, optimizer, train_loader, val_loader, max_epoch, interval_validate=10):
        self.model = model
        self.optim = optimizer
        self.train_loader = train_loader
        self.val_loader = val_loader
        self.max_epoch = max_epoch
        self.interval_validate = interval_validate
        self.iteration = 0
        self.epoch = 0

    def validate(self):
        self.model.eval()
        val_loss, inter, union = 0.0, 0, 0
        with torch.no_grad():
            for data, target in self.val_loader:
                score = self.model(data)
                val_loss += F.cross_entropy(score, target).item() / len(self.val_loader)
                pred = score.argmax(1)
                inter += ((pred == 1) & (target == 1)).sum().item()
                union += ((pred == 1) | (target == 1)).sum().item()
        print("  val at iteration %d: loss %.4f iou %.3f" % (self.iteration, val_loss, inter / max(union, 1)))

    def train_epoch(self):
        self.model.train()  # CULPRIT
        losses = []
        for data, target in self.train_loader:
            self.optim.zero_grad()
            loss = F.cross_entropy(self.model(data), target)
            loss.backward()
            self.optim.step()
            losses.append(loss.item())
            self.iteration += 1
            if self.iteration % self.interval_validate == 0:
                self.validate()  # CULPRIT
        k = self.interval_validate
        print("epoch %d loss first part %.4f last part %.4f"
              % (self.epoch, sum(losses[:k]) / k, sum(losses[-k:]) / k))

    def train(self):
        for self.epoch in range(self.max_epoch):
            self.train_epoch()


def main():
    train_loader = DataLoader(make_scenes(800), batch_size=20, shuffle=True)
    val_loader = DataLoader(make_scenes(100), batch_size=50)
    model = FCN()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    Trainer(model, optimizer, train_loader, val_loader, max_epoch=4).train()
    print("batches seen by the batch norm:", model.conv1[1].num_batches_tracked.item())


if __name__ == "__main__":
    main()
