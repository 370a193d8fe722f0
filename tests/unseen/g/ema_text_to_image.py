"""WRONG. The EMA weights follow the trained weights almost immediately, EMA does not work as it should.
TRUTH: step() stores the step dependent rate into self.decay, which is the configured decay that the next steps are limited by; it must be a local variable (decay = 1 - min(self.decay, value)).
THREAD: https://github.com/huggingface/diffusers/issues/1864
"""
import argparse
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--max_train_steps", type=int, default=300)
    parser.add_argument("--train_batch_size", type=int, default=64)
    parser.add_argument("--learning_rate", type=float, default=2e-3)
    parser.add_argument("--lr_warmup_steps", type=int, default=20)
    parser.add_argument("--max_grad_norm", type=float, default=1.0)
    parser.add_argument("--use_ema", type=bool, default=True)
    parser.add_argument("--seed", type=int, default=42)
    return parser.parse_args()


class DDPMScheduler:
    def __init__(self, num_train_timesteps=100):
        betas = torch.linspace(1e-4, 0.06, num_train_timesteps)
        self.alphas_cumprod = torch.cumprod(1 - betas, dim=0)
        self.num_train_timesteps = num_train_timesteps

    def add_noise(self, x, noise, t):
        a = self.alphas_cumprod[t].view(-1, 1)
        return a.sqrt() * x + (1 - a).sqrt() * noise


class ConditionalDenoiser(nn.Module):
    def __init__(self, dim=8, cond_dim=12, hidden=64):
        super().__init__()
        self.time = nn.Sequential(nn.Linear(16, hidden), nn.SiLU(), nn.Linear(hidden, hidden))
        self.cond = nn.Linear(cond_dim, hidden)
        self.inp = nn.Linear(dim, hidden)
        self.mid = nn.Sequential(nn.SiLU(), nn.Linear(hidden, hidden), nn.SiLU(), nn.Linear(hidden, dim))

    def forward(self, x, t, text):
        freqs = torch.exp(-math.log(1000.0) * torch.arange(8) / 8)
        ang = t[:, None].float() * freqs[None]
        emb = self.time(torch.cat([ang.sin(), ang.cos()], dim=1))
        return self.mid(self.inp(x) + emb + self.cond(text))


# Adapted from torch-ema
class EMAModel:
    """
    Exponential Moving Average of models weights
    """

    def __init__(self, parameters, decay=0.9999):
        parameters = list(parameters)
        self.shadow_params = [p.clone().detach() for p in parameters]
        self.decay = decay
        self.optimization_step = 0

    @torch.no_grad()
    def step(self, parameters):
        parameters = list(parameters)

        self.optimization_step += 1
        value = (1 + self.optimization_step) / (10 + self.optimization_step)
        self.decay = 1 - min(self.decay, value)  # CULPRIT

        for s_param, param in zip(self.shadow_params, parameters):
            if param.requires_grad:
                tmp = self.decay * (s_param - param)
                s_param.sub_(tmp)
            else:
                s_param.copy_(param)

    def copy_to(self, parameters):
        for s_param, param in zip(self.shadow_params, parameters):
            param.data.copy_(s_param.data)


def make_dataset(n=2048):
    g = torch.Generator().manual_seed(0)
    captions = torch.randint(0, 10, (n,), generator=g)
    table = torch.randn(10, 8, generator=g)
    latents = table[captions] + 0.2 * torch.randn(n, 8, generator=g)
    return TensorDataset(latents, captions)


def main():
    args = parse_args()
    torch.manual_seed(args.seed)
    text_encoder = nn.Embedding(10, 12)
    unet = ConditionalDenoiser()
    text_encoder.requires_grad_(False)

    optimizer = torch.optim.AdamW(unet.parameters(), lr=args.learning_rate, betas=(0.9, 0.999), weight_decay=1e-2)
    lr_scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: min(1.0, (s + 1) / args.lr_warmup_steps))
    noise_scheduler = DDPMScheduler()
    train_dataloader = DataLoader(make_dataset(), shuffle=True, batch_size=args.train_batch_size, drop_last=True)
    if args.use_ema:
        ema_unet = EMAModel(unet.parameters())

    global_step = 0
    while global_step < args.max_train_steps:
        unet.train()
        for latents, input_ids in train_dataloader:
            noise = torch.randn_like(latents)
            timesteps = torch.randint(0, noise_scheduler.num_train_timesteps, (latents.shape[0],))
            noisy_latents = noise_scheduler.add_noise(latents, noise, timesteps)
            encoder_hidden_states = text_encoder(input_ids)
            noise_pred = unet(noisy_latents, timesteps, encoder_hidden_states)
            loss = F.mse_loss(noise_pred, noise, reduction="mean")
            loss.backward()
            nn.utils.clip_grad_norm_(unet.parameters(), args.max_grad_norm)
            optimizer.step()
            lr_scheduler.step()
            optimizer.zero_grad()
            if args.use_ema:
                ema_unet.step(unet.parameters())
            global_step += 1
            if global_step % 75 == 0:
                with torch.no_grad():
                    gap = sum((s - p).pow(2).sum() for s, p in zip(ema_unet.shadow_params, unet.parameters())).sqrt()
                print(f"step {global_step} loss {loss.item():.4f} distance of EMA to the weights {gap.item():.4f}")
            if global_step >= args.max_train_steps:
                break

    if args.use_ema:
        ema_unet.copy_to(unet.parameters())
    unet.eval()
    with torch.no_grad():
        latents, ids = make_dataset()[:512]
        t = torch.full((512,), 50)
        noise = torch.randn_like(latents)
        out = unet(noise_scheduler.add_noise(latents, noise, t), t, text_encoder(ids))
    print("EMA model, denoising error %.4f" % F.mse_loss(out, noise).item())


if __name__ == "__main__":
    main()
