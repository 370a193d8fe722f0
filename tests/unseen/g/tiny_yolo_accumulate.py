"""WRONG. Gradient accumulation over N batches does not work as expected; with gradient_accumulations 1 the optimizer is never called at all.
TRUTH: the condition is the wrong way round, 'if batches_done % N' steps on every batch except each N-th; it must be 'if batches_done % N == 0'.
THREAD: https://github.com/eriklindernoren/PyTorch-YOLOv3/issues/325
"""
import argparse
import datetime
import time

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class ListDataset(Dataset):
    """Bright boxes on noise; targets in rows (image index, class, x, y, w, h), all relative."""

    def __init__(self, n, img_size=32, seed=0):
        g = torch.Generator().manual_seed(seed)
        self.items = []
        for _ in range(n):
            img = 0.1 * torch.randn(1, img_size, img_size, generator=g)
            cls = int(torch.randint(0, 2, (1,), generator=g))
            w, h = (6, 6) if cls == 0 else (10, 4)
            x0 = int(torch.randint(1, img_size - w - 1, (1,), generator=g))
            y0 = int(torch.randint(1, img_size - h - 1, (1,), generator=g))
            img[0, y0:y0 + h, x0:x0 + w] += 1.0
            box = torch.tensor([0, cls, (x0 + w / 2) / img_size, (y0 + h / 2) / img_size, w / img_size, h / img_size])
            self.items.append((img, box))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        return self.items[index]

    @staticmethod
    def collate_fn(batch):
        imgs, targets = list(zip(*batch))
        out = []
        for i, boxes in enumerate(targets):
            boxes = boxes.clone()
            boxes[0] = i
            out.append(boxes)
        return torch.stack(imgs), torch.stack(out)


class YOLOLayer(nn.Module):
    def __init__(self, anchor, num_classes, img_dim):
        super().__init__()
        self.anchor, self.num_classes, self.img_dim = anchor, num_classes, img_dim
        self.mse_loss = nn.MSELoss()
        self.bce_loss = nn.BCEWithLogitsLoss()
        self.obj_scale, self.noobj_scale = 1, 2
        self.metrics = {}

    def forward(self, x, targets):
        B, _, G, _ = x.shape
        p = x.permute(0, 2, 3, 1)
        b = targets[:, 0].long()
        gx, gy = targets[:, 2] * G, targets[:, 3] * G
        gi, gj = gx.long().clamp(max=G - 1), gy.long().clamp(max=G - 1)
        obj_mask = torch.zeros(B, G, G, dtype=torch.bool)
        obj_mask[b, gj, gi] = True
        cell = p[b, gj, gi]
        stride = self.img_dim / G
        tw = torch.log(targets[:, 4] * G / (self.anchor[0] / stride))
        th = torch.log(targets[:, 5] * G / (self.anchor[1] / stride))
        loss_xy = self.mse_loss(torch.sigmoid(cell[:, 0]), gx - gi) + self.mse_loss(torch.sigmoid(cell[:, 1]), gy - gj)
        loss_wh = self.mse_loss(cell[:, 2], tw) + self.mse_loss(cell[:, 3], th)
        conf = p[..., 4]
        loss_conf = self.obj_scale * self.bce_loss(conf[obj_mask], torch.ones(int(obj_mask.sum())))
        loss_conf = loss_conf + self.noobj_scale * self.bce_loss(conf[~obj_mask], torch.zeros(int((~obj_mask).sum())))
        onehot = torch.zeros(len(b), self.num_classes)
        onehot[torch.arange(len(b)), targets[:, 1].long()] = 1
        loss_cls = self.bce_loss(cell[:, 5:], onehot)
        total = loss_xy + loss_wh + loss_conf + loss_cls
        self.metrics = {'loss': total.item(), 'xy': loss_xy.item(), 'conf': loss_conf.item(), 'cls': loss_cls.item(),
                        'cls_acc': (cell[:, 5:].argmax(1) == targets[:, 1].long()).float().mean().item()}
        return total, p


class Darknet(nn.Module):
    def __init__(self, num_classes=2, img_size=32):
        super().__init__()
        blocks, c = [], 1
        for out in (8, 16, 24):
            blocks += [nn.Conv2d(c, out, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(out, momentum=0.1), nn.LeakyReLU(0.1)]
            c = out
        self.module_list = nn.Sequential(*blocks, nn.Conv2d(c, 5 + num_classes, 1))
        self.yolo = YOLOLayer((8, 5), num_classes, img_size)
        self.seen = 0

    def forward(self, x, targets):
        self.seen += x.size(0)
        return self.yolo(self.module_list(x), targets)


if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('--epochs', type=int, default=6)
    parser.add_argument('--batch_size', type=int, default=8)
    parser.add_argument('--gradient_accumulations', type=int, default=4, help='number of gradient accums before step')
    opt = parser.parse_args()
    print(opt)
    torch.manual_seed(1)
    dataset = ListDataset(256)
    dataloader = DataLoader(dataset, batch_size=opt.batch_size, shuffle=True, collate_fn=dataset.collate_fn)
    model = Darknet()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(opt.epochs):
        model.train()
        start_time = time.time()
        for batch_i, (imgs, targets) in enumerate(dataloader):
            batches_done = len(dataloader) * epoch + batch_i + 1
            loss, outputs = model(imgs, targets)
            loss.backward()

            if batches_done % opt.gradient_accumulations:  # CULPRIT
                # Accumulates gradient before each step
                optimizer.step()
                optimizer.zero_grad()

        log_str = '---- [Epoch %d/%d] ' % (epoch + 1, opt.epochs)
        log_str += ' '.join('%s %.4f' % kv for kv in model.yolo.metrics.items())
        print(log_str, 'seen', model.seen, 'took', datetime.timedelta(seconds=int(time.time() - start_time)))
