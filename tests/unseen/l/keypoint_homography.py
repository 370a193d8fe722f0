"""WRONG. Homography regression: the first loss is a fine number, from the second step on it is nan. The padded keypoints are masked out of the loss, and the forward results are finite.
TRUTH: in convert_points_from_homogeneous `1.0 / z_vec` is computed for z = 0 too (the padded points); torch.where hides the inf in the forward pass, but backward makes 0 * inf = nan of it. Make the denominator safe before dividing: `1.0 / torch.where(mask, z_vec, torch.ones_like(z_vec))`.
THREAD: https://github.com/kornia/kornia/issues/367
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


def convert_points_to_homogeneous(points):
    return F.pad(points, [0, 1], "constant", 1.0)


def convert_points_from_homogeneous(points, eps=1e-8):
    z_vec = points[..., -1:]
    mask = torch.abs(z_vec) > eps
    scale = torch.where(mask, 1.0 / z_vec, torch.ones_like(z_vec))  # CULPRIT
    return scale * points[..., :-1]


def transform_points(H, points_h):
    return convert_points_from_homogeneous(points_h @ H.transpose(1, 2))


class HomographyRegressor(nn.Module):
    def __init__(self, hidden=48):
        super().__init__()
        self.point_net = nn.Sequential(nn.Linear(4, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU())
        self.head = nn.Sequential(nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, 8))
        nn.init.normal_(self.head[-1].weight, std=1e-3)
        nn.init.zeros_(self.head[-1].bias)

    def forward(self, src, dst, valid):
        feat = self.point_net(torch.cat([src, dst], dim=-1)) * valid[..., None]
        feat = feat.sum(1) / valid.sum(1, keepdim=True)
        delta = F.pad(self.head(feat), [0, 1])
        return torch.eye(3) + 0.3 * delta.view(-1, 3, 3)


def random_homography(n, generator):
    delta = torch.randn(n, 8, generator=generator) * 0.15
    delta[:, 6:] *= 0.3
    return torch.eye(3) + F.pad(delta, [0, 1]).view(-1, 3, 3)


def collate(n, max_points, generator):
    H = random_homography(n, generator)
    src_h = convert_points_to_homogeneous(torch.rand(n, max_points, 2, generator=generator) * 2 - 1)
    count = torch.randint(6, max_points + 1, (n,), generator=generator)
    valid = (torch.arange(max_points)[None] < count[:, None]).float()
    src_h = src_h * valid[..., None]
    dst = transform_points(H, src_h)
    return src_h, dst, valid


def reprojection_loss(pred, dst, valid):
    err = F.smooth_l1_loss(pred, dst, reduction="none").sum(-1)
    return (err * valid).sum() / valid.sum()


def train(cfg):
    gen = torch.Generator().manual_seed(1)
    model = HomographyRegressor(cfg["hidden"])
    optimizer = torch.optim.Adam(model.parameters(), lr=cfg["lr"])
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, cfg["steps"])
    history = []
    for step in range(cfg["steps"]):
        src_h, dst, valid = collate(cfg["batch"], cfg["max_points"], gen)
        H = model(src_h[..., :2], dst, valid)
        loss = reprojection_loss(transform_points(H, src_h), dst, valid)
        reg = 1e-4 * (H - torch.eye(3)).pow(2).mean()
        optimizer.zero_grad()
        (loss + reg).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        history.append(loss.item())
        if step < 2 or step % 50 == 49:
            print("step %3d reprojection %.5f" % (step, history[-1]))
    return history


if __name__ == "__main__":
    train(dict(hidden=48, lr=3e-3, steps=150, batch=32, max_points=12))
