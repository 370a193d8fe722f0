"""GitHub issue (lightning), "Autoencoder: encoder weights do not change during fit"
Symptom: reconstruction loss decreases to a plateau, the decoder changes, the encoder does not.
EXPECT: runs
TRUTH: encode() is decorated with torch.no_grad (written for inference) and the training step
goes through it, so no gradient reaches the encoder. Take the decorator off."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class AutoEncoder(nn.Module):
    def __init__(self, d, z):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(d, 32), nn.ReLU(), nn.Linear(32, z))
        self.decoder = nn.Sequential(nn.Linear(z, 32), nn.ReLU(), nn.Linear(32, d))

    @torch.no_grad()  # CULPRIT
    def encode(self, x):
        return self.encoder(x)

    def decode(self, z):
        return self.decoder(z)

    def training_step(self, batch):
        z = self.encode(batch)
        return F.mse_loss(self.decode(z), batch)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=3e-3)


basis = torch.randn(3, 24)
data = torch.randn(256, 3) @ basis
ae = AutoEncoder(24, 3)
opt = ae.configure_optimizers()
for epoch in range(40):
    for batch in data.split(64):
        opt.zero_grad()
        loss = ae.training_step(batch)
        loss.backward()
        opt.step()
print("reconstruction loss", loss.item(), "data variance", data.var().item())
