"""WRONG. The class weights of the focal loss have no effect: the rare classes are not found although their alpha is large. With a last batch of another size it even crashes in gather.
TRUTH: `self.alpha = self.alpha.gather(...)` overwrites the table of class weights with the weights of the batch; from the second call on it indexes into that. Use a local variable: `alpha = self.alpha.gather(0, labels.view(-1))`.
THREAD: https://github.com/yatengLG/Focal-Loss-Pytorch/issues/5
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class focal_loss(nn.Module):
    def __init__(self, alpha=0.25, gamma=2, num_classes=3, size_average=True):
        super().__init__()
        self.size_average = size_average
        if isinstance(alpha, list):
            assert len(alpha) == num_classes
            self.alpha = torch.tensor(alpha)
        else:
            assert alpha < 1
            self.alpha = torch.zeros(num_classes)
            self.alpha[0] += alpha
            self.alpha[1:] += (1 - alpha)
        self.gamma = gamma
        self.seen = {}

    def forward(self, preds, labels):
        preds = preds.view(-1, preds.size(-1))
        preds_logsoft = F.log_softmax(preds, dim=1)
        preds_softmax = torch.exp(preds_logsoft)
        preds_softmax = preds_softmax.gather(1, labels.view(-1, 1))
        preds_logsoft = preds_logsoft.gather(1, labels.view(-1, 1))
        self.alpha = self.alpha.gather(0, labels.view(-1))  # CULPRIT
        alpha = self.alpha
        for c in labels.unique().tolist():
            self.seen[c] = alpha[labels == c].mean().item()
        loss = -torch.mul(torch.pow((1 - preds_softmax), self.gamma), preds_logsoft)
        loss = torch.mul(alpha, loss.t())
        return loss.mean() if self.size_average else loss.sum()


class Detector(nn.Module):
    def __init__(self, in_dim=6, num_classes=4):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(in_dim, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU())
        self.cls = nn.Linear(32, num_classes)
        self.box = nn.Linear(32, 4)

    def forward(self, x):
        h = self.trunk(x)
        return self.cls(h), self.box(h)


def anchors(n, generator):
    prior = torch.tensor([0.88, 0.05, 0.04, 0.03])
    y = torch.multinomial(prior, n, replacement=True, generator=generator)
    centers = torch.tensor([[0.0, 0, 0, 0, 0, 0], [1.0, 0.4, 0, 0, 0, 0], [0, 0, 1.0, 0.4, 0, 0], [0, 0, 0, 0, 1.0, 0.4]])
    x = centers[y] + 0.45 * torch.randn(n, 6, generator=generator)
    return x, y, x[:, :4] * 0.5 + 0.1


@torch.no_grad()
def recall(model, x, y):
    pred = model(x)[0].argmax(1)
    return [round((pred[y == c] == c).float().mean().item(), 2) for c in range(4)]


def train():
    gen = torch.Generator().manual_seed(7)
    model = Detector()
    cls_criterion = focal_loss(alpha=[0.05, 0.9, 0.9, 0.9], gamma=2, num_classes=4)
    box_criterion = nn.SmoothL1Loss()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, [90], 0.3)
    val_x, val_y, _ = anchors(3000, gen)
    for it in range(120):
        x, y, t = anchors(128, gen)
        cls, box = model(x)
        pos = y > 0
        loss_c = cls_criterion(cls, y)
        loss_b = box_criterion(box[pos], t[pos]) if pos.any() else box.sum() * 0
        loss = loss_c + 0.1 * loss_b
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        if it % 30 == 0 or it == 119:
            print("it %3d cls %.4f box %.4f recall %s" % (it, loss_c.item(), loss_b.item(), recall(model, val_x, val_y)))
    print("alpha used for the classes:", {c: round(a, 3) for c, a in sorted(cls_criterion.seen.items())})


if __name__ == "__main__":
    train()
