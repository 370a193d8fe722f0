"""Train a pollen classifier after printing a table with the output sizes of its layers.

TRUTH: the summary helper switches the model to evaluation mode and nobody switches it back, so dropout is off and batch norm trains with its start statistics (num_batches_tracked stays 0); restore the mode at the end of the helper.
"""
import torch
import torch.nn.functional as F
from torch import nn


@torch.no_grad()
def summarize(model, example):
    """Print every layer of a sequential model with its output size."""
    training = model.training
    model.eval()
    x = example
    for name, layer in model.named_children():
        x = layer(x)
        count = sum(p.numel() for p in layer.parameters())
        print(f"{name:>3} {type(layer).__name__:<12} {tuple(x.shape)!s:<18} {count}")
    model.train(training)


def build(classes, width=12):
    return nn.Sequential(
        nn.Conv2d(1, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(width, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Dropout(0.3), nn.Linear(width * 9, classes),
    )


class Grains(torch.utils.data.Dataset):
    def __init__(self, n, seed):
        gen = torch.Generator().manual_seed(seed)
        self.label = torch.randint(0, 3, (n,), generator=gen)
        axis = torch.linspace(-1, 1, 12)
        radius = (axis[:, None] ** 2 + axis[None] ** 2).sqrt()
        shapes = torch.stack([radius < 0.8, (radius - 0.6).abs() < 0.2, radius < 0.4]).float()
        noise = 0.4 * torch.randn(n, 12, 12, generator=gen)
        self.img = (5 + 3 * (shapes[self.label] + noise))[:, None]

    def __len__(self):
        return len(self.label)

    def __getitem__(self, i):
        return self.img[i], self.label[i]


def main():
    torch.manual_seed(0)
    loader = torch.utils.data.DataLoader(Grains(512, 1), batch_size=64, shuffle=True)
    test = Grains(256, 2)
    model = build(3)
    summarize(model, test.img[:2])
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(5):
        for img, label in loader:
            loss = F.cross_entropy(model(img), label)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch}  loss {loss.item():.3f}  bn batches {int(model[1].num_batches_tracked)}")
    model.eval()
    with torch.no_grad():
        print("accuracy", (model(test.img).argmax(1) == test.label).float().mean().item())


if __name__ == "__main__":
    main()
