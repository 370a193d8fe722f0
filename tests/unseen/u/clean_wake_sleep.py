"""Wake-sleep (Hinton et al., 1995), both phases in one backward pass."""
import torch
from torch import nn
from torch.distributions import Bernoulli

torch.manual_seed(0)
data = (torch.rand(512, 16) < torch.rand(8, 16)[torch.randint(8, (512,))]).float()


class Machine(nn.Module):
    def __init__(self, d=16, h=6):
        super().__init__()
        self.prior = nn.Parameter(torch.zeros(h))
        self.generate = nn.Sequential(nn.Linear(h, 32), nn.Tanh(), nn.Linear(32, d))
        self.recognise = nn.Sequential(nn.Linear(d, 32), nn.Tanh(), nn.Linear(32, h))

    def p_z(self, n):
        return Bernoulli(logits=self.prior.expand(n, -1))

    def p_x(self, z):
        return Bernoulli(logits=self.generate(z))

    def q_z(self, x):
        return Bernoulli(logits=self.recognise(x))


net = Machine()
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
for step in range(300):
    x = data[torch.randint(512, (64,))]
    z = net.q_z(x).sample()
    wake = -(net.p_x(z).log_prob(x).sum(1) + net.p_z(64).log_prob(z).sum(1)).mean()
    dream_z = net.p_z(64).sample()
    dream_x = net.p_x(dream_z).sample()
    sleep = -net.q_z(dream_x).log_prob(dream_z).sum(1).mean()
    loss = wake + sleep
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(step, wake.item(), sleep.item())
