"""CORRECT. loss = BCE + KLD with KLD = -0.5 * sum(1 + logvar - mu^2 - exp(logvar)) (asked: is the sign a typo? no, the negative ELBO is minimised).
THREAD: https://github.com/pytorch/examples/issues/824
"""
import torch
import torch.utils.data
from torch import nn, optim
from torch.nn import functional as F

torch.manual_seed(1)

SIDE = 10


def bars(n):
    """images of horizontal and vertical bars"""
    rows = (torch.rand(n, SIDE, 1) < 0.15).float()
    cols = (torch.rand(n, 1, SIDE) < 0.15).float()
    image = torch.maximum(rows.expand(n, SIDE, SIDE), cols.expand(n, SIDE, SIDE))
    return image.unsqueeze(1)


train_loader = torch.utils.data.DataLoader(
    torch.utils.data.TensorDataset(bars(3000), torch.zeros(3000)), batch_size=64, shuffle=True)
test_loader = torch.utils.data.DataLoader(
    torch.utils.data.TensorDataset(bars(600), torch.zeros(600)), batch_size=64)


class VAE(nn.Module):
    def __init__(self):
        super(VAE, self).__init__()
        self.fc1 = nn.Linear(SIDE * SIDE, 128)
        self.fc21 = nn.Linear(128, 12)
        self.fc22 = nn.Linear(128, 12)
        self.fc3 = nn.Linear(12, 128)
        self.fc4 = nn.Linear(128, SIDE * SIDE)

    def encode(self, x):
        h1 = F.relu(self.fc1(x))
        return self.fc21(h1), self.fc22(h1)

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        eps = torch.randn_like(std)
        return mu + eps * std

    def decode(self, z):
        h3 = F.relu(self.fc3(z))
        return torch.sigmoid(self.fc4(h3))

    def forward(self, x):
        mu, logvar = self.encode(x.view(-1, SIDE * SIDE))
        z = self.reparameterize(mu, logvar)
        return self.decode(z), mu, logvar


model = VAE()
optimizer = optim.Adam(model.parameters(), lr=1e-3)


# Reconstruction + KL divergence losses summed over all elements and batch
def loss_function(recon_x, x, mu, logvar):
    BCE = F.binary_cross_entropy(recon_x, x.view(-1, SIDE * SIDE), reduction='sum')
    KLD = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return BCE + KLD


def train(epoch):
    model.train()
    train_loss = 0
    for batch_idx, (data, _) in enumerate(train_loader):
        optimizer.zero_grad()
        recon_batch, mu, logvar = model(data)
        loss = loss_function(recon_batch, data, mu, logvar)
        loss.backward()
        train_loss += loss.item()
        optimizer.step()
    print('====> Epoch: {} Average loss: {:.4f}'.format(epoch, train_loss / len(train_loader.dataset)))


def test(epoch):
    model.eval()
    test_loss = 0
    with torch.no_grad():
        for i, (data, _) in enumerate(test_loader):
            recon_batch, mu, logvar = model(data)
            test_loss += loss_function(recon_batch, data, mu, logvar).item()
    print('====> Test set loss: {:.4f}'.format(test_loss / len(test_loader.dataset)))


if __name__ == "__main__":
    for epoch in range(1, 11):
        train(epoch)
        test(epoch)
    with torch.no_grad():
        sample = model.decode(torch.randn(64, 12))
    print('mean of the samples %.3f, of the data %.3f' % (sample.mean().item(), bars(1000).mean().item()))
