"""W1 between two samples by its dual, with a spectrally normalised critic."""
import torch
from torch import nn
from torch.nn.utils.parametrizations import spectral_norm

torch.manual_seed(0)
a = torch.randn(2048, 4)
b = torch.randn(2048, 4) + torch.tensor([12.0, 0, 0, 0])

critic = nn.Sequential(
    spectral_norm(nn.Linear(4, 64), n_power_iterations=5), nn.LeakyReLU(0.9),
    spectral_norm(nn.Linear(64, 64), n_power_iterations=5), nn.LeakyReLU(0.9),
    spectral_norm(nn.Linear(64, 1), n_power_iterations=5),
)
optimizer = torch.optim.Adam(critic.parameters(), lr=1e-3)
for step in range(300):
    i, j = torch.randint(2048, (2, 128))
    loss = critic(a[i]).mean() - critic(b[j]).mean()  # 1-Lipschitz: at least -W1
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(step, f"W1 >= {-loss.item():.2f}")
