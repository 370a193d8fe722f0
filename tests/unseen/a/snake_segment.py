"""GitHub issue (segmentation repo), "IoU never exceeds 0.5 when augmentation is on"
Symptom: without augmentation the U-Net learns, with flips the loss stays high and masks are blurred.
EXPECT: runs
TRUTH: The random flip is applied to the image only; the mask stays unflipped, so half of the pairs
contradict. Flip the mask together with the image."""
import random
import torch
import torch.nn as nn

random.seed(0)
torch.manual_seed(0)


def hflip(t):
    return t.flip(-1)


class Blobs:
    def __init__(self, n, augment):
        self.masks = torch.zeros(n, 1, 12, 12)
        for m in self.masks:
            r, c = torch.randint(0, 8, (2,)).tolist()
            m[:, r:r + 4, c:c + 4] = 1
        self.images = self.masks + 0.3 * torch.randn(n, 1, 12, 12)
        self.augment = augment

    def __getitem__(self, i):
        img, mask = self.images[i], self.masks[i]
        if self.augment and random.random() < 0.5:
            img = hflip(img)  # CULPRIT
        return img, mask

    def batch(self, size):
        pairs = [self[random.randrange(len(self.masks))] for _ in range(size)]
        return [torch.stack(p) for p in zip(*pairs)]


data = Blobs(64, augment=True)
net = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 8, 3, padding=1), nn.ReLU(),
                    nn.Conv2d(8, 1, 1))
opt = torch.optim.Adam(net.parameters(), lr=0.01)
for it in range(150):
    x, m = data.batch(16)
    loss = nn.functional.binary_cross_entropy_with_logits(net(x), m)
    opt.zero_grad()
    loss.backward()
    opt.step()
print("loss", loss.item())
