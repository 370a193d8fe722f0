"""WRONG. optimizer_D.zero_grad() seems to be missing before the discriminator's backward, the discriminator's gradients grow over the steps.
TRUTH: The encoder's optimizer is zeroed but the discriminator's never is, so the gradients of all the steps (and of the encoder's adversarial loss) accumulate; call optimizer_D.zero_grad() before d_loss.backward().
THREAD: https://github.com/Hsintien-Ng/idinvert_pytorch-reproduced/issues/1
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

LATENT, PIX = 6, 48


class StyleGANGenerator(nn.Module):
    """stands for the fixed pretrained generator"""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(LATENT, 32), nn.Tanh(), nn.Linear(32, PIX))

    def forward(self, w):
        return torch.tanh(self.net(w))


class StyleGANEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(PIX, 64), nn.LeakyReLU(0.2),
                                 nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, LATENT))

    def forward(self, x):
        return self.net(x)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(PIX, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1))

    def forward(self, x):
        return self.net(x)


def GAN_real_fake_loss(x_real, x_recon, discriminator, gamma=2.0):
    x_real = x_real.clone().requires_grad_(True)
    real_score = discriminator(x_real)
    fake_score = discriminator(x_recon)
    loss_real = F.softplus(-real_score).mean()
    loss_fake = F.softplus(fake_score).mean()
    grad, = torch.autograd.grad(real_score.sum(), x_real, create_graph=True)
    penalty = grad.pow(2).sum(1).mean()
    return loss_real + loss_fake + gamma / 2 * penalty, loss_real, loss_fake, penalty


def training_loop(E, D, G, max_epoch=4, iters=100, batch_size=32,
                  E_lr=1e-3, D_lr=1e-3, rec_scale=1.0, adv_scale=0.1):
    optimizer_E = torch.optim.Adam(E.parameters(), lr=E_lr, betas=(0.9, 0.99), eps=1e-8)
    optimizer_D = torch.optim.SGD(D.parameters(), lr=D_lr)
    lr_scheduler_E = torch.optim.lr_scheduler.ExponentialLR(optimizer_E, gamma=0.8)

    for p in G.parameters():
        p.requires_grad = False

    for epoch in range(max_epoch):
        sums = torch.zeros(3)
        for it in range(iters):
            E.train()
            D.train()
            with torch.no_grad():
                x_real = G(torch.randn(batch_size, LATENT)) + 0.02 * torch.randn(batch_size, PIX)

            # update D
            with torch.no_grad():
                x_recon = G(E(x_real))
            d_loss, loss_real, loss_fake, penalty = GAN_real_fake_loss(x_real, x_recon, D)
            d_loss.backward()  # CULPRIT
            optimizer_D.step()

            # update E
            w = E(x_real)
            x_recon = G(w)
            loss_pix = F.mse_loss(x_recon, x_real)
            loss_adv = F.softplus(-D(x_recon)).mean()
            e_loss = rec_scale * loss_pix + adv_scale * loss_adv
            optimizer_E.zero_grad()
            e_loss.backward()
            optimizer_E.step()

            grad_D = torch.cat([p.grad.flatten() for p in D.parameters()]).norm()
            sums += torch.stack([loss_pix.detach(), d_loss.detach(), grad_D])
        lr_scheduler_E.step()
        pix, d, g = (sums / iters).tolist()
        print('Epoch %d  loss_pix %.4f  loss_D %.4f  |grad D| %.3f' % (epoch, pix, d, g))


if __name__ == '__main__':
    training_loop(StyleGANEncoder(), Discriminator(), StyleGANGenerator())
