"""WRONG. The adversarial part of the reconstruction net is printed every epoch but it only grows: the discriminator keeps telling the two sites apart as if the term were not there.
TRUTH: loss_adv_g was turned into a detached Python float (detach().item()) before it was added to the loss, so it reaches no parameter; detach only what is appended to the log.
THREAD: https://github.com/guopengf/FL-MRCM/issues/10
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Unet1d(nn.Module):
    def __init__(self, n=32, chans=16):
        super().__init__()
        self.down = nn.Sequential(nn.Linear(n, 48), nn.ReLU(), nn.Linear(48, chans))
        self.up = nn.Sequential(nn.Linear(chans, 48), nn.ReLU(), nn.Linear(48, n))

    def forward(self, x):
        feat = self.down(x)
        return self.up(feat), feat


class SiteDiscriminator(nn.Module):
    def __init__(self, chans=16):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(chans, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))

    def forward(self, f):
        return self.net(f)


def make_site(n, shift):
    t = torch.linspace(0, 6.28, 32)
    amp = torch.rand(n, 1) + 0.5
    ph = torch.rand(n, 1) * 3
    target = amp * torch.sin(t + ph)
    under = target * (torch.rand(n, 32) > 0.2).float() + shift
    return under, target


class LocalUpdateRecon:
    def __init__(self, lambda_adv=0.5, local_ep=60):
        self.source = make_site(512, 0.0)
        self.target = make_site(512, 0.8)
        self.lambda_adv = lambda_adv
        self.local_ep = local_ep

    def train(self, net, D):
        opt_g = torch.optim.Adam(net.parameters(), lr=1e-3)
        opt_d = torch.optim.Adam(D.parameters(), lr=1e-3)
        for ep in range(self.local_ep):
            rec_log, adv_log = [], []
            for i in range(0, 512, 64):
                xs, ys = self.source[0][i:i + 64], self.source[1][i:i + 64]
                xt, yt = self.target[0][i:i + 64], self.target[1][i:i + 64]

                out_s, feat_s = net(xs)
                out_t, feat_t = net(xt)
                loss_d = F.binary_cross_entropy_with_logits(D(feat_s.detach()), torch.ones(64, 1)) + \
                    F.binary_cross_entropy_with_logits(D(feat_t.detach()), torch.zeros(64, 1))
                opt_d.zero_grad()
                loss_d.backward()
                opt_d.step()

                loss_recon = F.l1_loss(out_s, ys) + F.l1_loss(out_t, yt)
                loss_adv_g = F.binary_cross_entropy_with_logits(D(feat_t), torch.ones(64, 1))
                loss_adv_g = loss_adv_g.detach().item()  # CULPRIT
                loss = loss_recon + self.lambda_adv * loss_adv_g
                opt_g.zero_grad()
                loss.backward()
                opt_g.step()
                rec_log.append(loss_recon.item())
                adv_log.append(float(loss_adv_g))
            if ep % 10 == 9:
                print('epoch %d recon %.4f adv_g %.4f' % (ep, sum(rec_log) / 8, sum(adv_log) / 8))


if __name__ == '__main__':
    net, D = Unet1d(), SiteDiscriminator()
    upd = LocalUpdateRecon()
    upd.train(net, D)
    with torch.no_grad():
        p_s = torch.sigmoid(D(net(upd.source[0])[1])).mean()
        p_t = torch.sigmoid(D(net(upd.target[0])[1])).mean()
    print('D(source) %.3f  D(target) %.3f' % (p_s, p_t))
