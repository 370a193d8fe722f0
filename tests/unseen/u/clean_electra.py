"""ELECTRA (Clark et al., 2020): a generator by MLM, a discriminator on what it drew."""
import torch
import torch.nn.functional as F
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)
V, L, D, MASK = 30, 16, 32, 0


class Encoder(nn.Module):
    def __init__(self, out):
        super().__init__()
        self.embed = nn.Embedding(V, D)
        self.place = nn.Parameter(0.02 * torch.randn(L, D))
        layer = nn.TransformerEncoderLayer(D, 4, 64, dropout=0.0, batch_first=True)
        self.body = nn.TransformerEncoder(layer, 2)
        self.head = nn.Linear(D, out)

    def forward(self, ids):
        return self.head(self.body(self.embed(ids) + self.place))


class Electra(nn.Module):
    def __init__(self):
        super().__init__()
        self.generator, self.discriminator = Encoder(V), Encoder(1)

    def forward(self, ids):
        masked = torch.rand(ids.shape) < 0.15
        logits = self.generator(ids.masked_fill(masked, MASK))[masked]
        mlm = F.cross_entropy(logits, ids[masked])
        drawn = Categorical(logits=logits).sample()  # not trained through, as in the paper
        corrupted = ids.masked_scatter(masked, drawn)
        replaced = (corrupted != ids).float()
        disc = F.binary_cross_entropy_with_logits(self.discriminator(corrupted).squeeze(-1), replaced)
        return mlm, disc


net = Electra()
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
for step in range(150):
    start = torch.randint(1, V, (32, 1))
    ids = (start + torch.arange(L)) % (V - 1) + 1
    mlm, disc = net(ids)
    loss = mlm + 50.0 * disc
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(step, mlm.item(), disc.item())
