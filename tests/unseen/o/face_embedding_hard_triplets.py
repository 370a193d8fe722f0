"""Face embeddings: softmax pre-loss plus triplet loss on hard triplets.

"Faces" are 48-dim vectors from 20 training identities; evaluation is verification on
10 identities that were never seen.  Triplets whose margin is violated are selected in
every batch, the triplet term is added to the identity cross entropy.

TRUTH: The hard triplets are selected by going through numpy (`.data.numpy()[idx]` and back with from_numpy), so the
selected embeddings are constants: the triplet loss has no gradient, only the cross entropy is trained and the embedding
layer never changes; many triplets stay hard and the triplet loss falls only by what the shared body gains. Fix: index the tensors directly, out[idx]. Drawn from liorshk/facenet_pytorch#6 (Bug: triplet loss).
"""
import argparse

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader

parser = argparse.ArgumentParser(description="Face recognition")
parser.add_argument("--epochs", type=int, default=12)
parser.add_argument("--embedding-size", type=int, default=16)
parser.add_argument("--batch-size", type=int, default=64)
parser.add_argument("--n-triplets", type=int, default=1600)
parser.add_argument("--margin", type=float, default=0.5)
parser.add_argument("--loss-ratio", type=float, default=5.0)
parser.add_argument("--lr", type=float, default=1e-3)
parser.add_argument("--seed", type=int, default=0)


class Faces:
    def __init__(self, n_ids, per_id, seed, dim=48):
        mix = np.random.RandomState(77)
        self.to_face = mix.normal(0, 1, (12, dim)) / 3.0
        self.light = mix.normal(0, 1, (6, dim)) / 2.0
        rng = np.random.RandomState(seed)
        code = rng.normal(0, 1, (n_ids, 12))
        self.label = np.repeat(np.arange(n_ids), per_id)
        n = len(self.label)
        x = np.tanh(code[self.label] @ self.to_face + 0.8 * rng.normal(0, 1, (n, dim)))
        x = x + 3.0 * rng.normal(0, 1, (n, 6)) @ self.light
        self.x = torch.tensor(x, dtype=torch.float32)


class TripletFaceDataset(Dataset):
    def __init__(self, faces, n_triplets, seed):
        self.faces = faces
        rng = np.random.RandomState(seed)
        ids = np.unique(faces.label)
        self.triplets = []
        for _ in range(n_triplets):
            c1, c2 = rng.choice(ids, 2, replace=False)
            a, p = rng.choice(np.where(faces.label == c1)[0], 2, replace=False)
            n = rng.choice(np.where(faces.label == c2)[0])
            self.triplets.append((a, p, n, c1, c2))

    def __len__(self):
        return len(self.triplets)

    def __getitem__(self, i):
        a, p, n, c1, c2 = self.triplets[i]
        x = self.faces.x
        return x[a], x[p], x[n], int(c1), int(c2)


class FaceModel(nn.Module):
    def __init__(self, embedding_size, num_classes, dim=48):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(dim, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
        self.embedding = nn.Linear(64, embedding_size)
        self.classifier = nn.Linear(64, num_classes)

    def forward(self, x):
        h = self.body(x)
        return F.normalize(self.embedding(h), dim=1), self.classifier(h)


def l2(a, b):
    return ((a - b).pow(2).sum(1) + 1e-8).sqrt()


def select(out, hard_triplets):
    return torch.from_numpy(out.cpu().data.numpy()[hard_triplets])  # CULPRIT


def train(loader, model, optimizer, epoch, args):
    model.train()
    stats = np.zeros(4)
    for a, p, n, label_p, label_n in loader:
        (out_a, cls_a), (out_p, cls_p), (out_n, cls_n) = model(a), model(p), model(n)
        d_p, d_n = l2(out_a, out_p), l2(out_a, out_n)
        violated = (d_n - d_p < args.margin).cpu().numpy().flatten()
        hard_triplets = np.where(violated)[0]
        if len(hard_triplets) == 0:
            continue
        sel_a, sel_p, sel_n = (select(o, hard_triplets) for o in (out_a, out_p, out_n))
        triplet_loss = F.triplet_margin_loss(sel_a, sel_p, sel_n, margin=args.margin)

        cls = torch.cat([cls_a, cls_p, cls_n])
        labels = torch.cat([label_p, label_p, label_n])
        cross_entropy_loss = F.cross_entropy(cls, labels)

        loss = cross_entropy_loss + triplet_loss * args.loss_ratio
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        stats += [1, cross_entropy_loss.item(), triplet_loss.item(), len(hard_triplets)]
    s = stats[1:] / max(stats[0], 1)
    if epoch % 3 == 0:
        print("epoch %2d  CE %.4f  triplet %.4f  hard triplets per batch %.1f" % (epoch, s[0], s[1], s[2]))


@torch.no_grad()
def test(model, faces, seed=5):
    model.eval()
    triplets = TripletFaceDataset(faces, 800, seed)
    a, p, n, _, _ = next(iter(DataLoader(triplets, 800)))
    (out_a, _), (out_p, _), (out_n, _) = model(a), model(p), model(n)
    d_p, d_n = l2(out_a, out_p), l2(out_a, out_n)
    print("unseen identities: triplet accuracy %.3f, within margin %.3f"
          % ((d_p < d_n).float().mean(), (d_n - d_p < 0.5).float().mean()))


def main():
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    faces = Faces(20, 20, seed=1)
    unseen = Faces(10, 20, seed=2)
    loader = DataLoader(TripletFaceDataset(faces, args.n_triplets, 3), args.batch_size, shuffle=True)
    model = FaceModel(args.embedding_size, 20)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    for epoch in range(1, args.epochs + 1):
        train(loader, model, optimizer, epoch, args)
    test(model, unseen)


if __name__ == "__main__":
    main()
