"""discuss.pytorch.org, "WGAN-GP with double backward, detach in D step only, requires_grad toggled for the critic"
Symptom: none.
EXPECT: runs
TRUTH: Correct. create_graph is given for the penalty, fakes are detached for the critic, and the critic is frozen only during the G step."""
import torch
import torch.nn as nn

torch.manual_seed(0)
G = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 2))
C = nn.Sequential(nn.Linear(2, 64), nn.Softplus(), nn.Linear(64, 1))
og = torch.optim.Adam(G.parameters(), 2e-3, betas=(0.0, 0.9))
oc = torch.optim.Adam(C.parameters(), 4e-3, betas=(0.0, 0.9))
center = torch.tensor([2.0, -1.0])


def toggle(net, flag):
    for p in net.parameters():
        p.requires_grad_(flag)


def gp(real, fake):
    u = torch.rand(len(real), 1)
    mid = torch.lerp(real, fake, u).requires_grad_(True)
    grad, = torch.autograd.grad(C(mid).sum(), mid, create_graph=True)
    return (grad.norm(dim=1) - 1).square().mean()


for it in range(250):
    toggle(C, True)
    for _ in range(2):
        real = center + 0.3 * torch.randn(64, 2)
        fake = G(torch.randn(64, 2)).detach()
        w = C(fake).mean() - C(real).mean()
        loss_c = w + 5 * gp(real, fake)
        oc.zero_grad()
        loss_c.backward()
        oc.step()
    toggle(C, False)
    loss_g = -C(G(torch.randn(64, 2))).mean()
    og.zero_grad()
    loss_g.backward()
    og.step()
    if it % 80 == 0:
        print(it, "W", -w.item())
with torch.no_grad():
    print("loss", loss_c.item(), "distance", (G(torch.randn(500, 2)).mean(0) - center).norm().item())
