"""Siamese verification of signature feature vectors with a contrastive loss.

Pairs are drawn at random from the collection of each writer; some writers have been
scanned with the same sheet twice.

TRUTH: The contrastive loss takes the square root of the squared distance without an epsilon; a pair made of two identical
vectors has distance 0 and the derivative of sqrt there is infinite (0 * inf = NaN), so the loss and all weights become NaN
from the first such pair on. Fix: add a small constant inside the square root. Drawn from adambielski/siamese-triplet#18
(Siamese loss problem).
"""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader


class SignatureCollection:
    def __init__(self, n_writers=24, per_writer=10, dim=20, seed=0):
        rng = np.random.RandomState(seed)
        centres = rng.normal(0, 1, size=(n_writers, dim))
        self.features, self.writer = [], []
        for w in range(n_writers):
            x = centres[w] + 0.8 * rng.normal(0, 1, size=(per_writer, dim))
            if w % 6 == 5:
                x[1] = x[0]
            self.features.append(x)
            self.writer += [w] * per_writer
        self.features = torch.tensor(np.concatenate(self.features), dtype=torch.float32)
        self.writer = np.array(self.writer)


class SiamesePairs(Dataset):
    def __init__(self, collection, n_pairs, seed):
        rng = np.random.RandomState(seed)
        self.collection = collection
        self.pairs = []
        labels = collection.writer
        for k in range(n_pairs):
            i = rng.randint(len(labels))
            same = k % 2 == 0
            pool = np.where((labels == labels[i]) == same)[0]
            j = rng.choice(pool[pool != i])
            self.pairs.append((i, j, float(same)))

    def __len__(self):
        return len(self.pairs)

    def __getitem__(self, k):
        i, j, same = self.pairs[k]
        f = self.collection.features
        return f[i], f[j], torch.tensor(same)


class EmbeddingNet(nn.Module):
    def __init__(self, dim=20, out=4):
        super().__init__()
        self.fc = nn.Sequential(nn.Linear(dim, 64), nn.PReLU(), nn.Linear(64, 32), nn.PReLU(),
                                nn.Linear(32, out))

    def forward(self, x):
        return self.fc(x)


class SiameseNet(nn.Module):
    def __init__(self, embedding_net):
        super().__init__()
        self.embedding_net = embedding_net

    def forward(self, x1, x2):
        return self.embedding_net(x1), self.embedding_net(x2)


class ContrastiveLoss(nn.Module):
    def __init__(self, margin):
        super().__init__()
        self.margin = margin

    def forward(self, output1, output2, target):
        squared = (output2 - output1).pow(2).sum(1)
        distances = squared.sqrt()  # CULPRIT
        losses = 0.5 * (target * squared + (1 - target) * F.relu(self.margin - distances).pow(2))
        return losses.mean()


def fit(model, loader, loss_fn, optimizer, n_epochs, log_interval):
    step = 0
    for epoch in range(n_epochs):
        model.train()
        history = []
        for x1, x2, same in loader:
            e1, e2 = model(x1, x2)
            loss = loss_fn(e1, e2, same)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            history.append(loss.item())
            step += 1
        if (epoch + 1) % log_interval == 0:
            print("epoch %2d  step %4d  loss %.4f" % (epoch + 1, step, np.mean(history)))


@torch.no_grad()
def verification_accuracy(model, pairs, threshold):
    model.eval()
    x1, x2, same = zip(*[pairs[k] for k in range(len(pairs))])
    e1, e2 = model(torch.stack(x1), torch.stack(x2))
    d = (e1 - e2).norm(dim=1)
    return ((d < threshold).float() == torch.stack(same)).float().mean().item()


def main():
    torch.manual_seed(0)
    collection = SignatureCollection()
    train = SiamesePairs(collection, 1500, seed=1)
    test = SiamesePairs(collection, 500, seed=2)
    loader = DataLoader(train, batch_size=50, shuffle=True)
    margin = 1.0
    model = SiameseNet(EmbeddingNet())
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    fit(model, loader, ContrastiveLoss(margin), optimizer, n_epochs=12, log_interval=2)
    print("verification accuracy %.3f" % verification_accuracy(model, test, margin / 2))


if __name__ == "__main__":
    main()
