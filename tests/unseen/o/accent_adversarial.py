"""Speaker-style adversarial training of a content encoder.

Synthetic "utterances": 12 features that carry one of four contents and one of two
accents.  A content classifier and an accent classifier sit on the encoding; the accent
classifier is behind a gradient reversal layer so that the accent is removed from it.

TRUTH: The gradient reversal is written as an nn.Module with a `backward` method, which autograd never calls: the layer is
the identity in both directions and the encoder is trained to keep the accent (accent loss falls to 0.001 and accuracy is 100%; when
reversed the loss stays around ln 2 and the accuracy swings). Fix: a torch.autograd.Function called from forward, or register the
reversal as a hook on the layer's output. Drawn from hash2430/pitchtron#3
(Does gradient reversal layer work?).
"""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader

hparams = dict(
    seed=7,
    n_train=1200,
    n_test=600,
    feat_dim=12,
    enc_dim=8,
    epochs=12,
    batch_size=48,
    lr=3e-3,
    adv_weight=1.0,
)


class Utterances(Dataset):
    def __init__(self, n, dim, seed):
        base = torch.Generator().manual_seed(99)
        content_dirs = torch.randn(4, dim, generator=base) * 1.5
        accent_dirs = torch.randn(2, dim, generator=base)
        g = torch.Generator().manual_seed(seed)
        self.content = torch.randint(0, 4, (n,), generator=g)
        self.accent = torch.randint(0, 2, (n,), generator=g)
        noise = 0.5 * torch.randn(n, dim, generator=g)
        self.x = content_dirs[self.content] + accent_dirs[self.accent] + noise

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i], self.content[i], self.accent[i]


class GradientReversalLayer(nn.Module):
    def __init__(self, weight):
        super().__init__()
        self.weight = weight

    def forward(self, x):
        return x.view_as(x)  # CULPRIT

    def backward(self, grad_output):  # CULPRIT
        return -self.weight * grad_output


class Encoder(nn.Module):
    def __init__(self, feat_dim, enc_dim):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(feat_dim, 32), nn.ReLU(), nn.Linear(32, enc_dim))

    def forward(self, x):
        return self.net(x)


def classifier(enc_dim, n_out):
    return nn.Sequential(nn.Linear(enc_dim, 32), nn.ReLU(), nn.Linear(32, n_out))


class Model(nn.Module):
    def __init__(self, hp):
        super().__init__()
        self.encoder = Encoder(hp["feat_dim"], hp["enc_dim"])
        self.content = classifier(hp["enc_dim"], 4)
        self.grl = GradientReversalLayer(hp["adv_weight"])
        self.accent = classifier(hp["enc_dim"], 2)

    def forward(self, x):
        z = self.encoder(x)
        return self.content(z), self.accent(self.grl(z))


def evaluate(model, loader):
    model.eval()
    n = c = a = 0
    with torch.no_grad():
        for x, yc, ya in loader:
            pc, pa = model(x)
            c += (pc.argmax(1) == yc).sum().item()
            a += (pa.argmax(1) == ya).sum().item()
            n += len(x)
    model.train()
    return c / n, a / n


def main(hp):
    torch.manual_seed(hp["seed"])
    train = DataLoader(Utterances(hp["n_train"], hp["feat_dim"], 1), hp["batch_size"], shuffle=True)
    test = DataLoader(Utterances(hp["n_test"], hp["feat_dim"], 2), 200)
    model = Model(hp)
    opt = torch.optim.Adam([
        {"params": list(model.encoder.parameters()) + list(model.content.parameters())},
        {"params": model.accent.parameters(), "lr": 2 * hp["lr"]},
    ], lr=hp["lr"])

    for epoch in range(hp["epochs"]):
        tot_c = tot_a = 0.0
        for x, yc, ya in train:
            pc, pa = model(x)
            loss_c = F.cross_entropy(pc, yc)
            loss_a = F.cross_entropy(pa, ya)
            opt.zero_grad()
            (loss_c + loss_a).backward()
            opt.step()
            tot_c += loss_c.item()
            tot_a += loss_a.item()
        if epoch % 3 == 2:
            acc_c, acc_a = evaluate(model, test)
            print("epoch %2d  content loss %.3f acc %.3f | accent loss %.3f acc %.3f"
                  % (epoch, tot_c / len(train), acc_c, tot_a / len(train), acc_a))


if __name__ == "__main__":
    main(hparams)
