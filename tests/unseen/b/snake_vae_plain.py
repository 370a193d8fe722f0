"""discuss.pytorch.org, "VAE loss becomes negative and then nan/inf"
Symptom: total loss sinks below zero without end, the reconstructions get worse.
EXPECT: runs
TRUTH: The KL divergence has the wrong sign: it must be -0.5 * sum(1 + logvar - mu^2 - exp(logvar)). As written the
divergence is maximised."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class VAE(nn.Module):
    def __init__(self, d=20, h=32, z=3):
        super().__init__()
        self.fc1 = nn.Linear(d, h)
        self.fc_mu = nn.Linear(h, z)
        self.fc_var = nn.Linear(h, z)
        self.fc3 = nn.Linear(z, h)
        self.fc4 = nn.Linear(h, d)

    def encode(self, x):
        h = F.relu(self.fc1(x))
        return self.fc_mu(h), self.fc_var(h)

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        return mu + std * torch.randn_like(std)

    def forward(self, x):
        mu, logvar = self.encode(x)
        z = self.reparameterize(mu, logvar)
        return self.fc4(F.relu(self.fc3(z))), mu, logvar


def loss_function(recon, x, mu, logvar):
    mse = F.mse_loss(recon, x, reduction="sum") / len(x)
    kld = 0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp()) / len(x)  # CULPRIT
    return mse + 0.1 * kld


x = torch.randn(256, 3) @ torch.randn(3, 20)
model = VAE()
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(60):
    for b in x.split(64):
        loss = loss_function(*[(o := model(b))[0], b, o[1], o[2]])
        opt.zero_grad()
        loss.backward()
        opt.step()
    if epoch % 20 == 0:
        print(epoch, loss.item())
print("loss", loss.item())
