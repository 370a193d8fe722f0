"""WRONG. The loss doesn't come down if the learning rate scheduler is used, without it it does.
TRUTH: With a scheduler the loop calls scheduler.step() instead of optimizer.step(), so the weights are never updated; call optimizer.step() in both cases.
THREAD: https://github.com/ClementPinard/SfmLearner-Pytorch/issues/5
"""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

parser = argparse.ArgumentParser(description='Structure from Motion Learner')
parser.add_argument('--epochs', default=4, type=int)
parser.add_argument('--epoch-size', default=60, type=int)
parser.add_argument('-b', '--batch-size', default=8, type=int)
parser.add_argument('--lr', default=5e-3, type=float)
parser.add_argument('--optimizer', default='Adam')
parser.add_argument('--scheduler', default='step')
parser.add_argument('-s', '--smooth-loss-weight', default=0.01, type=float)
args = parser.parse_args([])

torch.manual_seed(0)


class DispNetS(nn.Module):
    def __init__(self, alpha=6, beta=0.1):
        super().__init__()
        self.alpha = alpha
        self.beta = beta
        self.conv1 = nn.Sequential(nn.Conv2d(2, 16, 5, padding=2), nn.ReLU(inplace=True))
        self.conv2 = nn.Sequential(nn.Conv2d(16, 16, 3, padding=1), nn.ReLU(inplace=True))
        self.predict_disp = nn.Sequential(nn.Conv2d(16, 1, 3, padding=1), nn.Sigmoid())

    def forward(self, x):
        return self.alpha * self.predict_disp(self.conv2(self.conv1(x))) + self.beta


def inverse_warp(img, disp):
    b, _, h, w = img.shape
    ys, xs = torch.meshgrid(torch.linspace(-1, 1, h), torch.linspace(-1, 1, w), indexing='ij')
    grid = torch.stack([xs, ys], -1).expand(b, h, w, 2)
    shift = torch.cat([2 * disp / (w - 1), torch.zeros_like(disp)], 1).permute(0, 2, 3, 1)
    return F.grid_sample(img, grid + shift, padding_mode='border', align_corners=True)


def photometric_reconstruction_loss(tgt_img, ref_img, disp):
    return (tgt_img - inverse_warp(ref_img, disp)).abs().mean()


def smooth_loss(disp):
    return (disp[..., 1:] - disp[..., :-1]).abs().mean() + (disp[..., 1:, :] - disp[..., :-1, :]).abs().mean()


def make_pair(n, h=16, w=24):
    """a textured plane seen from two places; near planes move more"""
    ref = torch.rand(n, 1, h, w)
    for _ in range(2):
        ref = F.avg_pool2d(ref, 5, 1, 2, count_include_pad=False)
    ref = (ref - 0.5) * 4
    true = 0.5 + torch.rand(n, 1, 1, 1)
    tgt = inverse_warp(ref, true.expand(n, 1, h, w))
    return tgt, ref


def train(disp_net, optimizer, scheduler, epoch_size):
    disp_net.train()
    total = 0.0
    for i in range(epoch_size):
        tgt_img, ref_img = make_pair(args.batch_size)
        disparity = disp_net(torch.cat([tgt_img, ref_img], 1))
        loss_1 = photometric_reconstruction_loss(tgt_img, ref_img, disparity)
        loss_3 = smooth_loss(disparity)
        loss = loss_1 + args.smooth_loss_weight * loss_3

        optimizer.zero_grad()
        loss.backward()
        if scheduler:
            scheduler.step()  # CULPRIT
        else:
            optimizer.step()  # CULPRIT
        total += loss.item()
    return total / epoch_size


disp_net = DispNetS()
if args.optimizer == 'Adam':
    optimizer = torch.optim.Adam(disp_net.parameters(), lr=args.lr)
else:
    optimizer = torch.optim.SGD(disp_net.parameters(), lr=args.lr, momentum=0.9)

scheduler = None
if args.scheduler == 'step':
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=args.epoch_size * 2, gamma=0.5)

for epoch in range(args.epochs):
    train_loss = train(disp_net, optimizer, scheduler, args.epoch_size)
    print(' * Epoch {} avg loss : {:.4f}'.format(epoch, train_loss))
