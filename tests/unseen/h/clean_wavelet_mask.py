"""CORRECT. Straight-through masks written as (hard - soft).detach() + soft (asked: why are the planes detached; answered: forward hard, backward soft).
THREAD: https://github.com/daniel03c1/masked_wavelet_nerf/issues/10
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

GRID, N_COMP = 16, 6


class MaskedTensorVM(nn.Module):
    """2-d field as a sum of products of two masked line factors"""

    def __init__(self, use_mask=True):
        super().__init__()
        self.use_mask = use_mask
        self.density_plane = nn.Parameter(0.3 * torch.randn(N_COMP, GRID))
        self.density_line = nn.Parameter(0.3 * torch.randn(N_COMP, GRID))
        self.density_plane_mask = nn.Parameter(torch.ones(N_COMP, GRID))
        self.density_line_mask = nn.Parameter(torch.ones(N_COMP, GRID))

    def masked(self, values, mask):
        mask = torch.sigmoid(mask)
        return (values * (mask >= 0.5) - values * mask).detach() + values * mask

    def factors(self):
        plane, line = self.density_plane, self.density_line
        if self.use_mask:
            plane = self.masked(plane, self.density_plane_mask)
            line = self.masked(line, self.density_line_mask)
        return plane, line

    def forward(self, xy):
        plane, line = self.factors()
        px = self.sample(plane, xy[:, 0])
        py = self.sample(line, xy[:, 1])
        return (px * py).sum(0)

    def sample(self, line, coord):
        grid = torch.stack([torch.zeros_like(coord), coord], -1).view(1, -1, 1, 2)
        out = F.grid_sample(line.view(1, N_COMP, GRID, 1), grid, align_corners=True)
        return out.view(N_COMP, -1)

    def mask_loss(self):
        return torch.sigmoid(self.density_plane_mask).mean() + torch.sigmoid(self.density_line_mask).mean()

    def sparsity(self):
        with torch.no_grad():
            kept = (self.density_plane_mask >= 0).float().mean() + (self.density_line_mask >= 0).float().mean()
        return 1 - kept.item() / 2


def target_field(xy):
    x, y = xy[:, 0], xy[:, 1]
    return torch.exp(-8 * (x - 0.3) ** 2) * torch.sin(3 * y) + (x < -0.4).float() * torch.exp(-6 * (y + 0.5) ** 2)


model = MaskedTensorVM()
optimizer = torch.optim.Adam([
    {'params': [model.density_plane, model.density_line], 'lr': 1e-2},
    {'params': [model.density_plane_mask, model.density_line_mask], 'lr': 2e-2},
])

test_xy = torch.rand(2000, 2) * 2 - 1
for it in range(1, 601):
    xy = torch.rand(1024, 2) * 2 - 1
    mse = F.mse_loss(model(xy), target_field(xy))
    loss = mse + 1e-3 * model.mask_loss()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if it % 150 == 0:
        with torch.no_grad():
            test = F.mse_loss(model(test_xy), target_field(test_xy)).item()
        print('iter %d mse %.5f test %.5f pruned %.2f' % (it, mse.item(), test, model.sparsity()))
