"""Reweighted wake-sleep (Bornschein & Bengio, 2015), both wake updates and the sleep one."""
import math
import torch
from torch import nn
from torch.distributions import Categorical, Normal

torch.manual_seed(0)
K, S = 5, 8
data = torch.randn(512, 1) * 0.3 + 3 * (torch.randint(K, (512, 1)) - 2)


class Mixture(nn.Module):
    def __init__(self):
        super().__init__()
        self.logits = nn.Parameter(torch.zeros(K))
        self.means = nn.Parameter(torch.randn(K))
        self.recognition = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, K))

    def joint(self, z, x):
        return Categorical(logits=self.logits).log_prob(z) + Normal(self.means[z], 1.0).log_prob(x)

    def q(self, x):
        return Categorical(logits=self.recognition(x))


net = Mixture()
theta = torch.optim.Adam([net.logits, net.means], lr=1e-2)
phi = torch.optim.Adam(net.recognition.parameters(), lr=3e-3)
for step in range(200):
    x = data[torch.randint(512, (64,))]
    q = net.q(x)
    z = q.sample((S,))
    log_q, log_p = q.log_prob(z), net.joint(z, x.squeeze(1))
    log_w = log_p - log_q.detach()
    wake_theta = -(torch.logsumexp(log_w, 0) - math.log(S)).mean()
    w = log_w.detach().softmax(0)
    wake_phi = -(w * log_q).sum(0).mean()
    dream_z = Categorical(logits=net.logits).sample((64,))
    dream_x = Normal(net.means[dream_z], 1.0).sample()
    sleep_phi = -net.q(dream_x[:, None]).log_prob(dream_z).mean()
    loss = wake_theta + 0.5 * (wake_phi + sleep_phi)
    theta.zero_grad()
    phi.zero_grad()
    loss.backward()
    theta.step()
    phi.step()
    if step % 50 == 0:
        print(step, wake_theta.item(), sleep_phi.item())
