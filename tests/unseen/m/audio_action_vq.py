"""WRONG. VQ bottleneck for audio frames: the reconstruction goes down, but the codebook is bit for bit its initialization after training
and few codes are used.
TRUTH: the codebook loss is computed on z_q after the straight-through patch x + (z - x).detach(), where the codebook lookup sits only under
detach; compute it on the raw lookup: F.mse_loss(z, z_e.detach()) in place of F.mse_loss(z_q, z_e.detach()).
THREAD: https://github.com/showlab/Olaf-World/issues/8
"""
import torch
import torch.nn as nn
import torch.nn.functional as F


class VectorQuantizer(nn.Module):
    def __init__(self, num_codes, dim):
        super().__init__()
        self.num_codes = num_codes
        self.codebook = nn.Embedding(num_codes, dim)
        self.codebook.weight.data.uniform_(-1.0 / num_codes, 1.0 / num_codes)

    def forward(self, x):
        flat = x.reshape(-1, x.size(-1))
        dist = torch.cdist(flat, self.codebook.weight)
        indices = dist.argmin(dim=-1).view(x.shape[:-1])
        z = self.codebook(indices)
        z_q = x + (z - x).detach()
        return z_q, z, x, indices


class FrameEncoder(nn.Module):
    def __init__(self, n_bins, hidden, dim):
        super().__init__()
        self.rnn = nn.GRU(n_bins, hidden, batch_first=True)
        self.proj = nn.Linear(hidden, dim)

    def forward(self, mel):
        return self.proj(self.rnn(mel)[0])


class FrameDecoder(nn.Module):
    def __init__(self, n_bins, hidden, dim):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim + n_bins, hidden), nn.GELU(), nn.Linear(hidden, n_bins))

    def forward(self, prev, z_q):
        return prev + self.net(torch.cat([prev, z_q], dim=-1))


class VQLatentModel(nn.Module):
    def __init__(self, n_bins=12, hidden=48, dim=8, num_codes=16, beta=0.25, codebook_weight=1.0):
        super().__init__()
        self.encoder = FrameEncoder(n_bins, hidden, dim)
        self.vq = VectorQuantizer(num_codes, dim)
        self.decoder = FrameDecoder(n_bins, hidden, dim)
        self.beta = beta
        self.codebook_weight = codebook_weight

    def encode(self, mel):
        z_e = self.encoder(mel)
        z_q, z, _, indices = self.vq(z_e)
        return {"z_e": z_e, "z": z, "z_q": z_q, "indices": indices}

    def forward(self, mel):
        out = self.encode(mel)
        prev = F.pad(mel, (0, 0, 1, 0))[:, :-1]
        out["recon"] = self.decoder(prev, out["z_q"])
        return out

    def compute_loss(self, mel):
        out = self(mel)
        z_e, z, z_q = out["z_e"], out["z"], out["z_q"]
        recon_loss = F.mse_loss(out["recon"], mel)
        codebook_loss = F.mse_loss(z_q, z_e.detach())  # CULPRIT
        commit_loss = F.mse_loss(z_e, z.detach())
        loss = recon_loss + self.codebook_weight * codebook_loss + self.beta * commit_loss
        used = out["indices"].unique().numel()
        return loss, {"recon": recon_loss.item(), "codebook": codebook_loss.item(),
                      "commit": commit_loss.item(), "used": used}


class Sampler:
    def __init__(self, n_bins, kinds=10):
        self.moves = torch.randn(kinds, n_bins)

    def __call__(self, batch, length=20):
        kind = torch.randint(0, self.moves.size(0), (batch, length))
        return 0.3 * torch.cumsum(self.moves[kind], dim=1) + 0.02 * torch.randn(batch, length, self.moves.size(1))


def main():
    torch.manual_seed(0)
    model = VQLatentModel()
    sampler = Sampler(12)
    opt = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.0)
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=6e-3, total_steps=150)
    first = model.vq.codebook.weight.detach().clone()
    for step in range(150):
        loss, logs = model.compute_loss(sampler(24))
        opt.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        sched.step()
        if step % 30 == 29:
            print(f"step {step + 1}", " ".join(f"{k} {v:.4g}" for k, v in logs.items()))
    model.eval()
    with torch.no_grad():
        _, logs = model.compute_loss(sampler(64))
    drift = (model.vq.codebook.weight - first).abs().max().item()
    print(f"valid recon {logs['recon']:.4f} codes used {logs['used']} largest change of a codebook entry {drift:.4f}")


if __name__ == "__main__":
    main()
