"""lucidrains/denoising-diffusion-pytorch#109
Symptom: line by line, loss.backward() works the first time and fails the second: "Trying to backward through the graph a second time".
EXPECT: raises RuntimeError
TRUTH: the data set is converted by a Conv1d outside of the training loop, so all batches share its graph; detach the converted data.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Denoiser(nn.Module):
    def __init__(self, channels, width=32, steps=50):
        super().__init__()
        self.time = nn.Embedding(steps, width)
        self.inp = nn.Conv1d(channels, width, 3, padding=1)
        self.mid = nn.Conv1d(width, width, 3, padding=1)
        self.out = nn.Conv1d(width, channels, 3, padding=1)

    def forward(self, x, t):
        h = F.silu(self.inp(x) + self.time(t).unsqueeze(-1))
        h = h + F.silu(self.mid(h))
        return self.out(h)


class GaussianDiffusion1D(nn.Module):
    def __init__(self, model, timesteps=50):
        super().__init__()
        self.model = model
        self.num_timesteps = timesteps
        betas = torch.linspace(1e-4, 0.1, timesteps)
        alphas_cumprod = torch.cumprod(1 - betas, dim=0)
        self.register_buffer("sqrt_ac", alphas_cumprod.sqrt())
        self.register_buffer("sqrt_om", (1 - alphas_cumprod).sqrt())

    def q_sample(self, x_start, t, noise):
        return self.sqrt_ac[t].view(-1, 1, 1) * x_start + self.sqrt_om[t].view(-1, 1, 1) * noise

    def forward(self, x_start):
        t = torch.randint(0, self.num_timesteps, (x_start.size(0),))
        noise = torch.randn_like(x_start)
        pred = self.model(self.q_sample(x_start, t, noise), t)
        return F.mse_loss(pred, noise)


def load_signals(n, length):
    phase = torch.rand(n, 1, 1) * 6.28
    freq = 1 + torch.randint(0, 3, (n, 1, 1))
    grid = torch.linspace(0, 6.28, length)
    return torch.sin(freq * grid + phase)


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    signals = load_signals(256, 32)
    to_channels = nn.Conv1d(1, 4, kernel_size=1)
    training_images = to_channels(signals)  # CULPRIT

    diffusion = GaussianDiffusion1D(Denoiser(channels=4))
    optimizer = torch.optim.Adam(diffusion.parameters(), lr=2e-3)
    for step in range(300):
        batch = training_images[torch.randint(0, len(training_images), (32,))]
        loss = diffusion(batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 60 == 0:
            print(f"step {step}: loss {loss.item():.4f}")
    print("done")


if __name__ == "__main__":
    main()
