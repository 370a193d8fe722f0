"""What the user sees: I am training with my own grid data. Somehow the total loss doesn't seem to decrease at
all after many epochs, only the score goes down; position, dimension and angle stay where they were.

TRUTH: compute_loss overwrites the weighted sum with the score loss alone (a line left in from an experiment), so the
position/dimension/angle heads never get a gradient. Fix: delete that line.
THREAD: https://github.com/tom-roddick/oft/issues/6 "Loss doesn't decrease"
"""
import torch
import torch.nn as nn
import torch.nn.functional as F


class OftNet(nn.Module):

    def __init__(self, in_ch=3, width=24):
        super().__init__()
        self.frontend = nn.Sequential(
            nn.Conv2d(in_ch, width, 3, padding=1), nn.GroupNorm(4, width), nn.ReLU(inplace=True),
            nn.Conv2d(width, width, 3, padding=1), nn.GroupNorm(4, width), nn.ReLU(inplace=True))
        self.head_score = nn.Conv2d(width, 1, 3, padding=1)
        self.head_pos = nn.Conv2d(width, 2, 3, padding=1)
        self.head_dim = nn.Conv2d(width, 2, 3, padding=1)
        self.head_ang = nn.Conv2d(width, 2, 3, padding=1)

    def forward(self, image):
        feats = self.frontend(image)
        return (self.head_score(feats).squeeze(1), self.head_pos(feats),
                self.head_dim(feats), self.head_ang(feats))


def heatmap_loss(pred, target, weight=5.0):
    return ((pred - target).abs() * (1 + weight * (target > 0.05).float())).mean()


def masked_l1(pred, target, mask):
    mask = mask.unsqueeze(1).expand_as(pred)
    return ((pred - target).abs() * mask).sum() / mask.sum().clamp(min=1)


def compute_loss(pred_encoded, gt_encoded, loss_weights=(1., 1., 1., 1.)):
    score, pos_offsets, dim_offsets, ang_offsets = pred_encoded
    heatmaps, gt_pos, gt_dim, gt_ang, mask = gt_encoded
    score_weight, pos_weight, dim_weight, ang_weight = loss_weights

    score_loss = heatmap_loss(score, heatmaps)
    pos_loss = masked_l1(pos_offsets, gt_pos, mask)
    dim_loss = masked_l1(dim_offsets, gt_dim, mask)
    ang_loss = masked_l1(ang_offsets, gt_ang, mask)

    total_loss = (score_loss * score_weight + pos_loss * pos_weight
                  + dim_loss * dim_weight + ang_loss * ang_weight)
    total_loss = score_loss  # CULPRIT

    loss_dict = {'score': score_loss.item(), 'position': pos_loss.item(),
                 'dimension': dim_loss.item(), 'angle': ang_loss.item()}
    loss_dict['total'] = sum(loss_dict.values())
    return total_loss, loss_dict


def make_batch(n, size=12):
    image = torch.randn(n, 3, size, size) * 0.3
    blur = F.avg_pool2d(image, 3, 1, 1)
    heat = torch.sigmoid(8 * blur[:, 0])
    pos = torch.stack([blur[:, 1] + 2, 1 - blur[:, 2]], 1)
    dim = torch.stack([blur[:, 2] * 2 + 1.5, blur[:, 0] - 1], 1)
    ang = torch.stack([torch.cos(blur[:, 1] * 5), torch.sin(blur[:, 1] * 5)], 1)
    return image, (heat, pos, dim, ang, (heat > 0.5).float())


def train(model, optimizer, epochs=8, iters=25):
    for epoch in range(1, epochs + 1):
        summary = {}
        for _ in range(iters):
            image, gt = make_batch(8)
            pred = model(image)
            loss, loss_dict = compute_loss(pred, gt)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            for k, v in loss_dict.items():
                summary[k] = summary.get(k, 0.) + v / iters
        print('==> epoch', epoch, ' '.join(f'{k}: {v:.4f}' for k, v in summary.items()))


if __name__ == '__main__':
    torch.manual_seed(0)
    model = OftNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9, weight_decay=1e-4)
    train(model, optimizer)
