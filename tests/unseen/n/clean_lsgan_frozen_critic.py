"""RIGHT. Least squares GAN in which one fake batch serves both networks, the critic gets it detached and the parameters of the critic are frozen during the generator step.
TRUTH: fake.detach() is right for the critic's loss (the generator is not to learn from it); the generator's loss is a new pass through the updated critic, after opt_D.step(), so nothing that is still needed was changed in place. requires_grad_(False) on the critic's parameters does not stop the gradient to its input; it is set back to True each round. The label smoothing target and the moving average of the generator are constants by design.
"""
import copy
import torch
import torch.nn as nn

torch.manual_seed(0)

cfg = {"z": 4, "hidden": 32, "batch": 64, "iters": 250, "lr": 2e-3, "decay": 0.9}


def real_batch(n):
    angle = 2 * torch.pi * torch.rand(n, 1)
    ring = torch.cat([angle.cos(), angle.sin()], dim=1)
    return ring + 0.05 * torch.randn(n, 2)


def mlp(n_in, n_out, hidden):
    return nn.Sequential(nn.Linear(n_in, hidden), nn.LeakyReLU(0.2, inplace=True),
                         nn.Linear(hidden, hidden), nn.LeakyReLU(0.2, inplace=True),
                         nn.Linear(hidden, n_out))


def set_requires_grad(net, flag):
    for p in net.parameters():
        p.requires_grad_(flag)


@torch.no_grad()
def update_average(avg, net, decay):
    for a, p in zip(avg.parameters(), net.parameters()):
        a.lerp_(p, 1 - decay)


def main():
    G, D = mlp(cfg["z"], 2, cfg["hidden"]), mlp(2, 1, cfg["hidden"])
    G_avg = copy.deepcopy(G)
    set_requires_grad(G_avg, False)
    opt_G = torch.optim.Adam(G.parameters(), lr=cfg["lr"], betas=(0.5, 0.99))
    opt_D = torch.optim.Adam(D.parameters(), lr=cfg["lr"], betas=(0.5, 0.99))
    scheds = [torch.optim.lr_scheduler.ExponentialLR(o, 0.995) for o in (opt_G, opt_D)]

    for it in range(cfg["iters"]):
        real = real_batch(cfg["batch"])
        fake = G(torch.randn(cfg["batch"], cfg["z"]))

        set_requires_grad(D, True)
        d_loss = 0.5 * ((D(real) - 0.9) ** 2).mean() + 0.5 * (D(fake.detach()) ** 2).mean()
        opt_D.zero_grad()
        d_loss.backward()
        opt_D.step()

        set_requires_grad(D, False)
        g_loss = 0.5 * ((D(fake) - 0.9) ** 2).mean()
        opt_G.zero_grad()
        g_loss.backward()
        opt_G.step()

        update_average(G_avg, G, cfg["decay"])
        for s in scheds:
            s.step()
        if it % 50 == 0:
            print(f"it {it:3d} d {d_loss.item():.4f} g {g_loss.item():.4f}")

    with torch.no_grad():
        radius = G_avg(torch.randn(500, cfg["z"])).norm(dim=1)
    print(f"radius of the samples: mean {radius.mean().item():.3f} std {radius.std().item():.3f}")


if __name__ == "__main__":
    main()
