"""Noise-contrastive estimation whose noise is a Gaussian fitted by maximum likelihood."""
import torch
import torch.nn.functional as F
from torch import nn
from torch.distributions import Normal

torch.manual_seed(0)
data = torch.cat([torch.randn(1024) * 0.5 - 2, torch.randn(1024) * 0.5 + 3])


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.energy = nn.Sequential(nn.Linear(1, 64), nn.SiLU(), nn.Linear(64, 1))
        self.mu, self.log_sigma = nn.Parameter(torch.zeros(())), nn.Parameter(torch.zeros(()))

    def forward(self, x):
        noise = Normal(self.mu, self.log_sigma.exp())
        mle = -noise.log_prob(x).mean()
        y = noise.sample(x.shape)  # the noise is not to please the classifier
        pos = -self.energy(x[:, None]).squeeze(1) - noise.log_prob(x).detach()
        neg = -self.energy(y[:, None]).squeeze(1) - noise.log_prob(y).detach()
        return mle, F.softplus(-pos).mean() + F.softplus(neg).mean()


net = Model()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(300):
    mle, nce = net(data[torch.randint(2048, (256,))])
    loss = mle + nce
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 100 == 0:
        print(step, mle.item(), nce.item())
