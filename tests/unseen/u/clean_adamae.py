"""AdaMAE: a masked autoencoder whose mask is drawn by a sampler trained by REINFORCE."""
import torch
from torch import nn

torch.manual_seed(0)
P, D, KEEP = 12, 8, 4
basis = torch.randn(3, P * D)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Linear(D, 32)
        self.sampler = nn.Sequential(nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))
        self.encoder = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True)
        self.mask_token = nn.Parameter(0.02 * torch.randn(32))
        self.place = nn.Parameter(0.02 * torch.randn(P, 32))
        self.decoder = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True)
        self.head = nn.Linear(32, D)

    def forward(self, x):
        tokens = self.embed(x) + self.place
        prob = self.sampler(tokens).squeeze(-1).softmax(-1)
        keep = torch.multinomial(prob, KEEP)
        index = keep[..., None].expand(-1, -1, 32)
        seen = self.encoder(tokens.gather(1, index))
        full = (self.mask_token + self.place).expand(len(x), -1, -1).scatter(1, index, seen)
        hidden = torch.ones_like(prob).scatter(1, keep, 0.0)
        return self.head(self.decoder(full)), hidden, prob


net = Model()
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
for step in range(150):
    x = (torch.randn(64, 3) @ basis).view(64, P, D)
    out, hidden, prob = net(x)
    error = (out - x).square().mean(-1)
    recon = (error * hidden).sum() / hidden.sum()
    reward = (error.detach() * hidden)
    sampling = -(torch.log(prob + 1e-8) * reward).sum() / hidden.sum()
    loss = recon + 1e-2 * sampling
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(step, recon.item())
