"""WRONG. ValueError: can't optimize a non-leaf Tensor, raised when the optimizer of the synthetic images is created.
TRUTH: multiplying the freshly made leaf by 0.01 makes image_syn the result of an operation, no leaf; scale first and then ask for the gradient (e.g. (torch.randn(...) * 0.01).requires_grad_()).
THREAD: https://github.com/pytorch/pytorch/issues/140469
"""
import torch
import torch.nn as nn
import torch.nn.functional as F
from types import SimpleNamespace

args = SimpleNamespace(dlipc=2, dllr_img=1.0, dllr_net=0.02, iters=12, outer=4, inner=4, batch=48)


def get_dataset(num_classes=4, per_class=60, channel=1, im_size=(12, 12)):
    g = torch.Generator().manual_seed(0)
    protos = torch.randn(num_classes, channel, *im_size, generator=g)
    xs, ys = [], []
    for c in range(num_classes):
        xs.append(protos[c] + 0.6 * torch.randn(per_class, channel, *im_size, generator=g))
        ys.append(torch.full((per_class,), c, dtype=torch.long))
    return torch.cat(xs), torch.cat(ys)


class ConvNet(nn.Module):
    def __init__(self, channel, num_classes, width=12, depth=2):
        super().__init__()
        layers, c = [], channel
        for _ in range(depth):
            layers += [nn.Conv2d(c, width, 3, padding=1), nn.GroupNorm(width, width), nn.ReLU(inplace=True), nn.AvgPool2d(2)]
            c = width
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Linear(width * 3 * 3, num_classes)

    def forward(self, x):
        return self.classifier(self.features(x).flatten(1))


def distance_wb(gwr, gws):
    if gwr.dim() == 4:
        gwr, gws = gwr.flatten(1), gws.flatten(1)
    elif gwr.dim() == 1:
        return torch.tensor(0.0)
    return torch.sum(1 - F.cosine_similarity(gwr, gws, dim=-1))


def match_loss(gw_syn, gw_real):
    return sum(distance_wb(r, s) for r, s in zip(gw_real, gw_syn))


def evaluate_synset(image, label, images_all, labels_all, channel, num_classes):
    net = ConvNet(channel, num_classes)
    opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    for _ in range(40):
        opt.zero_grad()
        F.cross_entropy(net(image), label).backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        return (net(images_all).argmax(1) == labels_all).float().mean().item()


def main():
    torch.manual_seed(0)
    channel, im_size, num_classes = 1, (12, 12), 4
    images_all, labels_all = get_dataset(num_classes, channel=channel, im_size=im_size)
    indices_class = [torch.nonzero(labels_all == c).flatten() for c in range(num_classes)]

    def get_images(c, n):
        idx = indices_class[c][torch.randperm(len(indices_class[c]))[:n]]
        return images_all[idx]

    image_syn = torch.randn(size=(num_classes * args.dlipc, channel, im_size[0], im_size[1]), dtype=torch.float, requires_grad=True) * 0.01  # CULPRIT
    label_syn = torch.arange(num_classes).repeat_interleave(args.dlipc)
    optimizer_img = torch.optim.SGD([image_syn, ], lr=args.dllr_img, momentum=0.5)
    optimizer_img.zero_grad()

    for it in range(args.iters):
        net = ConvNet(channel, num_classes)
        net.train()
        net_parameters = list(net.parameters())
        optimizer_net = torch.optim.SGD(net.parameters(), lr=args.dllr_net)
        for ol in range(args.outer):
            loss = torch.tensor(0.0)
            for c in range(num_classes):
                img_real = get_images(c, args.batch)
                lab_real = torch.full((len(img_real),), c, dtype=torch.long)
                gw_real = torch.autograd.grad(F.cross_entropy(net(img_real), lab_real), net_parameters)
                gw_real = [g.detach().clone() for g in gw_real]
                img_syn = image_syn[c * args.dlipc:(c + 1) * args.dlipc]
                lab_syn = torch.full((args.dlipc,), c, dtype=torch.long)
                gw_syn = torch.autograd.grad(F.cross_entropy(net(img_syn), lab_syn), net_parameters, create_graph=True)
                loss = loss + match_loss(gw_syn, gw_real)
            optimizer_img.zero_grad()
            loss.backward()
            optimizer_img.step()
            fixed = image_syn.detach().clone()
            for il in range(args.inner):
                optimizer_net.zero_grad()
                F.cross_entropy(net(fixed), label_syn).backward()
                optimizer_net.step()
        if it % 4 == 3:
            acc = evaluate_synset(image_syn.detach().clone(), label_syn, images_all, labels_all, channel, num_classes)
            print('iter %d match %.3f acc %.3f' % (it, loss.item() / num_classes, acc))


if __name__ == '__main__':
    main()
