# kind: choice_over_batch
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(22)
CLASSES, DIM = 16, 24


class Mixture:
    """Few labelled and many unlabelled points around one centre per class."""

    def __init__(self):
        self.centres = 1.3 * torch.randn(CLASSES, DIM)
        y = torch.arange(CLASSES).repeat(3)
        self.few = (self.points(y), y)

    def points(self, y):
        return self.centres[y] + torch.randn(len(y), DIM)

    def labelled(self, n=16):
        idx = torch.randperm(len(self.few[1]))[:n]
        return self.few[0][idx], self.few[1][idx]

    def unlabelled(self, n=16):
        return self.points(torch.randint(0, CLASSES, (n,)))

    def test(self, n=600):
        y = torch.randint(0, CLASSES, (n,))
        return self.points(y), y


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(DIM, 48), nn.ReLU(), nn.Linear(48, CLASSES))

    def forward(self, x):
        return self.net(x)

    @torch.no_grad()
    def guess(self, x):
        """Hard labels and how sure the network is of them."""
        probs = self(x).softmax(dim=-1)
        confidence, label = probs.max(0)  # CULPRIT
        return label, confidence


def noisy(x, amount=0.5):
    return x + amount * torch.randn_like(x)


def consistency(model, x, threshold=0.8):
    label, confidence = model.guess(x)
    sure = (confidence > threshold).float()
    losses = F.cross_entropy(model(noisy(x)), label, reduction="none")
    return (losses * sure).mean(), sure.mean().item()


def main(steps=300, ramp=80):
    data, model = Mixture(), Classifier()
    opt = torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.9, weight_decay=5e-4)
    for step in range(1, steps + 1):
        x, y = data.labelled()
        loss = F.cross_entropy(model(noisy(x)), y)
        extra, used = consistency(model, data.unlabelled())
        loss = loss + min(1.0, step / ramp) * extra
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 60 == 0:
            xt, yt = data.test()
            with torch.no_grad():
                acc = (model(xt).argmax(1) == yt).float().mean().item()
            print(f"step {step} loss {loss.item():.3f} used {used:.2f} test acc {acc:.3f}")


main()
