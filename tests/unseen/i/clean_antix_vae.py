"""CORRECT. Vanilla VAE whose log_var is log sigma^2, KL with log_var.exp() and no square; asked whether this is a mistake, answered that it is consistent (log_var = 2 log sigma).
THREAD: https://github.com/AntixK/PyTorch-VAE/issues/69
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class VanillaVAE(nn.Module):
    def __init__(self, in_dim=24, hidden_dims=(48, 32), latent_dim=4):
        super().__init__()
        modules, d = [], in_dim
        for h_dim in hidden_dims:
            modules.append(nn.Sequential(nn.Linear(d, h_dim), nn.LeakyReLU()))
            d = h_dim
        self.encoder = nn.Sequential(*modules)
        self.fc_mu = nn.Linear(d, latent_dim)
        self.fc_var = nn.Linear(d, latent_dim)
        modules = [nn.Linear(latent_dim, d), nn.LeakyReLU(), nn.Linear(d, hidden_dims[0]), nn.LeakyReLU()]
        self.decoder = nn.Sequential(*modules)
        self.final_layer = nn.Linear(hidden_dims[0], in_dim)

    def encode(self, input):
        result = self.encoder(input)
        return [self.fc_mu(result), self.fc_var(result)]

    def decode(self, z):
        return self.final_layer(self.decoder(z))

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        eps = torch.randn_like(std)
        return eps * std + mu

    def forward(self, input):
        mu, log_var = self.encode(input)
        z = self.reparameterize(mu, log_var)
        return [self.decode(z), input, mu, log_var]

    def loss_function(self, *args, **kwargs):
        recons, input, mu, log_var = args
        kld_weight = kwargs['M_N']
        recons_loss = F.mse_loss(recons, input)
        kld_loss = torch.mean(-0.5 * torch.sum(1 + log_var - mu ** 2 - log_var.exp(), dim=1), dim=0)
        loss = recons_loss + kld_weight * kld_loss
        return {'loss': loss, 'Reconstruction_Loss': recons_loss.detach(), 'KLD': -kld_loss.detach()}

    def sample(self, num_samples):
        return self.decode(torch.randn(num_samples, self.fc_mu.out_features))


def waves(n):
    t = torch.linspace(0, 6.28, 24)
    a, p = torch.rand(n, 1) + 0.5, torch.rand(n, 1) * 6.28
    return a * torch.sin(t + p) + 0.02 * torch.randn(n, 24)


model = VanillaVAE()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.95)
for epoch in range(15):
    for _ in range(20):
        out = model(waves(64))
        train_loss = model.loss_function(*out, M_N=0.005)
        optimizer.zero_grad()
        train_loss['loss'].backward()
        optimizer.step()
    scheduler.step()
    if epoch % 5 == 4:
        print({k: round(v.item(), 4) for k, v in train_loss.items()})
with torch.no_grad():
    print('std of samples', model.sample(200).std().item())
