"""Kaggle forum, "In-place augmentation of the batch inside the training loop"
Symptom: none, asker fears that the data set gets noisier every epoch.
EXPECT: runs
TRUTH: Correct. Indexing with a tensor makes a copy, so the in-place noise and masking touch only the batch."""
import torch
import torch.nn as nn

torch.manual_seed(0)
images = torch.randn(5, 1, 8, 8)[torch.arange(200) % 5]
labels = torch.arange(200) % 5
checksum = images.sum().item()


def augment_(batch):
    batch.add_(0.3 * torch.randn_like(batch))
    r = int(torch.randint(0, 6, (1,)))
    batch[:, :, r:r + 2].zero_()
    return batch


net = nn.Sequential(nn.Conv2d(1, 6, 3), nn.ReLU(inplace=True), nn.Flatten(), nn.Linear(216, 5))
opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
for epoch in range(8):
    net.train()
    for idx in torch.randperm(200).split(25):
        xb = augment_(images[idx])
        loss = nn.functional.cross_entropy(net(xb), labels[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print("epoch", epoch, "loss", round(loss.item(), 4))
assert images.sum().item() == checksum
with torch.no_grad():
    print("clean acc", (net(images).argmax(1) == labels).float().mean().item())
