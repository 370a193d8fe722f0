"""Matches satellite tiles with street photographs by contrastive learning of their embeddings.

TRUTH: the norm of each embedding has shape (batch,) and, as batch and width are both 32, is lined up with the columns instead of the rows, so the embeddings are not of unit length (printed lengths spread) and the similarities are wrong; keep the dimension of the norm.
"""
from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Config:
    batch: int = 32
    width: int = 32
    places: int = 12
    temperature: float = 0.1
    lr: float = 2e-3
    steps: int = 200


def unit(embedding):
    length = torch.linalg.vector_norm(embedding, dim=-1, keepdim=True)
    return embedding / length.clamp(min=1e-6)


class Tower(nn.Module):
    def __init__(self, inputs, width):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(inputs, 48), nn.GELU(), nn.Linear(48, width))

    def forward(self, x):
        return unit(self.net(x))


class Matcher(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.cfg = cfg
        self.tile, self.photo = Tower(24, cfg.width), Tower(18, cfg.width)

    def forward(self, tile, photo):
        tile, photo = self.tile(tile), self.photo(photo)
        similarity = tile @ photo.T / self.cfg.temperature
        target = torch.arange(len(tile))
        loss = nn.functional.cross_entropy(similarity, target) + nn.functional.cross_entropy(similarity.T, target)
        return loss / 2, similarity, tile


def scenes(cfg, to_tile, to_photo):
    place = torch.randn(cfg.batch, cfg.places) * (0.2 + 3 * torch.rand(cfg.batch, 1))
    tile = place @ to_tile + 0.1 * torch.randn(cfg.batch, 24)
    photo = place @ to_photo + 0.1 * torch.randn(cfg.batch, 18)
    return tile, photo


def main():
    torch.manual_seed(101)
    cfg = Config()
    to_tile, to_photo = torch.randn(cfg.places, 24), torch.randn(cfg.places, 18)
    model = Matcher(cfg)
    opt = torch.optim.Adam(model.parameters(), lr=cfg.lr)
    for step in range(cfg.steps):
        loss, similarity, tile = model(*scenes(cfg, to_tile, to_photo))
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 50 == 0 or step == cfg.steps - 1:
            found = (similarity.argmax(1) == torch.arange(cfg.batch)).float().mean().item()
            length = tile.norm(dim=1)
            print(f"{step:3d} loss {loss.item():.3f} found {found:.2f} "
                  f"lengths {length.min().item():.2f} to {length.max().item():.2f}")


if __name__ == "__main__":
    main()
