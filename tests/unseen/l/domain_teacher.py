"""WRONG. The teacher made from the student by moving average stays at guessing whatever the student can do, and since its pseudo labels are used the student gets worse again.
TRUTH: the momentum update goes over parameters() only, so the BatchNorm running statistics of the teacher stay at their initial values while it is used in eval mode. Update (or copy) the buffers too.
THREAD: https://github.com/saltoricristiano/cosmix-uda/issues/21
"""
import copy
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class SegNet(nn.Module):
    def __init__(self, in_dim=4, width=32, num_classes=3):
        super().__init__()
        self.block1 = nn.Sequential(nn.Linear(in_dim, width), nn.BatchNorm1d(width), nn.ReLU())
        self.block2 = nn.Sequential(nn.Linear(width, width), nn.BatchNorm1d(width), nn.ReLU())
        self.head = nn.Linear(width, num_classes)

    def forward(self, points):
        return self.head(self.block2(self.block1(points)))


class MomentumUpdater:
    def __init__(self, base_tau=0.9, final_tau=0.95, max_steps=60):
        self.base_tau = base_tau
        self.final_tau = final_tau
        self.cur_tau = base_tau
        self.max_steps = max_steps

    @torch.no_grad()
    def update(self, online_net, momentum_net):
        for op, mp in zip(online_net.parameters(), momentum_net.parameters()):  # CULPRIT
            mp.data.mul_(self.cur_tau)
            mp.data.add_(op.data * (1 - self.cur_tau))

    def update_tau(self, cur_step):
        frac = min(cur_step / self.max_steps, 1.0)
        self.cur_tau = self.base_tau + frac * (self.final_tau - self.base_tau)


def scan(n, shift, generator):
    labels = torch.randint(0, 3, (n,), generator=generator)
    centers = torch.tensor([[40.0, 5, 1, 0], [35.0, 9, 0, 1], [45.0, 7, -1, -1]])
    points = centers[labels] + torch.randn(n, 4, generator=generator) * torch.tensor([3.0, 1.5, 0.7, 0.7])
    return points + shift, labels


def cosmix(src, src_lab, trg, trg_lab, keep):
    take = torch.rand(len(trg)) < 0.5
    take &= keep
    return torch.cat([src, trg[take]]), torch.cat([src_lab, trg_lab[take]])


@torch.no_grad()
def accuracy(net, points, labels):
    was = net.training
    net.eval()
    acc = (net(points).argmax(1) == labels).float().mean().item()
    net.train(was)
    return acc


def main():
    cfg = dict(steps=60, batch=128, lr=1e-2, conf=0.6, warm=20, trg_shift=0.3)
    gen = torch.Generator().manual_seed(4)
    student = SegNet()
    teacher = copy.deepcopy(student)
    teacher.requires_grad_(False)
    teacher.eval()
    updater = MomentumUpdater(max_steps=cfg["steps"])
    optimizer = torch.optim.SGD(student.parameters(), lr=cfg["lr"], momentum=0.9, weight_decay=1e-4)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.99)
    val_points, val_labels = scan(600, cfg["trg_shift"], gen)

    for step in range(1, cfg["steps"] + 1):
        src, src_lab = scan(cfg["batch"], 0.0, gen)
        trg, _ = scan(cfg["batch"], cfg["trg_shift"], gen)
        with torch.no_grad():
            conf, pseudo = F.softmax(teacher(trg), dim=1).max(1)
        if step > cfg["warm"]:
            points, labels = cosmix(src, src_lab, trg, pseudo, conf > cfg["conf"])
        else:
            points, labels = src, src_lab
        loss = F.cross_entropy(student(points), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        updater.update(student, teacher)
        updater.update_tau(step)
        if step % 10 == 0:
            print("step %2d loss %.3f student %.3f teacher %.3f" % (
                step, loss.item(), accuracy(student, val_points, val_labels), accuracy(teacher, val_points, val_labels)))


if __name__ == "__main__":
    main()
