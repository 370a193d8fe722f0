"""Reconstructs MRI-like slices from undersampled k-space, with an image loss and a data consistency loss.

TRUTH: the consistency term compares the measured k-space with that of the zero-filled input, two constants of the batch, instead of with that of the reconstruction; no error, the term has no graph (requires_grad False) and is 0 however far the output is from the measurement; use the output's k-space.
"""
import torch
from torch import nn
import torch.nn.functional as F


def to_kspace(image):
    return torch.fft.fft2(image, norm="ortho")


class Reconstructor(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(1, width, 3, padding=1), nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=1), nn.ReLU(),
            nn.Conv2d(width, 1, 3, padding=1),
        )

    def forward(self, image):
        return image + self.net(image)


class SliceLoss:
    def __init__(self, mask, weight=30.0):
        self.mask = mask
        self.weight = weight

    def consistency(self, kspace, measured):
        return (torch.view_as_real(kspace - measured) * self.mask[..., None]).square().mean()

    def __call__(self, output, batch):
        image = F.l1_loss(output, batch["target"])
        data = self.consistency(to_kspace(batch["zero_filled"]), batch["measured"])  # CULPRIT
        return image + self.weight * data, {"image": image, "data": data}


def phantoms(n, mask, size=24):
    lin = torch.linspace(-1, 1, size)
    yy, xx = torch.meshgrid(lin, lin, indexing="ij")
    target = torch.zeros(n, 1, size, size)
    for _ in range(3):
        cx, cy, r = torch.rand(3, n, 1, 1, 1) - 0.5
        target += (((xx - cx) ** 2 + (yy - cy) ** 2) < (0.2 + 0.2 * r.abs()) ** 2).float()
    measured = to_kspace(target) * mask
    return {"target": target, "measured": measured, "zero_filled": torch.fft.ifft2(measured, norm="ortho").real}


def main(steps=80, batch=8):
    torch.manual_seed(42)
    mask = torch.rand(24, 24) < 0.2
    mask = (mask | mask.flip(0, 1).roll((1, 1), (0, 1))).float()
    mask[:3], mask[-2:] = 1.0, 1.0
    data = phantoms(200, mask)
    net, criterion = Reconstructor(), SliceLoss(mask)
    opt = torch.optim.Adam(net.parameters(), lr=3e-3)
    for step in range(steps):
        idx = torch.randint(0, 200, (batch,))
        part = {k: v[idx] for k, v in data.items()}
        output = net(part["zero_filled"])
        loss, terms = criterion(output, part)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 20 == 0:
            print(step, {k: (round(v.item(), 5), v.requires_grad) for k, v in terms.items()})
    with torch.no_grad():
        off = criterion.consistency(to_kspace(net(data["zero_filled"])), data["measured"]).item()
    print("image loss", terms["image"].item(), "inconsistency of the output", off)


if __name__ == "__main__":
    main()
