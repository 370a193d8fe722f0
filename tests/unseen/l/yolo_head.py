"""WRONG. Building the model fails in _initialize_biases: "a view of a leaf Variable that requires grad is being used in an in-place operation." With an old PyTorch (1.7) the same code worked.
TRUTH: `b = mi.bias.view(m.na, -1)` is a view of a parameter recorded by autograd and is then written in place. Take the view of `mi.bias.detach()` (or .data), or do the two in-place additions under torch.no_grad().
THREAD: https://github.com/DataXujing/YOLO-v5/issues/23
"""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

ANCHORS = [[4, 4, 6, 5, 5, 8], [10, 9, 12, 16, 16, 14]]
HYP = {"lr0": 0.02, "momentum": 0.9, "weight_decay": 5e-4, "obj": 1.0, "cls": 0.5, "box": 0.5}


class Conv(nn.Module):
    def __init__(self, c1, c2, k=3, s=1):
        super().__init__()
        self.conv = nn.Conv2d(c1, c2, k, s, k // 2, bias=False)
        self.bn = nn.BatchNorm2d(c2)
        self.act = nn.SiLU()

    def forward(self, x):
        return self.act(self.bn(self.conv(x)))


class Detect(nn.Module):
    def __init__(self, nc=3, anchors=(), ch=()):
        super().__init__()
        self.nc, self.no = nc, nc + 5
        self.nl, self.na = len(anchors), len(anchors[0]) // 2
        self.stride = None
        self.register_buffer("anchors", torch.tensor(anchors).float().view(self.nl, -1, 2))
        self.m = nn.ModuleList(nn.Conv2d(c, self.no * self.na, 1) for c in ch)

    def forward(self, x):
        out = []
        for i in range(self.nl):
            y = self.m[i](x[i])
            bs, _, ny, nx = y.shape
            out.append(y.view(bs, self.na, self.no, ny, nx).permute(0, 1, 3, 4, 2).contiguous())
        return out


class Model(nn.Module):
    def __init__(self, nc=3, anchors=ANCHORS, imgsz=32):
        super().__init__()
        self.stem = Conv(3, 8, s=2)
        self.p2 = Conv(8, 16, s=2)
        self.p3 = Conv(16, 24, s=2)
        self.head = Detect(nc, anchors, ch=(16, 24))
        with torch.no_grad():
            shapes = [o.shape[-2] for o in self.forward(torch.zeros(1, 3, imgsz, imgsz))]
        self.head.stride = torch.tensor([imgsz / s for s in shapes])
        self._initialize_biases()

    def forward(self, x):
        a = self.p2(self.stem(x))
        return self.head([a, self.p3(a)])

    def _initialize_biases(self, cf=None):
        m = self.head
        for mi, s in zip(m.m, m.stride.tolist()):
            b = mi.bias.view(m.na, -1)  # CULPRIT
            b[:, 4] += math.log(8 / (640 / s) ** 2)  # CULPRIT
            b[:, 5:] += math.log(0.6 / (m.nc - 0.99)) if cf is None else torch.log(cf / cf.sum())
            mi.bias = nn.Parameter(b.view(-1), requires_grad=True)


def build_targets(n, nc, shapes):
    out = []
    for na, ny, nx in shapes:
        tobj = (torch.rand(n, na, ny, nx) < 0.1).float()
        tcls = F.one_hot(torch.randint(0, nc, (n, na, ny, nx)), nc).float()
        tbox = torch.rand(n, na, ny, nx, 4)
        out.append((tobj, tcls, tbox))
    return out


def compute_loss(preds, targets, hyp):
    lobj = lcls = lbox = torch.zeros(())
    for p, (tobj, tcls, tbox) in zip(preds, targets):
        pos = tobj > 0
        lobj = lobj + F.binary_cross_entropy_with_logits(p[..., 4], tobj)
        if pos.any():
            lcls = lcls + F.binary_cross_entropy_with_logits(p[..., 5:][pos], tcls[pos])
            lbox = lbox + F.smooth_l1_loss(p[..., :4][pos].sigmoid(), tbox[pos])
    return hyp["obj"] * lobj + hyp["cls"] * lcls + hyp["box"] * lbox, (lobj.item(), lcls.item(), lbox.item())


def param_groups(model, wd):
    decay = [p for n, p in model.named_parameters() if p.ndim > 1]
    rest = [p for n, p in model.named_parameters() if p.ndim <= 1]
    return [{"params": decay, "weight_decay": wd}, {"params": rest, "weight_decay": 0.0}]


def train():
    model = Model()
    opt = torch.optim.SGD(param_groups(model, HYP["weight_decay"]), lr=HYP["lr0"], momentum=HYP["momentum"], nesterov=True)
    sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda e: 1 - 0.8 * e / 30)
    imgs = torch.randn(8, 3, 32, 32)
    targets = build_targets(8, 3, [(3, 8, 8), (3, 4, 4)])
    for it in range(30):
        loss, items = compute_loss(model(imgs), targets, HYP)
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
        if it % 10 == 0 or it == 29:
            print("%3d loss %.4f obj %.4f cls %.4f box %.4f" % ((it, loss.item()) + items))


if __name__ == "__main__":
    train()
