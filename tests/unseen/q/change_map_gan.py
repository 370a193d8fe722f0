"""Predicts texture changes between two aerial photographs: generator with an L1 term and an adversarial term.

TRUTH: In generator_step the discriminator's verdict on the generated map is detached ("netD must not be updated here"), so the
adversarial term is a number without gradient: the generator is trained with L1 alone and the adversarial weight has no effect.
As the change has two equally likely outcomes, L1 alone gives a blurred in-between map, the discriminator wins at once and the fake score stays
near 0. Fix: do not detach pred_fake (only optimizer_g steps there, and netD's gradients are cleared before its own step).
Drawn from https://github.com/wangle53/CSA-CDGAN/issues/5.
"""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F


def make_scenes(n, gen):
    """before: 8 height readings along a strip; after: each strip either rises or sinks as a whole."""
    before = 0.3 * torch.randn(n, 8, generator=gen)
    direction = (torch.rand(n, 1, generator=gen) < 0.5).float() * 2 - 1
    after = before + direction * (1.0 + 0.1 * torch.randn(n, 8, generator=gen))
    return before, after


class Generator(nn.Module):
    def __init__(self, noise=4, width=64):
        super().__init__()
        self.noise = noise
        self.net = nn.Sequential(
            nn.Linear(8 + noise, width), nn.LeakyReLU(0.2),
            nn.Linear(width, width), nn.LeakyReLU(0.2),
            nn.Linear(width, 8))

    def forward(self, before):
        z = torch.randn(len(before), self.noise)
        return before + self.net(torch.cat([before, z], 1))


class Discriminator(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(16, width), nn.LeakyReLU(0.2),
            nn.Linear(width, width), nn.LeakyReLU(0.2),
            nn.Linear(width, 1))

    def forward(self, before, after):
        return self.net(torch.cat([before, after - before], 1))


class ChangeGAN:
    def __init__(self, args):
        self.netG, self.netD = Generator(), Discriminator()
        self.optimizer_g = torch.optim.Adam(self.netG.parameters(), lr=args.lr, betas=(0.5, 0.999))
        self.optimizer_d = torch.optim.Adam(self.netD.parameters(), lr=args.lr, betas=(0.5, 0.999))
        self.w_adv, self.w_rec = args.w_adv, args.w_rec

    def discriminator_step(self, before, after, fake):
        pred_real = self.netD(before, after)
        pred_fake = self.netD(before, fake.detach())
        loss = (F.binary_cross_entropy_with_logits(pred_real, torch.full_like(pred_real, 0.9))
                + F.binary_cross_entropy_with_logits(pred_fake, torch.zeros_like(pred_fake)))
        self.optimizer_d.zero_grad()
        loss.backward()
        self.optimizer_d.step()
        return loss.item()

    def generator_step(self, before, after, fake):
        pred_fake = self.netD(before, fake).detach()  # CULPRIT
        err_adv = F.binary_cross_entropy_with_logits(pred_fake, torch.ones_like(pred_fake))
        err_rec = F.l1_loss(fake, after)
        loss = self.w_adv * err_adv + self.w_rec * err_rec
        self.optimizer_g.zero_grad()
        loss.backward()
        self.optimizer_g.step()
        return err_adv.item(), err_rec.item(), torch.sigmoid(pred_fake).mean().item()


@torch.no_grad()
def sharpness(model, before):
    """share of the strips whose predicted mean change is close to a full rise or a full fall"""
    change = (model.netG(before) - before).mean(1).abs()
    return ((change > 0.7) & (change < 1.3)).float().mean().item()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--steps", type=int, default=1500)
    p.add_argument("--batch", type=int, default=128)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--w-adv", type=float, default=1.0)
    p.add_argument("--w-rec", type=float, default=0.05)
    args = p.parse_args()
    torch.manual_seed(0)
    gen = torch.Generator().manual_seed(5)
    val_before, _ = make_scenes(500, gen)
    model = ChangeGAN(args)
    for step in range(1, args.steps + 1):
        before, after = make_scenes(args.batch, gen)
        fake = model.netG(before)
        loss_d = model.discriminator_step(before, after, fake)
        adv, rec, score = model.generator_step(before, after, fake)
        if step % 250 == 0:
            print(f"step {step}: D {loss_d:.3f}  G adv {adv:.3f} rec {rec:.3f}  fake score {score:.3f}  "
                  f"sharp strips {sharpness(model, val_before):.2f}")


if __name__ == "__main__":
    main()
