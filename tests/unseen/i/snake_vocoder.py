"""WRONG. The alphas of the snake activations never move from 1 while everything else of the generator trains.
TRUTH: alpha1 is a plain python list of nn.Parameter, which is not registered, so the optimizer never gets them; it has to be an nn.ParameterList.
THREAD: https://github.com/sh-lee-prml/BigVGAN/issues/10
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


def snake(x, alpha):
    return x + (1.0 / (alpha + 1e-9)) * torch.sin(alpha * x) ** 2


class AMPBlock(nn.Module):
    def __init__(self, channels, kernel_size=3, dilation=(1, 3)):
        super().__init__()
        self.convs1 = nn.ModuleList([
            nn.Conv1d(channels, channels, kernel_size, dilation=d, padding=d * (kernel_size - 1) // 2)
            for d in dilation])
        self.alpha1 = [nn.Parameter(torch.ones(1, channels, 1)) for i in range(len(self.convs1))]  # CULPRIT

    def forward(self, x):
        for c1, a1 in zip(self.convs1, self.alpha1):
            xt = snake(x, a1)
            xt = c1(xt)
            x = xt + x
        return x


class Generator(nn.Module):
    def __init__(self, n_mel=4, channels=8, upsample=4):
        super().__init__()
        self.conv_pre = nn.Conv1d(n_mel, channels, 3, padding=1)
        self.ups = nn.ConvTranspose1d(channels, channels, 8, stride=upsample, padding=2)
        self.resblocks = nn.ModuleList([AMPBlock(channels) for _ in range(2)])
        self.conv_post = nn.Conv1d(channels, 1, 7, padding=3)

    def forward(self, x):
        x = self.ups(self.conv_pre(x))
        xs = None
        for block in self.resblocks:
            xs = block(x) if xs is None else xs + block(x)
        return torch.tanh(self.conv_post(xs / len(self.resblocks)))


def make_pairs(n):
    t = torch.arange(64).float() / 64
    f = torch.rand(n, 1) * 5 + 2
    wav = 0.7 * torch.sin(2 * 3.1416 * f * t).unsqueeze(1)
    mel = torch.cat([F.avg_pool1d(wav, 4), F.avg_pool1d(wav.abs(), 4),
                     -F.max_pool1d(-wav, 4), F.max_pool1d(wav, 4)], dim=1)
    return mel, wav


net_g = Generator()
optim_g = torch.optim.AdamW(net_g.parameters(), 2e-3, betas=(0.8, 0.99))
scheduler_g = torch.optim.lr_scheduler.ExponentialLR(optim_g, gamma=0.98)
n_par = sum(p.numel() for p in net_g.parameters())
print('generator parameters: %d' % n_par)
for epoch in range(20):
    total = 0
    for it in range(15):
        mel, y = make_pairs(16)
        y_hat = net_g(mel)
        loss_wav = F.l1_loss(y_hat, y)
        loss_diff = F.l1_loss(y_hat[..., 1:] - y_hat[..., :-1], y[..., 1:] - y[..., :-1])
        loss_g = loss_wav + 2 * loss_diff
        optim_g.zero_grad()
        loss_g.backward()
        optim_g.step()
        total += loss_g.item()
    scheduler_g.step()
    if epoch % 5 == 4:
        print('epoch %d loss_gen_all %.4f' % (epoch, total / 15))
alphas = torch.cat([a.detach().flatten() for b in net_g.resblocks for a in b.alpha1])
print('alpha min %.4f max %.4f' % (alphas.min(), alphas.max()))
