"""WRONG. triangle_loss_fn gives nan: after the first update every predicted vertex is nan.
TRUTH: the Laplacian loss takes the square root of a sum that is exactly 0 at the flat vertices, where sqrt has an infinite gradient; add a small eps inside the sqrt.
THREAD: https://github.com/akanazawa/cmr/issues/11
"""
import torch
import torch.nn as nn

torch.manual_seed(0)
GRID = 6


def grid_mesh(n):
    verts, nbrs = [], []
    for i in range(n):
        for j in range(n):
            verts.append([float(i), float(j), 0.0])
            nb = [(i + di) * n + j + dj for di, dj in ((1, 0), (-1, 0), (0, 1), (0, -1))
                  if 0 <= i + di < n and 0 <= j + dj < n]
            nbrs.append(nb)
    L = torch.zeros(n * n, n * n)
    for v, nb in enumerate(nbrs):
        L[v, v] = 1.0
        for u in nb:
            L[v, u] = -1.0 / len(nb)
    return torch.tensor(verts), L


class LaplacianLoss(object):
    """Encourages minimal mean curvature shapes."""

    def __init__(self, laplacian):
        self.laplacian = laplacian

    def __call__(self, verts):
        Lx = torch.einsum('uv,bvc->buc', self.laplacian, verts)
        Lx = Lx.reshape(-1, Lx.size(2))
        loss = torch.sqrt(Lx.pow(2).sum(1)).mean()  # CULPRIT
        return loss


class MeshNet(nn.Module):
    def __init__(self, mean_v, nz_feat=20):
        super().__init__()
        self.register_buffer('mean_v', mean_v)
        self.encoder = nn.Sequential(nn.Linear(10, nz_feat), nn.LeakyReLU(0.2))
        self.shape_predictor = nn.Linear(nz_feat, mean_v.numel())
        nn.init.zeros_(self.shape_predictor.weight)
        nn.init.zeros_(self.shape_predictor.bias)

    def forward(self, img_feat):
        delta_v = self.shape_predictor(self.encoder(img_feat))
        return self.mean_v.unsqueeze(0) + delta_v.view(-1, *self.mean_v.shape)


class ShapeTrainer(object):
    def __init__(self, batch_size=16):
        self.batch_size = batch_size
        self.mean_v, L = grid_mesh(GRID)
        self.model = MeshNet(self.mean_v)
        self.triangle_loss_fn = LaplacianLoss(L)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=3e-3)

    def set_input(self):
        z = torch.randn(self.batch_size, 10)
        bump = torch.exp(-(self.mean_v[:, :2] - 2.5).pow(2).sum(1) / 4)
        self.img = z
        self.gt = self.mean_v.unsqueeze(0).repeat(self.batch_size, 1, 1)
        self.gt[:, :, 2] += z[:, :1] * bump

    def train(self, iters=300, tri_wt=0.02):
        for it in range(iters):
            self.set_input()
            pred_v = self.model(self.img)
            self.kp_loss = (pred_v - self.gt).pow(2).mean()
            self.tri_loss = self.triangle_loss_fn(pred_v)
            total_loss = self.kp_loss + tri_wt * self.tri_loss
            self.optimizer.zero_grad()
            total_loss.backward()
            self.optimizer.step()
            if it % 50 == 0 or it == iters - 1:
                print('iter %d kp %.4f tri %.4f' % (it, self.kp_loss.item(), self.tri_loss.item()))


if __name__ == '__main__':
    ShapeTrainer().train()
