"""WRONG. Multi-VAE: the posterior variance is no free quantity, log variance and mean of a user are always the same numbers and the bound stays loose.
TRUTH: the encoder's output has 2 * q_dim columns and logvar_q takes the same first half as mu_q; it must take h[:, q_dims[-1]:].
THREAD: https://github.com/kaist-dmlab/TRAP/pull/1
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class MultiVAE(nn.Module):
    def __init__(self, p_dims, dropout=0.2):
        super().__init__()
        self.p_dims = p_dims
        self.q_dims = p_dims[::-1]
        q_out = self.q_dims[:-1] + [self.q_dims[-1] * 2]
        self.q_layers = nn.ModuleList([nn.Linear(i, o) for i, o in zip(q_out[:-1], q_out[1:])])
        self.p_layers = nn.ModuleList([nn.Linear(i, o) for i, o in zip(p_dims[:-1], p_dims[1:])])
        self.drop = nn.Dropout(dropout)

    def encode(self, x):
        h = self.drop(F.normalize(x))
        for i, layer in enumerate(self.q_layers):
            h = layer(h)
            if i != len(self.q_layers) - 1:
                h = torch.tanh(h)
        mu_q = h[:, :self.q_dims[-1]]
        logvar_q = h[:, :self.q_dims[-1]]  # CULPRIT
        return mu_q, logvar_q

    def reparameterize(self, mu, logvar):
        if self.training:
            return mu + torch.exp(0.5 * logvar) * torch.randn_like(mu)
        return mu

    def decode(self, z):
        h = z
        for i, layer in enumerate(self.p_layers):
            h = layer(h)
            if i != len(self.p_layers) - 1:
                h = torch.tanh(h)
        return h

    def forward(self, x):
        mu, logvar = self.encode(x)
        return self.decode(self.reparameterize(mu, logvar)), mu, logvar


def loss_function(recon_x, x, mu, logvar, anneal):
    neg_ll = -torch.mean(torch.sum(F.log_softmax(recon_x, 1) * x, -1))
    KLD = -0.5 * torch.mean(torch.sum(1 + logvar - mu.pow(2) - logvar.exp(), dim=1))
    return neg_ll + anneal * KLD, neg_ll, KLD


def users(n, items=60, taste_dim=4):
    g = torch.Generator().manual_seed(1)
    item_vec = torch.randn(taste_dim, items, generator=g)
    score = torch.randn(n, taste_dim) @ item_vec * 1.5
    return torch.zeros(n, items).scatter_(1, torch.multinomial(F.softmax(score, 1), 12), 1.0)


train_data, test_data = users(1000), users(300)
model = MultiVAE([4, 32, 60])
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(60):
    model.train()
    perm = torch.randperm(len(train_data))
    for i in range(0, len(perm), 100):
        batch = train_data[perm[i:i + 100]]
        recon, mu, logvar = model(batch)
        loss, nll, kld = loss_function(recon, batch, mu, logvar, anneal=min(1.0, epoch / 20))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch % 20 == 19:
        print('epoch %d -ELBO %.3f nll %.3f kl %.3f' % (epoch, loss.item(), nll.item(), kld.item()))

model.train()
with torch.no_grad():
    recon, mu, logvar = model(test_data)
    print('test -ELBO %.3f nll %.3f kl %.3f' % loss_function(recon, test_data, mu, logvar, 1.0))
