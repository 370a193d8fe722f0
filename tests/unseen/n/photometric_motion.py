"""WRONG. The motion between two frames cannot be estimated: with zero flow the warped image should be the image itself but it comes out rotated/mirrored, and the photometric loss gets stuck.
TRUTH: the last dimension of the grid of F.grid_sample is (x, y), but the base grid is stacked as (y, x), so the image is transposed. Stack (xs, ys).
THREAD: https://github.com/HKUST-3DV/DIM-SLAM/issues/12
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

H, W = 32, 32


def draw(cx, cy, sx, sy):
    y, x = torch.meshgrid(torch.arange(H).float(), torch.arange(W).float(), indexing="ij")
    return torch.exp(-((x - cx) ** 2 / (2 * sx ** 2) + (y - cy) ** 2 / (2 * sy ** 2)))


def make_frames(shift_x, shift_y):
    blobs = [(10, 8, 5, 2.5), (21, 19, 3, 3), (8, 23, 2.5, 4.5)]
    first = sum(draw(*b) for b in blobs)
    second = sum(draw(cx + shift_x, cy + shift_y, sx, sy) for cx, cy, sx, sy in blobs)
    return first[None, None], second[None, None]


class Warper(nn.Module):
    """samples the second frame at the positions (pixel + flow)"""

    def __init__(self, h, w):
        super().__init__()
        ys, xs = torch.meshgrid(torch.linspace(-1, 1, h), torch.linspace(-1, 1, w), indexing="ij")
        base = torch.stack((ys, xs), dim=-1)  # CULPRIT
        self.register_buffer("base", base.unsqueeze(0))
        self.register_buffer("scale", torch.tensor([2.0 / (w - 1), 2.0 / (h - 1)]))

    def forward(self, img, flow):
        # flow: (B, 2, H, W) in pixels, channel 0 along the width, channel 1 along the height
        grid = self.base + flow.permute(0, 2, 3, 1) * self.scale
        return F.grid_sample(img, grid, mode="bilinear", padding_mode="border", align_corners=True)


class AffineMotion(nn.Module):
    """flow = t + A p, with p the normalized position"""

    def __init__(self):
        super().__init__()
        self.t = nn.Parameter(torch.zeros(2))
        self.A = nn.Parameter(torch.zeros(2, 2))
        y, x = torch.meshgrid(torch.linspace(-1, 1, H), torch.linspace(-1, 1, W), indexing="ij")
        self.register_buffer("p", torch.stack((x, y)))

    def forward(self):
        flow = self.t.view(2, 1, 1) + torch.einsum("ij,jhw->ihw", self.A, self.p)
        return flow.unsqueeze(0)


def charbonnier(a, b, eps=1e-3):
    return torch.sqrt((a - b) ** 2 + eps ** 2).mean()


def smoothness(flow):
    dx = flow[..., :, 1:] - flow[..., :, :-1]
    dy = flow[..., 1:, :] - flow[..., :-1, :]
    return dx.abs().mean() + dy.abs().mean()


def main():
    true_shift = (2.0, -1.5)
    frame0, frame1 = make_frames(*true_shift)
    warp, motion = Warper(H, W), AffineMotion()
    opt = torch.optim.Adam([
        {"params": [motion.t], "lr": 0.1},
        {"params": [motion.A], "lr": 0.01},
    ])
    sched = torch.optim.lr_scheduler.StepLR(opt, step_size=40, gamma=0.5)

    with torch.no_grad():
        zero = torch.zeros(1, 2, H, W)
        print("difference of the image and its warp with zero flow:",
              round((warp(frame0, zero) - frame0).abs().max().item(), 4))

    for it in range(100):
        flow = motion()
        warped = warp(frame1, flow)
        photo = charbonnier(warped, frame0)
        loss = photo + 0.001 * smoothness(flow)
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
        if it % 20 == 0:
            print(f"it {it:3d} photometric {photo.item():.5f} t {motion.t.detach().tolist()}")

    err = (motion.t.detach() - torch.tensor(true_shift)).abs().max().item()
    print(f"final photometric loss {photo.item():.5f}, error of the shift {err:.3f} px")


if __name__ == "__main__":
    main()
