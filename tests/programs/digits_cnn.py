"""Train a small convolutional network to read handwritten-looking digits.

    python digits_cnn.py [steps] [--epochs N] [--batch-size N] [--lr LR] ...

The digits are drawn here, from letters of five by seven dots: twice as large, anywhere
in the picture, faint or strong, under noise. Prints the loss of every training step,
and what was learned at the end.
"""

import argparse

import torch
import torch.nn.functional as F
from torch import nn, optim
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import DataLoader, Dataset

SIDE = 20

FONT = """
 ###    #    ###   ###     #  #####  ###  #####  ###   ###
#   #  ##   #   # #   #   ##  #     #     #   # #   # #   #
#  ##   #       #     #  # #  #     #         # #   # #   #
# # #   #      #    ##  #  #  ####  ####     #   ###   ####
##  #   #     #       # #####     # #   #   #   #   #     #
#   #   #    #    #   #    #  #   # #   #   #   #   #     #
 ###   ###  #####  ###     #   ###   ###    #    ###   ###
"""


def glyphs():
    """Return the ten digits, 10 x 14 x 10."""
    rows = [line.ljust(60) for line in FONT.strip("\n").split("\n")]
    dots = [
        [[float(row[6 * digit + at] == "#") for at in range(5)] for row in rows]
        for digit in range(10)
    ]
    small = torch.tensor(dots)
    return small.repeat_interleave(2, dim=1).repeat_interleave(2, dim=2)


class DrawnDigits(Dataset):
    """Pictures of digits, 1 x 20 x 20, drawn once from a seed of their own."""

    def __init__(self, count, seed, transform=None):
        generator = torch.Generator().manual_seed(seed)
        self.transform = transform
        self.labels = torch.randint(0, 10, (count,), generator=generator).tolist()
        self.shifts = torch.randint(0, 6, (count, 2), generator=generator).tolist()
        self.data = 0.3 * torch.randn(count, SIDE, SIDE, generator=generator)
        strength = 0.4 + 0.6 * torch.rand(count, generator=generator)
        digits = glyphs()
        for index, (down, right) in enumerate(self.shifts):
            place = self.data[index, down : down + 14, right : right + 10]
            place += strength[index] * digits[self.labels[index]]

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        picture, label = self.data[index].unsqueeze(0), self.labels[index]
        if self.transform is not None:
            picture = self.transform(picture)
        return picture, label


class Normalize:
    """Shift and scale pictures to a mean of 0 and a spread of 1."""

    def __init__(self, mean, std):
        self.mean, self.std = mean, std

    def __call__(self, picture):
        return (picture - self.mean) / self.std


class Net(nn.Module):
    def __init__(self, dropout):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, 1)
        self.conv2 = nn.Conv2d(8, 16, 3, 1)
        self.dropout1 = nn.Dropout(dropout)
        self.dropout2 = nn.Dropout(2 * dropout)
        self.fc1 = nn.Linear(1024, 64)
        self.fc2 = nn.Linear(64, 10)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(x))
        x = F.max_pool2d(x, 2)
        x = self.dropout1(x)
        x = torch.flatten(x, 1)
        x = F.relu(self.fc1(x))
        x = self.dropout2(x)
        return F.log_softmax(self.fc2(x), dim=1)


def train(args, model, device, loader, optimizer, epoch, seen):
    model.train()
    for data, target in loader:
        if args.steps is not None and seen >= args.steps:
            break
        data, target = data.to(device), target.to(device)
        optimizer.zero_grad()
        output = model(data)
        loss = F.nll_loss(output, target)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), args.clip)
        optimizer.step()
        seen += 1
        print(f"epoch {epoch} step {seen} loss {loss.item():.6f}")
    return seen


def test(model, device, loader):
    model.eval()
    total, correct = 0.0, 0
    with torch.no_grad():
        for data, target in loader:
            data, target = data.to(device), target.to(device)
            output = model(data)
            total += F.nll_loss(output, target, reduction="sum").item()
            correct += output.argmax(dim=1).eq(target).sum().item()
    return total / len(loader.dataset), correct


def main():
    parser = argparse.ArgumentParser(description="Drawn digits")
    parser.add_argument("steps", type=int, nargs="?", help="stop after this many")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--gamma", type=float, default=0.7, help="of the schedule")
    parser.add_argument("--clip", type=float, default=5.0, help="norm of gradients")
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--no-cuda", action="store_true")
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    use_cuda = not args.no_cuda and torch.cuda.is_available()
    device = torch.device("cuda" if use_cuda else "cpu")

    normalize = Normalize(0.2, 0.4)
    digits = DrawnDigits(640, seed=2, transform=normalize)
    loader = DataLoader(digits, batch_size=args.batch_size, shuffle=True)
    test_loader = DataLoader(DrawnDigits(200, seed=3, transform=normalize), 100)

    model = Net(args.dropout).to(device)
    optimizer = optim.AdamW(model.parameters(), lr=args.lr)
    scheduler = StepLR(optimizer, step_size=1, gamma=args.gamma)

    seen, correct = 0, 0
    for epoch in range(1, args.epochs + 1):
        seen = train(args, model, device, loader, optimizer, epoch, seen)
        _, correct = test(model, device, test_loader)
        scheduler.step()
    print(f"read {correct} of {len(test_loader.dataset)} digits")


if __name__ == "__main__":
    main()
