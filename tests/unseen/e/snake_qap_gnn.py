"""mlelarge/graph_neural_net#37, "Fix bug softmax"
Symptom: the loss of the siamese GNN for graph alignment decreases very slowly and stays high although the matching is easy.
EXPECT: runs
TRUTH: the scores go through a softmax before nn.CrossEntropyLoss, which applies log-softmax itself; pass the raw scores.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(4)
torch.set_num_threads(1)


class QAPDataset(Dataset):
    """Pairs of an Erdos-Renyi graph and a slightly edited copy."""

    def __init__(self, num, n=16, p=0.4, noise=0.03):
        g = (torch.rand(num, n, n) < p).float().triu(1)
        g1 = g + g.transpose(1, 2)
        flip = (torch.rand(num, n, n) < noise).float().triu(1)
        flip = flip + flip.transpose(1, 2)
        self.g1, self.g2 = g1, (g1 - flip).abs()

    def __len__(self):
        return len(self.g1)

    def __getitem__(self, i):
        return self.g1[i], self.g2[i]


class NodeEmbedding(nn.Module):
    def __init__(self, hidden=32, layers=3):
        super().__init__()
        self.inp = nn.Linear(3, hidden)
        self.layers = nn.ModuleList([nn.Linear(2 * hidden, hidden) for _ in range(layers)])
        self.out = nn.Linear(hidden, hidden)

    def forward(self, adj):
        deg = adj.sum(-1, keepdim=True)
        tri = torch.diagonal(adj @ adj @ adj, dim1=1, dim2=2).unsqueeze(-1)
        two = (adj @ deg)
        h = torch.relu(self.inp(torch.cat([deg / 5, tri / 40, two / 40], dim=-1)))
        for layer in self.layers:
            h = torch.relu(layer(torch.cat([h, adj @ h / 6], dim=-1)))
        return self.out(h)


class SiameseMatcher(nn.Module):
    def __init__(self):
        super().__init__()
        self.node_embedder = NodeEmbedding()

    def forward(self, g1, g2):
        x1, x2 = self.node_embedder(g1), self.node_embedder(g2)
        raw_scores = torch.matmul(x1, x2.transpose(1, 2))
        return raw_scores


class TripletLoss(nn.Module):
    def __init__(self):
        super().__init__()
        self.loss = nn.CrossEntropyLoss(reduction="mean")

    def forward(self, raw_scores):
        bs, n, _ = raw_scores.shape
        ide = torch.arange(n).repeat(bs)
        scores = F.softmax(raw_scores, dim=-1)  # CULPRIT
        return self.loss(scores.reshape(bs * n, n), ide)


def accuracy(scores):
    ide = torch.arange(scores.size(1))
    return (scores.argmax(-1) == ide).float().mean().item()


def main():
    train_loader = DataLoader(QAPDataset(640), batch_size=32, shuffle=True)
    val = QAPDataset(100)
    model = SiameseMatcher()
    criterion = TripletLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(10):
        total = 0.0
        for g1, g2 in train_loader:
            optimizer.zero_grad()
            loss = criterion(model(g1, g2))
            loss.backward()
            optimizer.step()
            total += loss.item()
        with torch.no_grad():
            acc = accuracy(model(val.g1, val.g2))
        print("epoch %d loss %.4f val acc %.3f" % (epoch, total / len(train_loader), acc))


if __name__ == "__main__":
    main()
