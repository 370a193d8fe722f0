"""WRONG. loss.backward() raises RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn, although all parameters of the model require gradients.
TRUTH: the coordinate maps are turned into bin indices with torch.argmax (taken over from the test script), which is not differentiable, so the graph ends there. Take the loss on a differentiable quantity, e.g. the expected bin under the softmax (or cross entropy on the logits).
THREAD: https://github.com/LZGMatrix/BOP19_CDPN_2019ICCV/issues/4
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Config:
    coor_bin = 16
    size = 16
    batch = 8
    lr = 5e-3
    steps = 40
    lambda_tv = 0.01


cfg = Config()
BINS = torch.arange(cfg.coor_bin).float()


def make_batch(n):
    """an object whose coordinates (x, y, z) are linear in the pixel position"""
    v, u = torch.meshgrid(torch.linspace(-1, 1, cfg.size), torch.linspace(-1, 1, cfg.size),
                          indexing="ij")
    c = torch.empty(n, 1, 1).uniform_(-0.3, 0.3)
    mask = ((u - c) ** 2 + v ** 2 < 0.6).float()
    coor = torch.stack([(u - c).expand(n, -1, -1), v.expand(n, -1, -1), (u - c) * v], dim=1)
    coor = coor.clamp(-1, 1)
    image = torch.cat([coor * mask.unsqueeze(1), mask.unsqueeze(1)], dim=1)
    return image + 0.05 * torch.randn_like(image), coor, mask


class CoorNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(4, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
            nn.Conv2d(32, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
        )
        self.head_x = nn.Conv2d(32, cfg.coor_bin, 1)
        self.head_y = nn.Conv2d(32, cfg.coor_bin, 1)
        self.head_z = nn.Conv2d(32, cfg.coor_bin, 1)

    def forward(self, image):
        f = self.backbone(image)
        return self.head_x(f), self.head_y(f), self.head_z(f)


def to_unit(output_coor):
    return 2.0 * output_coor.float() / (cfg.coor_bin - 1.0) - 1.0


def total_variation(coor):
    return ((coor[..., 1:] - coor[..., :-1]).abs().mean()
            + (coor[..., 1:, :] - coor[..., :-1, :]).abs().mean())


@torch.no_grad()
def test(net):
    net.eval()
    image, target, mask = make_batch(32)
    idx = torch.stack([torch.argmax(o, dim=1) for o in net(image)], dim=1)
    err = (to_unit(idx) - target).abs() * mask.unsqueeze(1)
    return (err.sum() / (3 * mask.sum())).item()


def main():
    net = CoorNet()
    optimizer = torch.optim.RMSprop(net.parameters(), lr=cfg.lr)
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, [25, 35], gamma=0.3)
    print("number of trainable parameters:", sum(p.numel() for p in net.parameters() if p.requires_grad))
    print(f"error before the training {test(net):.4f}")
    for step in range(cfg.steps):
        net.train()
        image, target, mask = make_batch(cfg.batch)
        outputs = net(image)
        output_coor = torch.stack([torch.argmax(o, dim=1) for o in outputs], dim=1)  # CULPRIT
        output_coor = to_unit(output_coor)
        l1 = F.l1_loss(output_coor * mask.unsqueeze(1), target * mask.unsqueeze(1))
        loss = l1 + cfg.lambda_tv * total_variation(output_coor)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        if step % 10 == 0:
            print(f"step {step:2d} loss {loss.item():.4f} error {test(net):.4f}")
    print(f"error after the training {test(net):.4f}")


if __name__ == "__main__":
    main()
