"""WRONG. The codebook entries of the latent action model never move from their initialization (codebook.weight.grad is None), the codebook loss grows instead of falling and the reconstruction hardly improves.
TRUTH: the codebook loss is computed on z_q, the straight-through output x + (z - x).detach(), in which the looked-up vectors z only occur detached; no gradient reaches the codebook. Use the plain lookup: F.mse_loss(z, z_e.detach()).
THREAD: https://github.com/showlab/Olaf-World/issues/8
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

cfg = dict(obs_dim=10, latent_dim=4, n_codes=8, beta=0.25, lr=1e-2, steps=250, batch=64)


class VectorQuantizer(nn.Module):
    def __init__(self, num_latents, latent_dim):
        super().__init__()
        self.codebook = nn.Embedding(num_latents, latent_dim)
        nn.init.normal_(self.codebook.weight, std=0.5)

    def forward(self, x):
        distance = torch.cdist(x, self.codebook.weight)
        indices = torch.argmin(distance, dim=-1)
        z = self.codebook(indices)
        z_q = x + (z - x).detach()
        return z_q, z, x, indices


class VQLatentActionModel(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        d, l = cfg["obs_dim"], cfg["latent_dim"]
        self.encoder = nn.Sequential(nn.Linear(2 * d, 64), nn.GELU(), nn.Linear(64, l))
        self.vq = VectorQuantizer(cfg["n_codes"], l)
        self.decoder = nn.Sequential(nn.Linear(d + l, 64), nn.GELU(), nn.Linear(64, d))
        self.beta = cfg["beta"]

    def encode(self, obs, next_obs):
        feat = self.encoder(torch.cat([obs, next_obs - obs], dim=-1))
        z_q, z, z_e, indices = self.vq(feat)
        return {"z_q": z_q, "z": z, "z_e": z_e, "indices": indices}

    def forward(self, obs, next_obs):
        out = self.encode(obs, next_obs)
        out["recon"] = obs + self.decoder(torch.cat([obs, out["z_q"]], dim=-1))
        return out

    def loss(self, obs, next_obs):
        out = self(obs, next_obs)
        mse_loss = F.mse_loss(out["recon"], next_obs)
        z_q, z_e = out["z_q"], out["z_e"]
        codebook_loss = F.mse_loss(z_q, z_e.detach())  # CULPRIT
        commit_loss = F.mse_loss(z_e, out["z"].detach())
        loss = mse_loss + codebook_loss + self.beta * commit_loss
        return loss, {"mse": mse_loss.item(), "vq": codebook_loss.item(),
                      "commit": commit_loss.item(), "used": out["indices"].unique().numel()}


class Environment:
    def __init__(self, cfg):
        self.moves = torch.randn(cfg["n_codes"], cfg["obs_dim"])
        self.cfg = cfg

    def rollout(self, n):
        obs = torch.randn(n, self.cfg["obs_dim"])
        a = torch.randint(0, self.cfg["n_codes"], (n,))
        return obs, obs + self.moves[a] + 0.02 * torch.randn_like(obs)


def main():
    env = Environment(cfg)
    model = VQLatentActionModel(cfg)
    start = model.vq.codebook.weight.detach().clone()
    optimizer = torch.optim.AdamW(model.parameters(), lr=cfg["lr"], weight_decay=0.0)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=cfg["steps"])

    for step in range(cfg["steps"]):
        loss, logs = model.loss(*env.rollout(cfg["batch"]))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        if step % 50 == 0:
            print(f"step {step:3d} " + " ".join(f"{k} {v:.4f}" for k, v in logs.items()))

    with torch.no_grad():
        _, logs = model.loss(*env.rollout(512))
    moved = (model.vq.codebook.weight.detach() - start).abs().max().item()
    print("eval", {k: round(v, 4) for k, v in logs.items()}, f"| codebook moved by {moved:.5f}")


if __name__ == "__main__":
    main()
