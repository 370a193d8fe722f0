"""RIGHT. Signed distance network with an eikonal term (derivative with respect to the coordinates inside the loss), trained with accumulated micro-batches; the evaluation asks for gradients inside a no_grad function.
TRUTH: the coordinates are fresh leaves, autograd.grad has create_graph in training (the term has to reach the weights) and not in evaluation, each micro-batch loss is divided by their number, zero_grad comes once per step, and enable_grad inside evaluate is needed for the normals.
"""
import torch
import torch.nn as nn

torch.manual_seed(0)


class SDF(nn.Module):
    def __init__(self, hidden=48):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, hidden), nn.Softplus(beta=20), nn.Linear(hidden, hidden), nn.Softplus(beta=20),
                                 nn.Linear(hidden, 1))

    def forward(self, x):
        return self.net(x).squeeze(-1)


def spatial_gradient(sdf, pts, create_graph):
    pts = pts.detach().requires_grad_(True)
    val = sdf(pts)
    grad, = torch.autograd.grad(val, pts, torch.ones_like(val), create_graph=create_graph)
    return val, grad


def sphere_points(n, gen, radius=0.6):
    d = torch.randn(n, 3, generator=gen)
    d = d / d.norm(dim=1, keepdim=True)
    return d * radius, d


def micro_loss(sdf, gen, n=128):
    on, normal = sphere_points(n, gen)
    space = torch.rand(n, 3, generator=gen) * 2 - 1
    val_on, grad_on = spatial_gradient(sdf, on, create_graph=True)
    val_sp, grad_sp = spatial_gradient(sdf, space, create_graph=True)
    surface = val_on.abs().mean()
    normals = (grad_on - normal).norm(dim=1).mean()
    eikonal = ((torch.cat([grad_on, grad_sp]).norm(dim=1) - 1) ** 2).mean()
    away = torch.exp(-50 * val_sp.abs()).mean()
    return surface + 0.3 * normals + 0.1 * eikonal + 0.01 * away, eikonal.detach()


@torch.no_grad()
def evaluate(sdf, gen):
    pts = torch.rand(500, 3, generator=gen) * 2 - 1
    with torch.enable_grad():
        val, grad = spatial_gradient(sdf, pts, create_graph=False)
    err = (val - (pts.norm(dim=1) - 0.6)).abs().mean()
    return err.item(), grad.norm(dim=1).mean().item()


def main(steps=60, accum=2):
    gen = torch.Generator().manual_seed(8)
    sdf = SDF()
    opt = torch.optim.Adam(sdf.parameters(), lr=5e-3)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, steps, eta_min=5e-4)
    for step in range(steps):
        opt.zero_grad()
        total = 0.0
        for _ in range(accum):
            loss, eik = micro_loss(sdf, gen)
            (loss / accum).backward()
            total += loss.item() / accum
        nn.utils.clip_grad_norm_(sdf.parameters(), 5.0)
        opt.step()
        sched.step()
        if step % 15 == 0 or step == steps - 1:
            print("step %2d loss %.4f eikonal %.4f | distance error %.4f gradient norm %.3f" % (
                (step, total, eik.item()) + evaluate(sdf, gen)))


if __name__ == "__main__":
    main()
