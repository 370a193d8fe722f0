"""VQ autoencoder that turns the change between two frames into a discrete action.

Frames are 6x6 with one bright dot; the dot moves by one of five displacements.
Encoder sees both frames, the latent is quantised with a codebook of 16 entries and
the decoder predicts the second frame from the first one plus the code.

TRUTH: VectorQuantizer.forward returns the straight-through output z_q first and the raw codebook lookup z second; encode()
keeps z_q for the codebook loss, where the lookup occurs only inside detach(), so the codebook gets no gradient
(weight.grad is None) and stays at its initialisation; the term instead pushes the encoder output away from its code. The
reconstruction term still falls a little, the quantisation error stays large. Fix: compute the codebook loss on z,
the plain lookup. Drawn from showlab/Olaf-World#8 (VQLAM: codebook never receives gradients).
"""
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class Config:
    size: int = 6
    hidden: int = 64
    latent: int = 8
    codes: int = 16
    beta: float = 0.25
    lr: float = 3e-3
    batch: int = 64
    steps: int = 600
    seed: int = 3


MOVES = torch.tensor([[0, 0], [0, 1], [1, 0], [0, -1], [-1, 0]])


def make_batch(cfg, n, gen):
    pos = torch.randint(1, cfg.size - 1, (n, 2), generator=gen)
    act = torch.randint(0, len(MOVES), (n,), generator=gen)
    nxt = pos + MOVES[act]

    def draw(p):
        img = torch.zeros(n, cfg.size, cfg.size)
        img[torch.arange(n), p[:, 0], p[:, 1]] = 1.0
        return img.flatten(1)

    return draw(pos), draw(nxt), act


class VectorQuantizer(nn.Module):
    def __init__(self, codes, dim):
        super().__init__()
        self.codebook = nn.Embedding(codes, dim)
        nn.init.normal_(self.codebook.weight)

    def forward(self, x):
        d = torch.cdist(x, self.codebook.weight)
        indices = d.argmin(dim=1)
        z = self.codebook(indices)
        z_q = x + (z - x).detach()
        return z_q, z, x, indices


class LatentActionModel(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        d = cfg.size * cfg.size
        self.beta = cfg.beta
        self.encoder = nn.Sequential(nn.Linear(2 * d, cfg.hidden), nn.ReLU(),
                                     nn.Linear(cfg.hidden, cfg.latent),
                                     nn.LayerNorm(cfg.latent, elementwise_affine=False))
        self.vq = VectorQuantizer(cfg.codes, cfg.latent)
        self.decoder = nn.Sequential(nn.Linear(d + cfg.latent, cfg.hidden), nn.ReLU(),
                                     nn.Linear(cfg.hidden, d))

    def encode(self, frame, next_frame):
        h = self.encoder(torch.cat([frame, next_frame], dim=1))
        z_q, z, z_e, indices = self.vq(h)
        return {"z_q": z_q, "z": z, "z_e": z_e, "indices": indices}

    def forward(self, frame, next_frame):
        out = self.encode(frame, next_frame)
        out["recon"] = self.decoder(torch.cat([frame, out["z_q"]], dim=1))
        return out

    def loss(self, frame, next_frame):
        out = self.forward(frame, next_frame)
        recon_loss = F.binary_cross_entropy_with_logits(out["recon"], next_frame, reduction="sum") / len(frame)
        codebook_loss = F.mse_loss(out["z_q"], out["z_e"].detach())  # CULPRIT
        commit_loss = F.mse_loss(out["z_e"], out["z"].detach())
        total = recon_loss + codebook_loss + self.beta * commit_loss
        return total, {"recon": recon_loss.item(), "codebook": codebook_loss.item(),
                       "commit": commit_loss.item(), "used": out["indices"].unique().numel()}


def accuracy(model, frame, nxt):
    with torch.no_grad():
        pred = model(frame, nxt)["recon"].argmax(dim=1)
    return (pred == nxt.argmax(dim=1)).float().mean().item()


def main():
    cfg = Config()
    torch.manual_seed(cfg.seed)
    gen = torch.Generator().manual_seed(cfg.seed)
    model = LatentActionModel(cfg)
    opt = torch.optim.Adam(model.parameters(), lr=cfg.lr)
    start = model.vq.codebook.weight.detach().clone()

    for step in range(1, cfg.steps + 1):
        frame, nxt, _ = make_batch(cfg, cfg.batch, gen)
        loss, logs = model.loss(frame, nxt)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 150 == 0:
            print("step %d  loss %.4f  " % (step, loss.item()),
                  "  ".join("%s %.4f" % kv for kv in logs.items()))

    frame, nxt, _ = make_batch(cfg, 500, gen)
    print("next frame accuracy %.3f" % accuracy(model, frame, nxt))
    moved = (model.vq.codebook.weight.detach() - start).norm().item()
    print("codebook norm %.3f, moved by %.3f" % (model.vq.codebook.weight.norm().item(), moved))


if __name__ == "__main__":
    main()
