"""WRONG. The student segments well, the mean teacher, which should be better and delivers the pseudo labels, is near chance and stays there.
TRUTH: MomentumUpdater.update averages only the parameters; the BatchNorm buffers of the teacher (always in eval mode) keep running_mean 0 and running_var 1. The buffers must be carried over as well.
THREAD: https://github.com/saltoricristiano/cosmix-uda/issues/21
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

CFG = dict(base_tau=0.8, final_tau=0.95, steps=50, lr=5e-3, conf=0.9, lam=0.1)


class SegNet(nn.Module):
    def __init__(self, c_in=3, width=12, classes=3):
        super().__init__()
        self.enc = nn.Sequential(
            nn.Conv2d(c_in, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(),
        )
        self.cls = nn.Conv2d(width, classes, 1)

    def forward(self, x):
        return self.cls(self.enc(x))


def initialize_momentum_params(online_net, momentum_net):
    momentum_net.load_state_dict(online_net.state_dict())
    for p in momentum_net.parameters():
        p.requires_grad = False


class MomentumUpdater:
    def __init__(self, base_tau, final_tau):
        self.base_tau, self.final_tau = base_tau, final_tau
        self.cur_tau = base_tau

    @torch.no_grad()
    def update(self, online_net, momentum_net):
        for op, mp in zip(online_net.parameters(), momentum_net.parameters()):  # CULPRIT
            mp.mul_(self.cur_tau).add_(op, alpha=1 - self.cur_tau)

    def update_tau(self, cur_step, max_steps):
        frac = cur_step / max_steps
        self.cur_tau = self.base_tau + (self.final_tau - self.base_tau) * frac


def sample(n, shift=0.0):
    y = torch.randint(0, 3, (n, 4, 4))
    y = y.repeat_interleave(2, 1).repeat_interleave(2, 2)
    palette = torch.tensor([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    x = palette[y].permute(0, 3, 1, 2) * 40 + 90 + shift
    return x + 6 * torch.randn_like(x), y


def pseudo_label(teacher, x, conf):
    with torch.no_grad():
        prob = teacher(x).softmax(1)
        score, label = prob.max(1)
    label[score < conf] = -1
    return label


@torch.no_grad()
def pixel_acc(net, x, y):
    was_training = net.training
    net.eval()
    acc = (net(x).argmax(1) == y).float().mean().item()
    net.train(was_training)
    return acc


def main():
    student, teacher = SegNet(), SegNet()
    initialize_momentum_params(student, teacher)
    teacher.eval()
    updater = MomentumUpdater(CFG["base_tau"], CFG["final_tau"])
    optimizer = torch.optim.Adam(student.parameters(), lr=CFG["lr"])
    xv, yv = sample(32, shift=4.0)

    for step in range(CFG["steps"]):
        xs, ys = sample(8)
        xt, _ = sample(8, shift=4.0)
        pl = pseudo_label(teacher, xt, CFG["conf"])
        sup = F.cross_entropy(student(xs), ys)
        unsup = F.cross_entropy(student(xt), pl, ignore_index=-1, reduction="sum")
        unsup = unsup / (pl >= 0).sum().clamp(min=1)
        loss = sup + CFG["lam"] * unsup
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        updater.update(student, teacher)
        updater.update_tau(step, CFG["steps"])
        if step % 10 == 9:
            print(f"step {step} sup {sup.item():.3f} kept {(pl >= 0).float().mean().item():.2f} "
                  f"student {pixel_acc(student, xv, yv):.3f} teacher {pixel_acc(teacher, xv, yv):.3f}")


if __name__ == "__main__":
    main()
