"""RIGHT. Style transfer in miniature: the optimized thing is an image, not a network; the feature net is frozen, its targets are detached, backward runs inside the LBFGS closure.
TRUTH: freezing the feature net's parameters does not cut the path to the image, because it is not run under no_grad for the generated image; the hooks keep the features with their graph and the dict is emptied for every pass; the image is squashed by a sigmoid, so nothing is clamped behind the optimizer's back.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Features(nn.Module):
    def __init__(self, taps=("0", "2", "4")):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(3, 12, 3, padding=1), nn.Tanh(), nn.Conv2d(12, 16, 3, padding=1), nn.Tanh(),
                                 nn.Conv2d(16, 16, 3, stride=2, padding=1))
        self.requires_grad_(False)
        self.store = {}
        for name in taps:
            self.net.get_submodule(name).register_forward_hook(self._keep(name))

    def _keep(self, name):
        def hook(_, __, out):
            self.store[name] = out
        return hook

    def forward(self, img):
        self.store = {}
        self.net(img)
        return self.store


def gram(f):
    b, c, h, w = f.shape
    m = f.view(b, c, h * w)
    return m @ m.transpose(1, 2) / (c * h * w)


def make_images(size=24):
    g = torch.linspace(-1, 1, size)
    yy, xx = torch.meshgrid(g, g, indexing="ij")
    content = torch.stack([(xx ** 2 + yy ** 2 < 0.5).float(), 0.5 + 0.5 * xx, 0.5 - 0.5 * yy])[None]
    stripes = 0.5 + 0.5 * torch.sin(12 * (xx + yy))
    style = torch.stack([stripes, 1 - stripes, 0.5 * stripes])[None]
    return content, style


def transfer(net, content, style, steps=8, style_weight=2e3, tv_weight=1e-3):
    with torch.no_grad():
        content_target = net(content)["2"]
        style_target = {k: gram(v) for k, v in net(style).items()}
    logits = torch.logit(content.clamp(0.05, 0.95)).requires_grad_(True)
    opt = torch.optim.LBFGS([logits], lr=0.5, max_iter=10, line_search_fn="strong_wolfe")
    parts = {}

    def closure():
        opt.zero_grad()
        img = torch.sigmoid(logits)
        feats = net(img)
        c = F.mse_loss(feats["2"], content_target)
        s = sum(F.mse_loss(gram(feats[k]), style_target[k]) for k in style_target)
        tv = (img[..., 1:] - img[..., :-1]).abs().mean() + (img[..., 1:, :] - img[..., :-1, :]).abs().mean()
        loss = c + style_weight * s + tv_weight * tv
        loss.backward()
        parts.update(loss=loss.item(), content=c.item(), style=s.item())
        return loss

    for i in range(steps):
        opt.step(closure)
        if i % 2 == 0 or i == steps - 1:
            print("step %d loss %.5f content %.5f style %.2e" % (i, parts["loss"], parts["content"], parts["style"]))
    return torch.sigmoid(logits).detach()


if __name__ == "__main__":
    net = Features()
    content, style = make_images()
    out = transfer(net, content, style)
    assert all(p.grad is None for p in net.parameters())
    print("range", round(out.min().item(), 3), round(out.max().item(), 3))
