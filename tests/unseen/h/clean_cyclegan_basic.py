"""CORRECT. backward_D_basic detaches only the fake image, D is frozen in the generator's step and fakes come from an image pool (asked: why detach() for fake; answered).
THREAD: https://github.com/junyanz/pytorch-CycleGAN-and-pix2pix/issues/388
"""
import itertools
import random

import torch
import torch.nn as nn

torch.manual_seed(0)
random.seed(0)


class ImagePool:
    def __init__(self, pool_size):
        self.pool_size = pool_size
        self.images = []

    def query(self, images):
        out = []
        for image in images:
            image = image.detach().unsqueeze(0)
            if len(self.images) < self.pool_size:
                self.images.append(image)
                out.append(image)
            elif random.random() > 0.5:
                k = random.randrange(self.pool_size)
                out.append(self.images[k].clone())
                self.images[k] = image
            else:
                out.append(image)
        return torch.cat(out, 0)


class GANLoss(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer('real_label', torch.tensor(1.0))
        self.register_buffer('fake_label', torch.tensor(0.0))
        self.loss = nn.MSELoss()

    def forward(self, prediction, target_is_real):
        target = self.real_label if target_is_real else self.fake_label
        return self.loss(prediction, target.expand_as(prediction))


def mlp(i, o, h=32):
    return nn.Sequential(nn.Linear(i, h), nn.LeakyReLU(0.2), nn.Linear(h, h), nn.LeakyReLU(0.2), nn.Linear(h, o))


class CycleGANModel:
    def __init__(self, dim=2, lr=1e-3):
        self.netG_A, self.netG_B = mlp(dim, dim), mlp(dim, dim)
        self.netD_A, self.netD_B = mlp(dim, 1), mlp(dim, 1)
        self.fake_A_pool, self.fake_B_pool = ImagePool(50), ImagePool(50)
        self.criterionGAN = GANLoss()
        self.criterionCycle = nn.L1Loss()
        self.optimizer_G = torch.optim.Adam(
            itertools.chain(self.netG_A.parameters(), self.netG_B.parameters()), lr=lr, betas=(0.5, 0.999))
        self.optimizer_D = torch.optim.Adam(
            itertools.chain(self.netD_A.parameters(), self.netD_B.parameters()), lr=lr, betas=(0.5, 0.999))

    def set_requires_grad(self, nets, requires_grad=False):
        for net in nets:
            for param in net.parameters():
                param.requires_grad = requires_grad

    def forward(self):
        self.fake_B = self.netG_A(self.real_A)
        self.rec_A = self.netG_B(self.fake_B)
        self.fake_A = self.netG_B(self.real_B)
        self.rec_B = self.netG_A(self.fake_A)

    def backward_D_basic(self, netD, real, fake):
        pred_real = netD(real)
        loss_D_real = self.criterionGAN(pred_real, True)
        pred_fake = netD(fake.detach())
        loss_D_fake = self.criterionGAN(pred_fake, False)
        loss_D = (loss_D_real + loss_D_fake) * 0.5
        loss_D.backward()
        return loss_D

    def backward_G(self, lambda_cycle=2.0):
        loss = self.criterionGAN(self.netD_A(self.fake_B), True) + self.criterionGAN(self.netD_B(self.fake_A), True)
        self.cycle = self.criterionCycle(self.rec_A, self.real_A) + self.criterionCycle(self.rec_B, self.real_B)
        loss = loss + lambda_cycle * self.cycle
        loss.backward()
        return loss

    def optimize_parameters(self, real_A, real_B):
        self.real_A, self.real_B = real_A, real_B
        self.forward()
        self.set_requires_grad([self.netD_A, self.netD_B], False)
        self.optimizer_G.zero_grad()
        loss_G = self.backward_G()
        self.optimizer_G.step()
        self.set_requires_grad([self.netD_A, self.netD_B], True)
        self.optimizer_D.zero_grad()
        loss_D = self.backward_D_basic(self.netD_A, real_B, self.fake_B_pool.query(self.fake_B))
        loss_D = loss_D + self.backward_D_basic(self.netD_B, real_A, self.fake_A_pool.query(self.fake_A))
        self.optimizer_D.step()
        return loss_G.item(), loss_D.item()


model = CycleGANModel()
for i in range(1, 501):
    A = torch.randn(64, 2) * 0.3 + torch.tensor([1.0, -1.0])
    B = torch.randn(64, 2) * 0.3 + torch.tensor([-1.0, 1.0])
    g, d = model.optimize_parameters(A, B)
    if i % 100 == 0:
        print('iter %d G %.3f D %.3f cycle %.3f mean fake_B %s' % (
            i, g, d, model.cycle.item(), [round(v, 2) for v in model.fake_B.mean(0).tolist()]))
