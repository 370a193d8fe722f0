"""WRONG. ValueError: can't optimize a non-leaf Tensor, when the optimizer of the synthetic images is built.
TRUTH: image_syn is the product of a leaf with requires_grad=True and 0.01, hence itself not a leaf. Scale first and ask for gradients afterwards: (torch.randn(...) * 0.01).requires_grad_(True).
THREAD: https://github.com/pytorch/pytorch/issues/140469
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Args:
    num_classes = 3
    ipc = 2
    im_size = (8, 8)
    channel = 1
    iterations = 40
    lr_img = 1.0
    batch_real = 32
    device = "cpu"


args = Args()


def real_dataset(n_per_class):
    images, labels = [], []
    for c in range(args.num_classes):
        proto = torch.zeros(args.channel, *args.im_size)
        proto[:, c * 2:c * 2 + 3, :] = 1.0
        images.append(proto + 0.3 * torch.randn(n_per_class, args.channel, *args.im_size))
        labels.append(torch.full((n_per_class,), c))
    return torch.cat(images), torch.cat(labels)


def get_network():
    net = nn.Sequential(
        nn.Conv2d(args.channel, 16, 3, padding=1), nn.ReLU(), nn.AvgPool2d(2),
        nn.Conv2d(16, 16, 3, padding=1), nn.ReLU(), nn.AvgPool2d(2),
        nn.Flatten(),
    )
    for p in net.parameters():
        p.requires_grad_(False)
    return net.to(args.device)


class Condenser:
    def __init__(self, images, labels):
        self.images, self.labels = images, labels
        self.indices = [(labels == c).nonzero().flatten() for c in range(args.num_classes)]
        self.label_syn = torch.arange(args.num_classes).repeat_interleave(args.ipc)
        self.image_syn = 0.01 * torch.randn(args.num_classes * args.ipc, args.channel, *args.im_size, requires_grad=True)  # CULPRIT
        self.optimizer_img = torch.optim.SGD([self.image_syn], lr=args.lr_img, momentum=0.5)

    def get_images(self, c, n):
        idx = self.indices[c]
        return self.images[idx[torch.randperm(len(idx))[:n]]]

    def step(self):
        net = get_network()
        loss = torch.tensor(0.0)
        for c in range(args.num_classes):
            real = net(self.get_images(c, args.batch_real)).mean(0)
            syn = net(self.image_syn[c * args.ipc:(c + 1) * args.ipc]).mean(0)
            loss = loss + ((real - syn) ** 2).sum()
        self.optimizer_img.zero_grad()
        loss.backward()
        self.optimizer_img.step()
        return loss.item() / args.num_classes


def evaluate_synset(image_syn, label_syn, test_images, test_labels):
    model = nn.Sequential(nn.Flatten(), nn.Linear(args.channel * 64, args.num_classes))
    opt = torch.optim.Adam(model.parameters(), lr=0.05)
    for _ in range(40):
        opt.zero_grad()
        F.cross_entropy(model(image_syn), label_syn).backward()
        opt.step()
    with torch.no_grad():
        return (model(test_images).argmax(1) == test_labels).float().mean().item()


def main():
    images, labels = real_dataset(64)
    test_images, test_labels = real_dataset(32)
    condenser = Condenser(images, labels)
    start = condenser.image_syn.detach().clone()
    for it in range(args.iterations):
        loss = condenser.step()
        if it % 10 == 0:
            print(f"iter {it:3d} matching loss {loss:.4f}")
    syn = condenser.image_syn.detach()
    acc0 = evaluate_synset(start, condenser.label_syn, test_images, test_labels)
    acc1 = evaluate_synset(syn, condenser.label_syn, test_images, test_labels)
    print(f"matching loss {loss:.4f}, accuracy with noise {acc0:.3f}, with condensed images {acc1:.3f}")


if __name__ == "__main__":
    main()
