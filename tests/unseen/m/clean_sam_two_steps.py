"""RIGHT. Sharpness-aware minimisation: the weights are shifted in place, a second forward and backward runs at the shifted point, then they are put back and the base optimizer steps.
TRUTH: the shift happens after the first backward is finished and under no_grad, the second forward builds a new graph at the new point, the old weights are cloned before and copied back, BatchNorm statistics are updated in the first pass only.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class SAM(torch.optim.Optimizer):
    def __init__(self, params, base_cls, rho=0.05, **kwargs):
        super().__init__(params, dict(rho=rho, **kwargs))
        self.base = base_cls(self.param_groups, **kwargs)
        self.param_groups = self.base.param_groups

    @torch.no_grad()
    def first_step(self):
        grads = [p.grad for g in self.param_groups for p in g["params"] if p.grad is not None]
        norm = torch.stack([g.norm() for g in grads]).norm()
        for group in self.param_groups:
            scale = group["rho"] / (norm + 1e-12)
            for p in group["params"]:
                if p.grad is None:
                    continue
                self.state[p]["old_p"] = p.clone()
                p.add_(p.grad * scale)
        self.zero_grad()

    @torch.no_grad()
    def second_step(self):
        for group in self.param_groups:
            for p in group["params"]:
                if "old_p" in self.state[p]:
                    p.copy_(self.state[p].pop("old_p"))
        self.base.step()
        self.zero_grad()

    def step(self, closure=None):
        raise RuntimeError("call first_step and second_step")


def set_running_stats(model, enabled):
    for m in model.modules():
        if isinstance(m, nn.BatchNorm1d):
            if enabled:
                m.momentum = m.saved_momentum
            else:
                m.saved_momentum, m.momentum = m.momentum, 0.0


def build_model():
    return nn.Sequential(
        nn.Linear(12, 64), nn.BatchNorm1d(64), nn.ReLU(),
        nn.Linear(64, 64), nn.BatchNorm1d(64), nn.ReLU(),
        nn.Linear(64, 4),
    )


def make_data(n, noise=0.1):
    g = torch.Generator().manual_seed(11)
    centers = 1.2 * torch.randn(4, 12, generator=g)
    y = torch.randint(0, 4, (n,))
    x = centers[y] + torch.randn(n, 12)
    flip = torch.rand(n) < noise
    return x, torch.where(flip, torch.randint(0, 4, (n,)), y)


@torch.no_grad()
def accuracy(model, x, y):
    model.eval()
    acc = (model(x).argmax(1) == y).float().mean().item()
    model.train()
    return acc


def main():
    x, y = make_data(320)
    xv, yv = make_data(320, noise=0.0)
    model = build_model()
    optimizer = SAM(model.parameters(), torch.optim.SGD, rho=0.1, lr=0.05, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer.base, step_size=6, gamma=0.3)
    for epoch in range(10):
        first, second = 0.0, 0.0
        for idx in torch.randperm(len(x)).split(64):
            loss = F.cross_entropy(model(x[idx]), y[idx], label_smoothing=0.05)
            loss.backward()
            optimizer.first_step()

            set_running_stats(model, False)
            shifted = F.cross_entropy(model(x[idx]), y[idx], label_smoothing=0.05)
            shifted.backward()
            set_running_stats(model, True)
            optimizer.second_step()
            first += loss.item()
            second += shifted.item()
        scheduler.step()
        if epoch % 3 == 0:
            print(f"epoch {epoch} loss {first / 5:.4f} at the shifted point {second / 5:.4f} "
                  f"acc {accuracy(model, xv, yv):.3f}")
    print(f"final accuracy {accuracy(model, xv, yv):.3f}")


if __name__ == "__main__":
    main()
