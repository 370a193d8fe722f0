"""CORRECT. ESRGAN training: the feature network is frozen and detached for the real image only, the relativistic loss detaches one score in G's step and none but the fake image in D's (asked: is detach needed, why not for the fake? answered).
THREAD: https://github.com/XPixelGroup/BasicSR/issues/50
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class RRDBLite(nn.Module):
    def __init__(self, nf=16):
        super().__init__()
        self.head = nn.Conv2d(1, nf, 3, padding=1)
        self.body = nn.ModuleList([nn.Conv2d(nf, nf, 3, padding=1) for _ in range(2)])
        self.up = nn.Conv2d(nf, 4, 3, padding=1)

    def forward(self, x):
        f = self.head(x)
        for conv in self.body:
            f = f + 0.2 * F.leaky_relu(conv(f), 0.2)
        base = F.interpolate(x, scale_factor=2, mode='bilinear', align_corners=False)
        return base + F.pixel_shuffle(self.up(f), 2)


class FeatureExtractor(nn.Module):
    """stands for VGG: fixed random filters"""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 12, 3, padding=1), nn.ReLU(), nn.Conv2d(12, 12, 3, padding=1))
        for k, v in self.features.named_parameters():
            v.requires_grad = False

    def forward(self, x):
        return self.features(x)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(1, 16, 3, 2, 1), nn.LeakyReLU(0.2),
                                 nn.Conv2d(16, 16, 3, 2, 1), nn.LeakyReLU(0.2), nn.Flatten(), nn.Linear(256, 1))

    def forward(self, x):
        return self.net(x)


class SRRaGANModel:
    def __init__(self, l_pix_w=1.0, l_fea_w=0.1, l_gan_w=5e-3):
        self.netG, self.netD, self.netF = RRDBLite(), Discriminator(), FeatureExtractor()
        self.netF.eval()
        self.l_pix_w, self.l_fea_w, self.l_gan_w = l_pix_w, l_fea_w, l_gan_w
        self.optimizer_G = torch.optim.Adam(self.netG.parameters(), lr=1e-3, betas=(0.9, 0.999))
        self.optimizer_D = torch.optim.Adam(self.netD.parameters(), lr=5e-4, betas=(0.9, 0.999))

    def cri_gan(self, x, real):
        return F.binary_cross_entropy_with_logits(x, torch.full_like(x, 1.0 if real else 0.0))

    def optimize_parameters(self, var_L, var_H):
        # G
        for p in self.netD.parameters():
            p.requires_grad = False
        self.optimizer_G.zero_grad()
        fake_H = self.netG(var_L)
        l_g_pix = F.l1_loss(fake_H, var_H)
        real_fea = self.netF(var_H).detach()
        fake_fea = self.netF(fake_H)
        l_g_fea = F.l1_loss(fake_fea, real_fea)
        pred_g_fake = self.netD(fake_H)
        pred_d_real = self.netD(var_H).detach()
        l_g_gan = (self.cri_gan(pred_d_real - torch.mean(pred_g_fake), False) +
                   self.cri_gan(pred_g_fake - torch.mean(pred_d_real), True)) / 2
        l_g_total = self.l_pix_w * l_g_pix + self.l_fea_w * l_g_fea + self.l_gan_w * l_g_gan
        l_g_total.backward()
        self.optimizer_G.step()

        # D
        for p in self.netD.parameters():
            p.requires_grad = True
        self.optimizer_D.zero_grad()
        pred_d_real = self.netD(var_H)
        pred_d_fake = self.netD(fake_H.detach())
        l_d_real = self.cri_gan(pred_d_real - torch.mean(pred_d_fake), True)
        l_d_fake = self.cri_gan(pred_d_fake - torch.mean(pred_d_real), False)
        l_d_total = (l_d_real + l_d_fake) / 2
        l_d_total.backward()
        self.optimizer_D.step()
        return l_g_pix.item(), l_g_fea.item(), l_d_total.item()


def patches(n, size=16):
    t = torch.arange(size).float()
    a, b, c = (torch.rand(n, 1, 1) * 2 for _ in range(3))
    image = torch.sign(torch.sin(a * t[None, :, None] + b * t[None, None] + 6 * c))
    H = image.unsqueeze(1)
    return F.avg_pool2d(H, 2), H


model = SRRaGANModel()
for step in range(1, 181):
    pix, fea, d = model.optimize_parameters(*patches(16))
    if step % 60 == 0:
        with torch.no_grad():
            L, H = patches(64)
            sr = F.l1_loss(model.netG(L), H).item()
            bl = F.l1_loss(F.interpolate(L, scale_factor=2, mode='bilinear', align_corners=False), H).item()
        print('iter %d l_g_pix %.4f l_g_fea %.4f l_d %.3f  test L1 %.4f (bilinear %.4f)' % (step, pix, fea, d, sr, bl))
