"""RIGHT. GradNorm: task weights that are trained by the norms of the gradients on the shared layer, with a retained graph, second derivatives and a gradient written by hand.
TRUTH: the norms are made with create_graph, their targets are detached, the gradient of the balancing loss is taken for the weights only by autograd.grad and assigned to weights.grad, the model gradients come from one backward with the weights as constants, and the weights are renormalised under no_grad after the step.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

CFG = dict(tasks=3, dim=10, width=32, alpha=1.0, lr=5e-3, lr_weights=2e-2, steps=60)


class MultiTaskNet(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(cfg["dim"], cfg["width"]), nn.Tanh())
        self.shared = nn.Linear(cfg["width"], cfg["width"])
        self.heads = nn.ModuleList(nn.Linear(cfg["width"], 1) for _ in range(cfg["tasks"]))

    def forward(self, x):
        z = torch.tanh(self.shared(self.trunk(x)))
        return torch.cat([head(z) for head in self.heads], dim=1)


class GradNorm:
    def __init__(self, model, cfg):
        self.shared = model.shared.weight
        self.alpha = cfg["alpha"]
        self.weights = torch.ones(cfg["tasks"], requires_grad=True)
        self.optimizer = torch.optim.Adam([self.weights], lr=cfg["lr_weights"])
        self.initial = None

    def balance(self, losses):
        if self.initial is None:
            self.initial = losses.detach().clone()
        norms = []
        for w, loss in zip(self.weights, losses):
            g = torch.autograd.grad(w * loss, self.shared, retain_graph=True, create_graph=True)[0]
            norms.append(g.norm())
        norms = torch.stack(norms)
        with torch.no_grad():
            ratio = losses / self.initial
            rate = ratio / ratio.mean()
            target = norms.mean() * rate ** self.alpha
        gap = (norms - target).abs().sum()
        self.weights.grad = torch.autograd.grad(gap, self.weights, retain_graph=True)[0]
        return gap.item()

    def step(self):
        self.optimizer.step()
        with torch.no_grad():
            self.weights.clamp_(min=0.05)
            self.weights.mul_(len(self.weights) / self.weights.sum())


class Tasks:
    """The tasks differ only in the scale of the targets."""

    def __init__(self, cfg):
        self.proj = torch.randn(cfg["dim"], cfg["tasks"]) / cfg["dim"] ** 0.5
        self.scale = torch.tensor([0.3, 1.0, 4.0])

    def batch(self, n):
        x = torch.randn(n, self.proj.size(0))
        return x, torch.sin(x @ self.proj) * self.scale


def main():
    tasks = Tasks(CFG)
    model = MultiTaskNet(CFG)
    balancer = GradNorm(model, CFG)
    optimizer = torch.optim.Adam(model.parameters(), lr=CFG["lr"])
    xv, yv = tasks.batch(512)
    for step in range(CFG["steps"]):
        x, y = tasks.batch(128)
        losses = F.mse_loss(model(x), y, reduction="none").mean(0)
        gap = balancer.balance(losses)
        total = (balancer.weights.detach() * losses).sum()
        optimizer.zero_grad()
        total.backward()
        optimizer.step()
        balancer.step()
        if step % 15 == 14:
            with torch.no_grad():
                val = (F.mse_loss(model(xv), yv, reduction="none").mean(0) / yv.var(0)).tolist()
            print(f"step {step} gap {gap:.4f} weights "
                  + " ".join(f"{w:.2f}" for w in balancer.weights.tolist())
                  + " relative val error " + " ".join(f"{v:.3f}" for v in val))
    print("sum of weights:", round(balancer.weights.sum().item(), 4))


if __name__ == "__main__":
    main()
