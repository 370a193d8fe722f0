"""CORRECT. Self-training with an EMA teacher: the losses of one iteration are backpropagated separately (each graph is freed early), the gradients add up and one optimizer step follows; the pseudo labels need no gradient.
THREAD: https://github.com/lhoyer/DAFormer/issues/48
"""
import copy
import torch
import torch.nn as nn
import torch.nn.functional as F

CFG = dict(alpha=0.99, pseudo_threshold=0.85, fd_lambda=0.005, iters=70, batch=4, size=24, lr=3e-3, warmup=10,
           classes=3, ignore=255)


class SegNet(nn.Module):
    def __init__(self, classes, width=12):
        super().__init__()
        self.backbone = nn.ModuleList([
            nn.Sequential(nn.Conv2d(1, width, 3, padding=1), nn.GroupNorm(3, width), nn.ReLU()),
            nn.Sequential(nn.Conv2d(width, width, 3, padding=2, dilation=2), nn.GroupNorm(3, width), nn.ReLU()),
        ])
        self.decode_head = nn.Conv2d(width, classes, 1)

    def extract_feat(self, x):
        feats = []
        for block in self.backbone:
            x = block(x)
            feats.append(x)
        return feats

    def encode_decode(self, x):
        return self.decode_head(self.extract_feat(x)[-1])

    def forward_train(self, img, gt, seg_weight=None, return_feat=False):
        feats = self.extract_feat(img)
        logits = self.decode_head(feats[-1])
        loss = F.cross_entropy(logits, gt, reduction='none', ignore_index=CFG['ignore'])
        if seg_weight is not None:
            loss = loss * seg_weight
        out = {'decode.loss_seg': loss.mean()}
        if return_feat:
            out['features'] = feats
        return out


def get_class_masks(labels):
    masks = []
    for label in labels:
        classes = torch.unique(label)
        picked = classes[torch.randperm(len(classes))[:(len(classes) + 1) // 2]]
        masks.append((label.unsqueeze(0) == picked.view(-1, 1, 1)).any(0))
    return torch.stack(masks)


class DACS(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.cfg = cfg
        self.model = SegNet(cfg['classes'])
        self.ema_model = SegNet(cfg['classes'])
        self.imnet_model = copy.deepcopy(self.model)
        for p in self.imnet_model.parameters():
            p.requires_grad = False
        self.local_iter = 0

    def _init_ema_weights(self):
        for param in self.ema_model.parameters():
            param.detach_()
        mp, mcp = list(self.model.parameters()), list(self.ema_model.parameters())
        for i in range(len(mp)):
            mcp[i].data[:] = mp[i].data[:].clone()

    def _update_ema(self, iter):
        alpha_teacher = min(1 - 1 / (iter + 1), self.cfg['alpha'])
        for ema_param, param in zip(self.ema_model.parameters(), self.model.parameters()):
            ema_param.data[:] = alpha_teacher * ema_param[:].data[:] + (1 - alpha_teacher) * param[:].data[:]

    def forward_train(self, img, gt, target_img):
        log_vars = {}
        if self.local_iter == 0:
            self._init_ema_weights()
        else:
            self._update_ema(self.local_iter)

        # Train on source images
        clean_losses = self.model.forward_train(img, gt, return_feat=True)
        src_feat = clean_losses.pop('features')
        clean_loss = clean_losses['decode.loss_seg']
        log_vars['src'] = clean_loss.item()
        clean_loss.backward(retain_graph=True)

        # Feature distance to the fixed initial network, through the same features
        with torch.no_grad():
            feat_imnet = [f.detach() for f in self.imnet_model.extract_feat(img)]
        feat_loss = self.cfg['fd_lambda'] * torch.norm(src_feat[-1] - feat_imnet[-1], dim=1).mean()
        feat_loss.backward()
        log_vars['fd'] = feat_loss.item()
        del src_feat, clean_loss, feat_loss

        # Pseudo labels of the teacher
        with torch.no_grad():
            ema_softmax = torch.softmax(self.ema_model.encode_decode(target_img), dim=1)
            pseudo_prob, pseudo_label = torch.max(ema_softmax, dim=1)
            ps_large_p = pseudo_prob.ge(self.cfg['pseudo_threshold'])
            pseudo_weight = ps_large_p.float().mean() * torch.ones_like(pseudo_prob)

        # Class mix and training on the mixed images
        mask = get_class_masks(gt)
        mixed_img = torch.where(mask.unsqueeze(1), img, target_img)
        mixed_lbl = torch.where(mask, gt, pseudo_label)
        weight = torch.where(mask, torch.ones_like(pseudo_weight), pseudo_weight)
        mix_loss = self.model.forward_train(mixed_img, mixed_lbl, weight)['decode.loss_seg']
        log_vars['mix'] = mix_loss.item()
        mix_loss.backward()
        self.local_iter += 1
        return log_vars

    def train_step(self, data, optimizer):
        optimizer.zero_grad()
        log_vars = self.forward_train(*data)
        optimizer.step()
        return log_vars


def streets(n, g, night=False, size=CFG['size']):
    lab = torch.zeros(n, size, size, dtype=torch.long)
    for i in range(n):
        h = int(torch.randint(8, 16, (1,), generator=g))
        lab[i, h:] = 1
        c = int(torch.randint(2, size - 8, (1,), generator=g))
        lab[i, h - 4:h + 4, c:c + 6] = 2
    img = torch.tensor([0.2, 0.8, 1.5])[lab] + 0.25 * torch.randn(n, size, size, generator=g)
    return ((0.7 * img + 0.25) if night else img).unsqueeze(1), lab


def main(cfg):
    torch.manual_seed(0)
    g, uda = torch.Generator().manual_seed(0), DACS(cfg)
    optimizer = torch.optim.AdamW(uda.model.parameters(), lr=cfg['lr'], weight_decay=0.01)
    warm = torch.optim.lr_scheduler.LinearLR(optimizer, 0.1, 1.0, total_iters=cfg['warmup'])
    val_img, val_lab = streets(24, g, night=True)
    for it in range(cfg['iters']):
        log = uda.train_step((*streets(cfg['batch'], g), streets(cfg['batch'], g, night=True)[0]), optimizer)
        warm.step()
        if it % 14 == 13:
            with torch.no_grad():
                acc = (uda.model.encode_decode(val_img).argmax(1) == val_lab).float().mean().item()
            print(it + 1, {k: round(v, 4) for k, v in log.items()}, 'target acc %.3f' % acc)


if __name__ == '__main__':
    main(CFG)
