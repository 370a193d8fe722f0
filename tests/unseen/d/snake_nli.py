"""pytorch/pytorch#715
Symptom: The parameters of the nn.Linear layers made in the for-loop are not included in parameters(); the model learns badly.
EXPECT: runs
TRUTH: the hidden layers sit in a plain Python list and are not registered; make self.hids an nn.ModuleList.
"""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class SNLINet(nn.Module):
    def __init__(self, options):
        super().__init__()
        self.options = options
        self.embed = nn.Embedding(options["n_words"], options["n_emb"])
        indim = 2 * options["n_emb"]
        self.hids = []  # CULPRIT
        for li in range(options["n_layers"]):
            self.hids.append(nn.Linear(indim, options["n_hid"]))
            self.hids.append(getattr(nn, options["act"])())
            indim = options["n_hid"]
        self.classifier = nn.Linear(options["n_hid"], 3)

    def encode(self, sent):
        return self.embed(sent).mean(1)

    def forward(self, premise, hypothesis):
        h = torch.cat([self.encode(premise), self.encode(hypothesis)], dim=1)
        for layer in self.hids:
            h = layer(h)
        return self.classifier(h)


def make_snli(n, options):
    half = options["n_words"] // 2
    premise = torch.randint(0, half, (n, 1)) + torch.zeros(n, 5, dtype=torch.long)
    hypothesis = torch.randint(0, half, (n, 1)) + torch.zeros(n, 5, dtype=torch.long)
    label = (premise[:, 0] * 2 + hypothesis[:, 0]) % 3
    premise[:, 1:] += torch.randint(0, 2, (n, 4)) * half
    hypothesis[:, 1:] += torch.randint(0, 2, (n, 4)) * half
    return TensorDataset(premise, hypothesis, label)


def accuracy(net, loader):
    net.eval()
    right = total = 0
    with torch.no_grad():
        for p, h, y in loader:
            right += (net(p, h).argmax(1) == y).sum().item()
            total += len(y)
    net.train()
    return right / total


def train(net, train_loader, valid_loader, n_epochs=14):
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
    print("trainable:", sum(p.numel() for p in net.parameters()))
    for epoch in range(n_epochs):
        cost = 0.0
        for p, h, y in train_loader:
            optimizer.zero_grad()
            loss = criterion(net(p, h), y)
            loss.backward()
            optimizer.step()
            cost += loss.item()
        print("epoch", epoch, "cost %.4f" % (cost / len(train_loader)), "valid acc %.3f" % accuracy(net, valid_loader))


if __name__ == "__main__":
    torch.manual_seed(1234)
    torch.set_num_threads(1)
    options = {"n_words": 60, "n_emb": 12, "n_hid": 48, "n_layers": 4, "act": "Tanh"}
    train_loader = DataLoader(make_snli(2000, options), batch_size=50, shuffle=True)
    valid_loader = DataLoader(make_snli(500, options), batch_size=100)
    train(SNLINet(options), train_loader, valid_loader)
