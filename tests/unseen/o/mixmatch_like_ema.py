"""Semi-supervised text-topic classifier on embeddings: few labels, guessed labels for the rest, EMA model for evaluation.

TRUTH: In WeightEMA.__init__ "param = ema_param" only rebinds the loop variable, so the EMA model does not start as a copy of the model; it keeps
its own random start values, decays them very slowly and mixes two unrelated networks. Symptom: the EMA model's test
accuracy is near chance for most of the run and ends far below that of the raw model. Fix: param.data.copy_(ema_param.data). Drawn from
YU1ut/MixMatch-pytorch#23.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

SEED, DIM, CLASSES = 0, 30, 5
N_LABELED, N_UNLABELED, N_TEST = 60, 1200, 600
EPOCHS, STEPS, BATCH = 8, 25, 32
LR, EMA_DECAY, LAMBDA_U, T = 3e-3, 0.998, 3.0, 0.5


def make_split():
    g = torch.Generator().manual_seed(SEED)
    centers = 1.3 * torch.randn(CLASSES, DIM, generator=g)
    n = N_LABELED + N_UNLABELED + N_TEST
    y = torch.randint(0, CLASSES, (n,), generator=g)
    x = centers[y] + 1.6 * torch.randn(n, DIM, generator=g)
    a, b = N_LABELED, N_LABELED + N_UNLABELED
    return (x[:a], y[:a]), x[a:b], (x[b:], y[b:])


def create_model(ema=False):
    model = nn.Sequential(nn.Linear(DIM, 64), nn.LeakyReLU(0.1), nn.Linear(64, 64), nn.LeakyReLU(0.1),
                          nn.Linear(64, CLASSES))
    if ema:
        for param in model.parameters():
            param.detach_()
    return model


class WeightEMA(object):
    def __init__(self, model, ema_model, alpha=0.999):
        self.model = model
        self.ema_model = ema_model
        self.alpha = alpha
        self.params = list(model.parameters())
        self.ema_params = list(ema_model.parameters())
        self.wd = 0.02 * LR
        for param, ema_param in zip(self.params, self.ema_params):
            param = ema_param  # CULPRIT

    def step(self):
        one_minus_alpha = 1.0 - self.alpha
        with torch.no_grad():
            for param, ema_param in zip(self.params, self.ema_params):
                ema_param.mul_(self.alpha)
                ema_param.add_(param * one_minus_alpha)
                param.mul_(1 - self.wd)


def augment(x):
    return x + 0.3 * torch.randn_like(x)


def guess_labels(model, u1, u2):
    with torch.no_grad():
        p = (F.softmax(model(u1), 1) + F.softmax(model(u2), 1)) / 2
        pt = p ** (1 / T)
        return pt / pt.sum(1, keepdim=True)


def mixup(x, y):
    lam = torch.distributions.Beta(0.75, 0.75).sample().item()
    lam = max(lam, 1 - lam)
    idx = torch.randperm(len(x))
    return lam * x + (1 - lam) * x[idx], lam * y + (1 - lam) * y[idx]


def train_epoch(labeled, unlabeled, model, optimizer, ema_optimizer, epoch):
    model.train()
    xl, yl = labeled
    total = 0.0
    for step in range(STEPS):
        i, j = torch.randint(0, len(xl), (BATCH,)), torch.randint(0, len(unlabeled), (BATCH,))
        bx, by = augment(xl[i]), F.one_hot(yl[i], CLASSES).float()
        u1, u2 = augment(unlabeled[j]), augment(unlabeled[j])
        q = guess_labels(model, u1, u2)
        x, t = mixup(torch.cat([bx, u1, u2]), torch.cat([by, q, q]))
        logits = model(x)
        lx = -(F.log_softmax(logits[:BATCH], 1) * t[:BATCH]).sum(1).mean()
        lu = ((F.softmax(logits[BATCH:], 1) - t[BATCH:]) ** 2).mean()
        w = LAMBDA_U * min(1.0, (epoch * STEPS + step) / (EPOCHS * STEPS))
        loss = lx + w * lu
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        ema_optimizer.step()
        total += loss.item()
    return total / STEPS


@torch.no_grad()
def validate(model, x, y):
    model.eval()
    out = model(x)
    return F.cross_entropy(out, y).item(), (out.argmax(1) == y).float().mean().item()


def main():
    torch.manual_seed(SEED)
    labeled, unlabeled, test = make_split()
    model, ema_model = create_model(), create_model(ema=True)
    optimizer = torch.optim.Adam(model.parameters(), lr=LR)
    ema_optimizer = WeightEMA(model, ema_model, alpha=EMA_DECAY)
    for epoch in range(EPOCHS):
        loss = train_epoch(labeled, unlabeled, model, optimizer, ema_optimizer, epoch)
        raw, (el, ea) = validate(model, *test), validate(ema_model, *test)
        print(f"epoch {epoch + 1} train loss {loss:.4f} | raw acc {raw[1]:.3f} | ema loss {el:.4f} acc {ea:.3f}")


if __name__ == "__main__":
    main()
