"""WRONG. In the self-distillation stage the student is pushed by a strange (negative) kl_div loss, is this a mistake?
TRUTH: F.kl_div expects log-probabilities as its first argument but gets the student's softmax; use F.log_softmax.
THREAD: https://github.com/microsoft/ProDA/issues/43
"""
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

N_CLASS = 5


class DeeplabLite(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(3, width, 3, padding=1), nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=1, stride=2), nn.ReLU())
        self.layer5 = nn.Conv2d(width, N_CLASS, 1)

    def forward(self, x):
        feat = self.backbone(x)
        return {'feat': feat, 'out': self.layer5(feat)}


colors = torch.randn(N_CLASS, 3)


def scene(n, shift=0.0, noise=0.3):
    coarse = torch.randint(0, N_CLASS, (n, 1, 4, 4)).float()
    label = F.interpolate(coarse, size=(16, 16), mode='nearest').long().squeeze(1)
    image = colors[label].permute(0, 3, 1, 2) + shift + noise * torch.randn(n, 3, 16, 16)
    return image, label


def up(out, size):
    return F.interpolate(out, size=size, mode='bilinear', align_corners=True)


def pretrain_teacher(steps=120):
    net = DeeplabLite()
    opt = torch.optim.Adam(net.parameters(), lr=5e-3)
    for _ in range(steps):
        x, y = scene(8)
        loss = F.cross_entropy(up(net(x)['out'], y.shape[1:]), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    return net


class CustomModel:
    def __init__(self, teacher, distillation=1.0, lr=3e-3):
        self.teacher = teacher
        self.model = DeeplabLite()
        self.distillation = distillation
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=lr)
        self.teacher.eval()

    def step_distillation(self, target_image, target_imageS, threshold_arg):
        self.model.train()
        target_out = self.model(target_image)
        target_out['out'] = up(target_out['out'], threshold_arg.shape[1:])
        loss_ce = F.cross_entropy(target_out['out'], threshold_arg, ignore_index=250)
        loss = 0.1 * loss_ce

        student = F.softmax(target_out['out'], dim=1)  # CULPRIT
        with torch.no_grad():
            teacher_out = self.teacher(target_imageS)
            teacher_out['out'] = up(teacher_out['out'], threshold_arg.shape[1:])
            teacher = F.softmax(teacher_out['out'], dim=1)

        loss_kd = F.kl_div(student, teacher, reduction='none')
        mask = (teacher != 250).float()
        loss_kd = (loss_kd * mask).sum() / mask.sum()
        loss = loss + self.distillation * loss_kd

        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss_ce.item(), loss_kd.item()

    def agreement(self, image):
        with torch.no_grad():
            p = F.softmax(up(self.model(image)['out'], (16, 16)), 1)
            q = F.softmax(up(self.teacher(image)['out'], (16, 16)), 1)
        return (p - q).abs().sum(1).mean().item()


model = CustomModel(pretrain_teacher())
for i in range(1, 301):
    image, label = scene(8, shift=0.1)
    noisy_label = label.clone()
    noisy_label[torch.rand(label.shape) < 0.3] = 250
    strong = image + 0.2 * torch.randn_like(image)
    ce, kd = model.step_distillation(strong, image, noisy_label)
    if i % 75 == 0:
        print('iter %d ce %.4f kd %.4f teacher gap %.4f' % (i, ce, kd, model.agreement(scene(16, 0.1)[0])))
