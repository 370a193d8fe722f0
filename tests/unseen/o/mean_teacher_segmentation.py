"""Mean-teacher self-training for a small segmentation network.

Student: supervised on a few labelled source images, consistency with the teacher on
unlabelled target images (other contrast and offset).  The teacher is an exponential
moving average of the student and is evaluated in eval mode.

TRUTH: The momentum update loops over parameters() only, so the teacher's BatchNorm buffers (running_mean / running_var) keep
their initial 0 and 1 while its weights follow the student; in eval mode the teacher's predictions are bad and get worse
than the student's, and so are the pseudo labels. Fix: copy/average the floating point buffers as well (e.g. loop over
state_dict). Drawn from saltoricristiano/cosmix-uda#21 (EMA with buffers to stabilize the teacher).
"""
import copy

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

CFG = {
    "seed": 0,
    "size": 16,
    "n_source": 64,
    "n_target": 96,
    "batch": 12,
    "steps": 120,
    "lr": 5e-3,
    "tau": 0.95,
    "consistency": 0.5,
    "rampup": 40,
    "threshold": 0.8,
}


def scenes(n, size, seed, contrast, offset):
    rng = np.random.RandomState(seed)
    img = rng.normal(0, 0.4, (n, 1, size, size))
    mask = np.zeros((n, size, size), dtype=np.int64)
    yy, xx = np.mgrid[0:size, 0:size]
    for k in range(n):
        cy, cx = rng.uniform(4, size - 4, 2)
        r = rng.uniform(2.5, 4.5)
        disk = (yy - cy) ** 2 + (xx - cx) ** 2 < r * r
        mask[k][disk] = 1
        x0 = rng.randint(0, size - 3)
        bar = np.zeros_like(disk)
        bar[:, x0:x0 + 2] = True
        bar &= ~disk
        mask[k][bar] = 2
        img[k, 0][disk] += 1.5
        img[k, 0][bar] -= 1.5
    img = contrast * img + offset
    return torch.tensor(img, dtype=torch.float32), torch.tensor(mask)


def block(cin, cout):
    return nn.Sequential(nn.Conv2d(cin, cout, 3, padding=1, bias=False), nn.BatchNorm2d(cout), nn.ReLU())


class SegNet(nn.Module):
    def __init__(self, classes=3, width=12):
        super().__init__()
        self.enc1 = block(1, width)
        self.enc2 = block(width, 2 * width)
        self.dec = block(3 * width, width)
        self.head = nn.Conv2d(width, classes, 1)

    def forward(self, x):
        e1 = self.enc1(x)
        e2 = self.enc2(F.max_pool2d(e1, 2))
        up = F.interpolate(e2, scale_factor=2, mode="nearest")
        return self.head(self.dec(torch.cat([e1, up], dim=1)))


class MomentumUpdater:
    def __init__(self, tau):
        self.tau = tau

    def tensors(self, net):
        return list(net.parameters())  # CULPRIT

    @torch.no_grad()
    def update(self, online_net, momentum_net):
        for op, mp in zip(self.tensors(online_net), self.tensors(momentum_net)):
            mp.data.mul_(self.tau).add_(op.data, alpha=1 - self.tau)


def mean_iou(net, images, masks, classes=3):
    was_training = net.training
    net.eval()
    with torch.no_grad():
        pred = net(images).argmax(1)
    net.train(was_training)
    ious = []
    for c in range(classes):
        inter = ((pred == c) & (masks == c)).sum().item()
        union = ((pred == c) | (masks == c)).sum().item()
        ious.append(inter / max(union, 1))
    return float(np.mean(ious))


def pseudo_labels(teacher, images, threshold):
    with torch.no_grad():
        prob, label = teacher(images).softmax(dim=1).max(dim=1)
    label[prob < threshold] = -1
    return label


def main(cfg):
    torch.manual_seed(cfg["seed"])
    src_x, src_y = scenes(cfg["n_source"], cfg["size"], 1, contrast=1.0, offset=2.0)
    tgt_x, tgt_y = scenes(cfg["n_target"], cfg["size"], 2, contrast=0.8, offset=2.5)

    student = SegNet()
    teacher = copy.deepcopy(student)
    for p in teacher.parameters():
        p.requires_grad_(False)
    teacher.eval()
    updater = MomentumUpdater(cfg["tau"])
    optimizer = torch.optim.Adam(student.parameters(), lr=cfg["lr"])

    for step in range(1, cfg["steps"] + 1):
        i = torch.randint(0, len(src_x), (cfg["batch"],))
        j = torch.randint(0, len(tgt_x), (cfg["batch"],))
        student.train()
        loss_s = F.cross_entropy(student(src_x[i]), src_y[i])
        labels = pseudo_labels(teacher, tgt_x[j], cfg["threshold"])
        used = (labels >= 0).float().mean().item()
        loss_t = F.cross_entropy(student(tgt_x[j]), labels, ignore_index=-1, reduction="sum") / labels.numel()
        weight = cfg["consistency"] * (step > cfg["rampup"])
        loss = loss_s + weight * loss_t
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        updater.update(student, teacher)
        if step % 30 == 0:
            print("step %3d  source loss %.3f  target loss %.3f  labelled %.2f | mIoU student %.3f teacher %.3f"
                  % (step, loss_s.item(), loss_t.item(), used,
                     mean_iou(student, tgt_x, tgt_y), mean_iou(teacher, tgt_x, tgt_y)))


if __name__ == "__main__":
    main(CFG)
