"""WRONG. Part segmentation of point clouds does not learn: the loss stays close to the entropy of the labels and the accuracy near that of guessing, though the task is very easy.
TRUTH: the network output is (B, C, N); view(-1, C) without permuting first reads C neighbouring points of one channel as the class scores of a point. It must be out.permute(0, 2, 1).reshape(-1, C).
THREAD: https://github.com/torch-points3d/torch-points3d/pull/76
"""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)

opt = {"num_points": 96, "num_parts": 4, "batch_size": 16, "nepoch": 6, "lr": 0.01}


class ShapeParts(Dataset):
    """Clouds of points; the part is the quadrant (in the xy plane) in which the point lies."""

    def __init__(self, n_shapes, n_points):
        self.points = torch.randn(n_shapes, n_points, 3)
        self.seg = (self.points[..., 0] > 0).long() * 2 + (self.points[..., 1] > 0).long()

    def __len__(self):
        return len(self.points)

    def __getitem__(self, i):
        return self.points[i], self.seg[i]


class PointNetFeat(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv1d(3, 32, 1)
        self.conv2 = nn.Conv1d(32, 64, 1)
        self.bn1 = nn.BatchNorm1d(32)
        self.bn2 = nn.BatchNorm1d(64)

    def forward(self, x):
        pointfeat = F.relu(self.bn1(self.conv1(x)))
        x = self.bn2(self.conv2(pointfeat))
        glob = x.max(dim=2, keepdim=True)[0].expand(-1, -1, pointfeat.size(2))
        return torch.cat([glob, pointfeat], dim=1)


class PointNetDenseCls(nn.Module):
    def __init__(self, k):
        super().__init__()
        self.k = k
        self.feat = PointNetFeat()
        self.conv1 = nn.Conv1d(96, 32, 1)
        self.conv2 = nn.Conv1d(32, k, 1)
        self.bn1 = nn.BatchNorm1d(32)

    def forward(self, x):
        x = self.feat(x)
        x = F.relu(self.bn1(self.conv1(x)))
        out = self.conv2(x)
        out = out.contiguous().view(-1, self.k)  # CULPRIT
        return F.log_softmax(out, dim=-1)


def run_epoch(model, loader, optimizer=None):
    model.train(optimizer is not None)
    total, correct, count = 0.0, 0, 0
    for points, target in loader:
        points = points.transpose(2, 1)
        target = target.reshape(-1)
        with torch.set_grad_enabled(optimizer is not None):
            pred = model(points)
            loss = F.nll_loss(pred, target)
        if optimizer is not None:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        total += loss.item() * target.numel()
        correct += (pred.argmax(1) == target).sum().item()
        count += target.numel()
    return total / count, correct / count


def main():
    train = DataLoader(ShapeParts(128, opt["num_points"]), batch_size=opt["batch_size"], shuffle=True)
    test = DataLoader(ShapeParts(32, opt["num_points"]), batch_size=opt["batch_size"])
    classifier = PointNetDenseCls(opt["num_parts"])
    optimizer = torch.optim.Adam(classifier.parameters(), lr=opt["lr"])
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=3, gamma=0.5)
    for epoch in range(opt["nepoch"]):
        tl, ta = run_epoch(classifier, train, optimizer)
        vl, va = run_epoch(classifier, test)
        scheduler.step()
        print(f"[{epoch}] train loss {tl:.4f} acc {ta:.3f} | test loss {vl:.4f} acc {va:.3f}")


if __name__ == "__main__":
    main()
