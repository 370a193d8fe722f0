"""guopengf/FL-MRCM#10
Symptom: The adversarial loss of the generator is printed but has no effect: the latent features of the two sites stay far apart.
EXPECT: runs
TRUTH: loss_adv_g is detached and turned into a float before it enters the total loss; keep the tensor and detach only what is stored.
"""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class ReconNet(nn.Module):
    def __init__(self, dim=20, latent=6):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(dim, 48), nn.ReLU(), nn.Linear(48, latent))
        self.decoder = nn.Sequential(nn.Linear(latent, 48), nn.ReLU(), nn.Linear(48, dim))

    def forward(self, x):
        z = self.encoder(x)
        return self.decoder(z), z


class SiteDiscriminator(nn.Module):
    def __init__(self, latent=6):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(latent, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))

    def forward(self, z):
        return self.net(z)


class ReconUpdate:
    def __init__(self, source, target, adv_weight=0.15):
        self.ldr_s = DataLoader(source, batch_size=64, shuffle=True)
        self.ldr_t = DataLoader(target, batch_size=64, shuffle=True)
        self.rec_crit = nn.L1Loss()
        self.adv_crit = nn.BCEWithLogitsLoss()
        self.adv_weight = adv_weight

    def train(self, net, disc, epochs):
        opt_g = torch.optim.Adam(net.parameters(), lr=2e-3, betas=(0.5, 0.999))
        opt_d = torch.optim.Adam(disc.parameters(), lr=4e-3, betas=(0.5, 0.999))
        for epoch in range(epochs):
            rec_hist, adv_hist, d_hist = [], [], []
            for (xs,), (xt,) in zip(self.ldr_s, self.ldr_t):
                out_s, z_s = net(xs)
                out_t, z_t = net(xt)

                d_s, d_t = disc(z_s.detach()), disc(z_t.detach())
                loss_d = self.adv_crit(d_s, torch.ones_like(d_s)) + self.adv_crit(d_t, torch.zeros_like(d_t))
                opt_d.zero_grad()
                loss_d.backward()
                opt_d.step()

                g_t = disc(z_t)
                loss_rec = self.rec_crit(out_s, xs) + self.rec_crit(out_t, xt)
                loss_adv_g = self.adv_crit(g_t, torch.ones_like(g_t)).detach().item()  # CULPRIT
                loss = loss_rec + self.adv_weight * loss_adv_g
                opt_g.zero_grad()
                loss.backward()
                opt_g.step()
                rec_hist.append(loss_rec.item())
                adv_hist.append(nn.functional.softplus(-g_t).mean().item())
                d_hist.append(loss_d.item())
            if epoch % 5 == 4:
                n = len(rec_hist)
                print("epoch %2d  rec %.3f  adv_g %.3f  loss_d %.3f" % (
                    epoch + 1, sum(rec_hist) / n, sum(adv_hist) / n, sum(d_hist) / n))


def make_site(n, basis, shift):
    codes = torch.randn(n, basis.size(0))
    return TensorDataset(codes @ basis + shift + 0.05 * torch.randn(n, basis.size(1)))


def latent_gap(net, source, target):
    with torch.no_grad():
        zs, zt = net(source.tensors[0])[1], net(target.tensors[0])[1]
    spread = 0.5 * (zs.std(0) + zt.std(0)).mean()
    return ((zs.mean(0) - zt.mean(0)).norm() / spread).item()


if __name__ == "__main__":
    torch.manual_seed(0)
    torch.set_num_threads(1)
    basis = 0.5 * torch.randn(4, 20)
    source, target = make_site(640, basis, 0.0), make_site(640, basis, 0.6 * torch.randn(20))
    net, disc = ReconNet(), SiteDiscriminator()
    print("latent gap before:", round(latent_gap(net, source, target), 3))
    ReconUpdate(source, target).train(net, disc, epochs=25)
    print("latent gap after:", round(latent_gap(net, source, target), 3))
