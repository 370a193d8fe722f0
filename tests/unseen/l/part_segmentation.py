"""WRONG. The part segmentation does not get beyond the frequency of the largest part, and the loss stays near its first value, whatever the learning rate.
TRUTH: the logits are (B, C, N); `pred.view(-1, num_parts)` mixes classes and points instead of giving one row per point. Transpose first: `pred.transpose(1, 2).reshape(-1, num_parts)`.
THREAD: https://github.com/torch-points3d/torch-points3d/pull/76
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class TNet(nn.Module):
    def __init__(self, k=3):
        super().__init__()
        self.k = k
        self.conv = nn.Sequential(nn.Conv1d(k, 24, 1), nn.BatchNorm1d(24), nn.ReLU())
        self.fc = nn.Linear(24, k * k)
        nn.init.zeros_(self.fc.weight)
        nn.init.zeros_(self.fc.bias)

    def forward(self, x):
        g = self.conv(x).max(dim=2).values
        return self.fc(g).view(-1, self.k, self.k) + torch.eye(self.k)


class PointNetSeg(nn.Module):
    def __init__(self, num_parts):
        super().__init__()
        self.num_parts = num_parts
        self.tnet = TNet()
        self.local = nn.Sequential(nn.Conv1d(3, 32, 1), nn.BatchNorm1d(32), nn.ReLU())
        self.deep = nn.Sequential(nn.Conv1d(32, 64, 1), nn.BatchNorm1d(64), nn.ReLU())
        self.seg = nn.Sequential(nn.Conv1d(96, 48, 1), nn.BatchNorm1d(48), nn.ReLU(), nn.Conv1d(48, num_parts, 1))

    def forward(self, points):
        x = points.transpose(1, 2)
        trans = self.tnet(x)
        x = torch.bmm(trans, x)
        loc = self.local(x)
        glob = self.deep(loc).max(dim=2, keepdim=True).values
        feat = torch.cat([loc, glob.expand(-1, -1, loc.shape[2])], dim=1)
        return self.seg(feat), trans


def get_loss(pred, target, trans, num_parts, mat_diff_loss_scale=0.001):
    pred = pred.view(-1, num_parts)  # CULPRIT
    loss = F.cross_entropy(pred, target.view(-1))
    diff = torch.bmm(trans, trans.transpose(1, 2)) - torch.eye(trans.shape[1])
    return loss + mat_diff_loss_scale * diff.pow(2).sum(dim=(1, 2)).mean()


def make_shapes(n, num_points, generator):
    target = torch.multinomial(torch.tensor([0.4, 0.25, 0.2, 0.15]), n * num_points, True, generator=generator)
    target = target.view(n, num_points)
    centers = torch.tensor([[0.0, 0.0, 0.0], [1.0, 0.0, 0.2], [0.0, 1.0, -0.2], [-0.7, -0.7, 0.4]])
    points = centers[target] + 0.2 * torch.randn(n, num_points, 3, generator=generator)
    scale = 0.9 + 0.2 * torch.rand(n, 1, 1, generator=generator)
    return points * scale, target


@torch.no_grad()
def evaluate(model, shapes):
    model.eval()
    points, target = shapes
    pred = model(points)[0].argmax(dim=1)
    acc = (pred == target).float().mean().item()
    ious = []
    for part in range(model.num_parts):
        inter = ((pred == part) & (target == part)).sum().item()
        union = ((pred == part) | (target == part)).sum().item()
        ious.append(inter / union if union else 1.0)
    model.train()
    return acc, sum(ious) / len(ious)


def main():
    gen = torch.Generator().manual_seed(9)
    num_parts, epochs = 4, 5
    model = PointNetSeg(num_parts)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3, weight_decay=1e-4)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.7)
    test_set = make_shapes(16, 128, gen)
    for epoch in range(epochs):
        total = 0.0
        for _ in range(10):
            points, target = make_shapes(8, 128, gen)
            pred, trans = model(points)
            loss = get_loss(pred, target, trans, num_parts)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        scheduler.step()
        acc, miou = evaluate(model, test_set)
        print("epoch %d loss %.3f acc %.3f miou %.3f" % (epoch, total / 10, acc, miou))


if __name__ == "__main__":
    main()
