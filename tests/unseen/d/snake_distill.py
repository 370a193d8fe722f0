"""pytorch/pytorch#140469
Symptom: ValueError: can't optimize a non-leaf Tensor, although the synthetic images are made with requires_grad=True.
EXPECT: raises ValueError
TRUTH: multiplying by 0.01 makes image_syn the result of an operation; scale first and call requires_grad_() on the product.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F


class ConvNet(nn.Module):
    def __init__(self, channel, num_classes, width=16):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(channel, width, 3, padding=1), nn.GroupNorm(width, width), nn.ReLU(), nn.AvgPool2d(2),
            nn.Conv2d(width, width, 3, padding=1), nn.GroupNorm(width, width), nn.ReLU(), nn.AvgPool2d(2))
        self.classifier = nn.Linear(width * 4, num_classes)

    def forward(self, x):
        return self.classifier(self.features(x).flatten(1))


def make_real(n, num_classes, protos):
    y = torch.randint(0, num_classes, (n,))
    return protos[y] + 0.7 * torch.randn(n, *protos.shape[1:]), y


def match_loss(gw_syn, gw_real):
    dis = 0.0
    for gs, gr in zip(gw_syn, gw_real):
        if gs.dim() > 1:
            dis = dis + (1 - F.cosine_similarity(gs.flatten(1), gr.flatten(1), dim=1)).sum()
    return dis


def evaluate_synset(image_syn, label_syn, test, channel, num_classes):
    net = ConvNet(channel, num_classes)
    opt = torch.optim.Adam(net.parameters(), lr=5e-3)
    for _ in range(80):
        opt.zero_grad()
        F.cross_entropy(net(image_syn.detach()), label_syn).backward()
        opt.step()
    with torch.no_grad():
        return (net(test[0]).argmax(1) == test[1]).float().mean().item()


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    num_classes, ipc, channel, im_size = 4, 1, 1, (8, 8)
    protos = torch.randn(num_classes, channel, *im_size)
    images, labels = make_real(400, num_classes, protos)
    test = make_real(300, num_classes, protos)

    image_syn = torch.randn(num_classes * ipc, channel, *im_size, requires_grad=True) * 0.01  # CULPRIT
    label_syn = torch.arange(num_classes).repeat_interleave(ipc)
    optimizer_img = torch.optim.SGD([image_syn], lr=0.2, momentum=0.5)

    print("before: acc %.3f" % evaluate_synset(image_syn, label_syn, test, channel, num_classes))
    for it in range(60):
        net = ConvNet(channel, num_classes)
        params = list(net.parameters())
        loss = 0.0
        for c in range(num_classes):
            real = images[labels == c][:48]
            gw_real = torch.autograd.grad(F.cross_entropy(net(real), torch.full((len(real),), c)), params)
            syn = image_syn[label_syn == c]
            gw_syn = torch.autograd.grad(
                F.cross_entropy(net(syn), torch.full((len(syn),), c)), params, create_graph=True)
            loss = loss + match_loss(gw_syn, [g.detach() for g in gw_real])
        optimizer_img.zero_grad()
        loss.backward()
        optimizer_img.step()
        if it % 15 == 0:
            print("iter %d  matching loss %.3f" % (it, loss.item()))
    print("after: acc %.3f" % evaluate_synset(image_syn, label_syn, test, channel, num_classes))


if __name__ == "__main__":
    main()
