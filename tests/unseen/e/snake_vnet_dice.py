"""mattmacy/torchbiomed#2, "Dice loss backward function is wrong?"
Symptom: training with the hand written Dice loss, the Dice score falls instead of rising.
EXPECT: runs
TRUTH: backward gives the foreground channel the gradient of +Dice and the background channel that of -Dice although the loss is 1 - Dice; the two signs must be exchanged.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.autograd import Function
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(28)
torch.set_num_threads(1)

EPS = 1e-5


class DiceLoss(Function):
    """input: (voxels, 2) probabilities, target: (voxels,) with 0 and 1"""

    @staticmethod
    def forward(ctx, input, target):
        pred = input[:, 1]
        target = target.float()
        intersect = (pred * target).sum()
        union = (pred * pred).sum() + (target * target).sum() + 2 * EPS
        dice = 2 * intersect / union
        ctx.save_for_backward(pred, target, intersect, union)
        return 1 - dice

    @staticmethod
    def backward(ctx, grad_output):
        pred, target, intersect, union = ctx.saved_tensors
        dDice = 2 * (target * union - 2 * pred * intersect) / (union * union)
        grad_input = torch.stack((dDice * -grad_output, dDice * grad_output), dim=1)  # CULPRIT
        return grad_input, None


def dice_loss(input, target):
    return DiceLoss.apply(input, target)


def make_volumes(n, size=10):
    axis = torch.arange(size)
    zz, yy, xx = torch.meshgrid(axis, axis, axis, indexing="ij")
    c = torch.randint(3, size - 3, (3, n, 1, 1, 1))
    r = torch.randint(2, 4, (n, 1, 1, 1))
    label = (((zz - c[0]) ** 2 + (yy - c[1]) ** 2 + (xx - c[2]) ** 2) <= r ** 2).long()
    image = label.float() + 0.6 * torch.randn(n, size, size, size)
    return TensorDataset(image.unsqueeze(1), label)


class VNet(nn.Module):
    def __init__(self, ch=6):
        super().__init__()
        self.in_tr = nn.Sequential(nn.Conv3d(1, ch, 3, padding=1), nn.BatchNorm3d(ch), nn.ELU(inplace=True))
        self.mid_tr = nn.Sequential(nn.Conv3d(ch, ch, 3, padding=1), nn.BatchNorm3d(ch), nn.ELU(inplace=True))
        self.out_tr = nn.Conv3d(ch, 2, 1)

    def forward(self, x):
        x = self.in_tr(x)
        x = x + self.mid_tr(x)
        out = self.out_tr(x).permute(0, 2, 3, 4, 1).contiguous().view(-1, 2)
        return F.softmax(out, dim=1)


def hard_dice(model, dataset):
    model.eval()
    with torch.no_grad():
        pred = model(dataset.tensors[0]).argmax(1)
    target = dataset.tensors[1].view(-1)
    return (2 * (pred * target).sum() / (pred.sum() + target.sum()).clamp(min=1)).item()


def main():
    train_loader = DataLoader(make_volumes(120), batch_size=8, shuffle=True)
    test_set = make_volumes(30)
    model = VNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(6):
        model.train()
        total = 0.0
        for data, target in train_loader:
            optimizer.zero_grad()
            loss = dice_loss(model(data), target.view(-1))
            loss.backward()
            optimizer.step()
            total += loss.item()
        print("epoch %d dice loss %.4f test dice %.3f" % (epoch, total / len(train_loader), hard_dice(model, test_set)))


if __name__ == "__main__":
    main()
