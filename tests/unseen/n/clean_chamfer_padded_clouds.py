"""RIGHT. Chamfer loss for point clouds of different sizes: nearest neighbours are searched without gradient, padded entries are overwritten in place, the distances are computed again for the chosen pairs only.
TRUTH: the choice of the neighbour is piecewise constant, so no_grad around cdist/argmin loses nothing; the gradient flows through the gathered differences (squared, no root, so no NaN at 0). masked_fill_ writes into the fresh result of cdist, which no graph needs. The per-cloud sums are divided by the true number of points.
"""
import torch
import torch.nn as nn

torch.manual_seed(0)

cfg = {"max_points": 40, "out_points": 32, "latent": 16, "lr": 5e-3, "steps": 60, "batch": 24}


def sample_clouds(n):
    """ellipses in 3d, with 25 to 40 points, padded with zeros"""
    num = torch.randint(25, cfg["max_points"] + 1, (n,))
    phi = 2 * torch.pi * torch.rand(n, cfg["max_points"])
    ab = torch.empty(n, 2, 1).uniform_(0.5, 1.5)
    pts = torch.stack([ab[:, 0] * phi.cos(), ab[:, 1] * phi.sin(), 0.2 * torch.sin(2 * phi)], dim=-1)
    mask = torch.arange(cfg["max_points"])[None] < num[:, None]
    return pts * mask.unsqueeze(-1), mask


class CloudAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.point = nn.Sequential(nn.Linear(3, 32), nn.ReLU(inplace=True), nn.Linear(32, cfg["latent"]))
        self.dec = nn.Sequential(nn.Linear(cfg["latent"], 64), nn.ReLU(inplace=True),
                                 nn.Linear(64, 3 * cfg["out_points"]))

    def forward(self, pts, mask):
        f = self.point(pts).masked_fill(~mask.unsqueeze(-1), float("-inf"))
        code = f.max(dim=1).values
        return self.dec(code).view(-1, cfg["out_points"], 3)


def gather_points(pts, idx):
    return pts.gather(1, idx.unsqueeze(-1).expand(-1, -1, 3))


def chamfer(pred, target, mask):
    with torch.no_grad():
        dist = torch.cdist(pred, target)
        dist.masked_fill_(~mask.unsqueeze(1), float("inf"))
        to_target = dist.argmin(dim=2)
        to_pred = dist.argmin(dim=1)
    forward = (pred - gather_points(target, to_target)).pow(2).sum(-1).mean(1)
    backward = (gather_points(pred, to_pred) - target).pow(2).sum(-1)
    backward = (backward * mask).sum(1) / mask.sum(1)
    return (forward + backward).mean()


def main():
    model = CloudAE()
    opt = torch.optim.Adam(model.parameters(), lr=cfg["lr"])
    warmup = torch.optim.lr_scheduler.LinearLR(opt, 0.1, 1.0, total_iters=5)
    val = sample_clouds(64)
    for step in range(cfg["steps"]):
        pts, mask = sample_clouds(cfg["batch"])
        loss = chamfer(model(pts, mask), pts, mask)
        opt.zero_grad()
        loss.backward()
        opt.step()
        warmup.step()
        if step % 15 == 0:
            print(f"step {step:3d} chamfer {loss.item():.4f}")
    model.eval()
    with torch.no_grad():
        print(f"validation chamfer {chamfer(model(val[0], val[1]), *val).item():.4f}")


if __name__ == "__main__":
    main()
