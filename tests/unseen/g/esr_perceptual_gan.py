"""WRONG. In the adversarial phase the discriminator behaves erratically and the results are worse than expected.
TRUTH: before the generator's and the discriminator's turn the same optimizer's zero_grad is called, the discriminator's gradients are never cleared and pile up over all iterations; the second must be d_optimizer.zero_grad().
THREAD: https://github.com/Lornatang/ESRGAN-PyTorch/issues/39
"""
import time
import torch
from torch import nn, optim
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset

upscale_factor = 2
gt_image_size = 16
batch_size = 8
epochs = 6
pixel_weight, content_weight, adversarial_weight = 0.01, 1.0, 0.005


class PatchImages(Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        base = torch.rand(n, 3, 4, 4, generator=g)
        self.gt = F.interpolate(base, size=gt_image_size, mode='bicubic', align_corners=False).clamp(0, 1)
        stripes = (torch.arange(gt_image_size) % 2).float().view(1, 1, 1, -1)
        self.gt = (self.gt * (0.8 + 0.2 * stripes)).clamp(0, 1)
        self.lr = F.avg_pool2d(self.gt, upscale_factor)

    def __len__(self):
        return len(self.gt)

    def __getitem__(self, i):
        return {'gt': self.gt[i], 'lr': self.lr[i]}


class RRDBNet(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.conv1 = nn.Conv2d(3, width, 3, 1, 1)
        self.trunk = nn.ModuleList([nn.Sequential(nn.Conv2d(width, width, 3, 1, 1), nn.LeakyReLU(0.2, True),
                                                  nn.Conv2d(width, width, 3, 1, 1)) for _ in range(2)])
        self.up = nn.Conv2d(width, 3 * upscale_factor ** 2, 3, 1, 1)

    def forward(self, x):
        base = F.interpolate(x, scale_factor=upscale_factor, mode='bilinear', align_corners=False)
        x = self.conv1(x)
        for block in self.trunk:
            x = x + 0.2 * block(x)
        return base + F.pixel_shuffle(self.up(x), upscale_factor)


class DiscriminatorUNet(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.conv1 = nn.Conv2d(3, width, 3, 1, 1)
        self.down = nn.Conv2d(width, width * 2, 4, 2, 1)
        self.upc = nn.Conv2d(width * 2, width, 3, 1, 1)
        self.conv2 = nn.Conv2d(width, 1, 3, 1, 1)

    def forward(self, x):
        a = F.leaky_relu(self.conv1(x), 0.2)
        b = F.leaky_relu(self.down(a), 0.2)
        b = F.interpolate(b, scale_factor=2, mode='bilinear', align_corners=False)
        return self.conv2(F.leaky_relu(self.upc(b), 0.2) + a)


class ContentLoss(nn.Module):
    """Features of a fixed random network take the place of VGG."""

    def __init__(self):
        super().__init__()
        self.feature_extractor = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 16, 3, padding=1))
        for p in self.feature_extractor.parameters():
            p.requires_grad = False
        self.feature_extractor.eval()

    def forward(self, sr, gt):
        return F.l1_loss(self.feature_extractor(sr), self.feature_extractor(gt))


def train(d_model, g_model, loader, pixel_criterion, content_criterion, adversarial_criterion, d_optimizer, g_optimizer, epoch):
    d_model.train()
    g_model.train()
    start = time.time()
    meter = {'g': 0.0, 'd': 0.0, 'gt_prob': 0.0, 'sr_prob': 0.0}
    for batch in loader:
        gt, lr = batch['gt'], batch['lr']
        real_label = torch.full([gt.size(0), 1, gt.size(2), gt.size(3)], 1.0)
        fake_label = torch.full([gt.size(0), 1, gt.size(2), gt.size(3)], 0.0)

        # generator turn
        for d_parameters in d_model.parameters():
            d_parameters.requires_grad = False
        g_optimizer.zero_grad()
        sr = g_model(lr)
        pixel_loss = pixel_weight * pixel_criterion(sr, gt)
        content_loss = content_weight * content_criterion(sr, gt)
        adversarial_loss = adversarial_weight * adversarial_criterion(d_model(sr), real_label)
        g_loss = pixel_loss + content_loss + adversarial_loss
        g_loss.backward()
        g_optimizer.step()

        # discriminator turn
        for d_parameters in d_model.parameters():
            d_parameters.requires_grad = True
        g_optimizer.zero_grad()  # CULPRIT
        gt_output = d_model(gt)
        d_loss_gt = adversarial_criterion(gt_output, real_label)
        d_loss_gt.backward()
        sr_output = d_model(sr.detach())
        d_loss_sr = adversarial_criterion(sr_output, fake_label)
        d_loss_sr.backward()
        d_optimizer.step()

        meter['g'] += g_loss.item()
        meter['d'] += (d_loss_gt + d_loss_sr).item()
        meter['gt_prob'] += torch.sigmoid(gt_output.detach().mean()).item()
        meter['sr_prob'] += torch.sigmoid(sr_output.detach().mean()).item()
    n = len(loader)
    print('Epoch %d (%.1fs) G %.4f D %.4f D(gt) %.3f D(sr) %.3f' % (
        epoch, time.time() - start, meter['g'] / n, meter['d'] / n, meter['gt_prob'] / n, meter['sr_prob'] / n))


@torch.no_grad()
def validate(g_model, loader):
    g_model.eval()
    mse = sum(F.mse_loss(g_model(b['lr']), b['gt']).item() for b in loader) / len(loader)
    print('  PSNR %.2f' % (-10 * torch.log10(torch.tensor(mse))))


if __name__ == '__main__':
    torch.manual_seed(0)
    train_loader = DataLoader(PatchImages(96, 0), batch_size, shuffle=True, drop_last=True)
    valid_loader = DataLoader(PatchImages(24, 1), batch_size)
    D, G = DiscriminatorUNet(), RRDBNet()
    d_opt = optim.Adam(D.parameters(), 1e-3, betas=(0.9, 0.99))
    g_opt = optim.Adam(G.parameters(), 1e-3, betas=(0.9, 0.99))
    schedulers = [optim.lr_scheduler.MultiStepLR(o, [3, 5], gamma=0.5) for o in (d_opt, g_opt)]
    content = ContentLoss()
    for ep in range(epochs):
        train(D, G, train_loader, nn.L1Loss(), content, nn.BCEWithLogitsLoss(), d_opt, g_opt, ep)
        validate(G, valid_loader)
        for s in schedulers:
            s.step()
