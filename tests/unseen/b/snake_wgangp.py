"""GitHub issue (WGAN-GP implementation), "Gradient penalty stays high, critic gradient norm is not pulled to 1"
Symptom: gp term grows over time, changing its weight makes no difference.
EXPECT: runs
TRUTH: autograd.grad is called without create_graph=True, so the penalty is a constant without gradient to the critic.
Pass create_graph=True."""
import torch
import torch.nn as nn

torch.manual_seed(0)


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 64), nn.Softplus(), nn.Linear(64, 1))

    def forward(self, x):
        return self.net(x)


def penalty(critic, real, fake):
    eps = torch.rand(real.size(0), 1)
    mix = (eps * real + (1 - eps) * fake).requires_grad_()
    score = critic(mix)
    grad = torch.autograd.grad(
        outputs=score, inputs=mix,
        grad_outputs=torch.ones_like(score),
        retain_graph=True)[0]  # CULPRIT
    return ((grad.norm(2, dim=1) - 1) ** 2).mean()


critic = Critic()
gen = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 2))
oc = torch.optim.Adam(critic.parameters(), lr=5e-3)
og = torch.optim.Adam(gen.parameters(), lr=1e-4)
for it in range(250):
    real = torch.randn(64, 2) * 0.3 + 2
    fake = gen(torch.randn(64, 3)).detach()
    gp = penalty(critic, real, fake)
    lc = critic(fake).mean() - critic(real).mean() + 10 * gp
    oc.zero_grad()
    lc.backward()
    oc.step()
    if it % 5 == 0:
        lg = -critic(gen(torch.randn(64, 3))).mean()
        og.zero_grad()
        lg.backward()
        og.step()
    if it % 50 == 0:
        print(it, "gp", gp.item())
print("loss", lc.item(), "gp", gp.item())
