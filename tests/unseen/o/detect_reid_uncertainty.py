"""One-shot tracker head: detection and re-identification losses weighted by uncertainty.

A shared trunk gets window features; the detection head regresses a box (loss in
pixels, large) and the re-id head classifies the identity (loss of order one).  The two
are balanced with learnable s_det / s_id as in Kendall et al.

TRUTH: s_det and s_id are nn.Parameters of the loss module, but the optimizer is built from model.parameters() only, so the
weights stay at their initial -1.85 and -1.05 for ever although they receive gradients; the pixel-scale box loss then
dominates and re-id learns worse. Fix: add loss.parameters() to the optimizer. Drawn from ifzhang/FairMOT#19
(Multitask learning with uncertainty?).
"""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F


class WindowData:
    """32 features -> box (4 numbers in pixels) and one of `nid` identities"""

    def __init__(self, n, nid, seed):
        base = torch.Generator().manual_seed(11)
        to_box = torch.randn(16, 4, generator=base)
        proto = torch.randn(nid, 16, generator=base)
        g = torch.Generator().manual_seed(seed)
        geo = torch.randn(n, 16, generator=g)
        self.ids = torch.randint(0, nid, (n,), generator=g)
        app = proto[self.ids] + 0.4 * torch.randn(n, 16, generator=g)
        self.x = torch.cat([geo, app], dim=1)
        self.box = 60.0 + 15.0 * torch.tanh(geo @ to_box) + 4.0 * torch.randn(n, 4, generator=g)

    def batches(self, bs, gen):
        order = torch.randperm(len(self.x), generator=gen)
        for i in range(0, len(order) - bs + 1, bs):
            j = order[i:i + bs]
            yield self.x[j], self.box[j], self.ids[j]


class Tracker(nn.Module):
    def __init__(self, nid, width=24):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(32, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.box = nn.Linear(width, 4)
        self.emb = nn.Linear(width, 16)
        self.box.bias.data.fill_(60.0)

    def forward(self, x):
        h = self.trunk(x)
        return self.box(h), F.normalize(self.emb(h), dim=1)


class MotLoss(nn.Module):
    def __init__(self, nid):
        super().__init__()
        self.nid = nid
        self.emb_scale = 8.0
        self.s_det = nn.Parameter(-1.85 * torch.ones(1))
        self.s_id = nn.Parameter(-1.05 * torch.ones(1))

    def forward(self, outputs, batch, classifier):
        box, emb = outputs
        _, gt_box, ids = batch
        box_loss = F.mse_loss(box, gt_box)
        id_loss = F.cross_entropy(classifier(self.emb_scale * emb), ids)
        loss = torch.exp(-self.s_det) * box_loss + torch.exp(-self.s_id) * id_loss
        loss = 0.5 * (loss + self.s_det + self.s_id)
        stats = {"loss": loss.item(), "box": box_loss.item(), "id": id_loss.item()}
        return loss.mean(), stats


class ModelWithLoss(nn.Module):
    def __init__(self, model, loss, nid):
        super().__init__()
        self.model = model
        self.loss = loss
        self.model.classifier = nn.Linear(16, nid)

    def forward(self, batch):
        outputs = self.model(batch[0])
        return self.loss(outputs, batch, self.model.classifier)


class BaseTrainer:
    def __init__(self, opt, model):
        self.opt = opt
        self.model_with_loss = ModelWithLoss(model, MotLoss(opt.nid), opt.nid)
        self.optimizer = torch.optim.Adam(model.parameters(), opt.lr)  # CULPRIT

    def run_epoch(self, data, gen):
        self.model_with_loss.train()
        sums, n = {}, 0
        for batch in data.batches(self.opt.batch_size, gen):
            loss, stats = self.model_with_loss(batch)
            self.optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(self.model_with_loss.parameters(), 5.0)
            self.optimizer.step()
            for k, v in stats.items():
                sums[k] = sums.get(k, 0.0) + v
            n += 1
        return {k: v / n for k, v in sums.items()}

    @torch.no_grad()
    def val(self, data):
        m = self.model_with_loss.model
        m.eval()
        box, emb = m(data.x)
        logits = m.classifier(self.model_with_loss.loss.emb_scale * emb)
        return F.l1_loss(box, data.box).item(), (logits.argmax(1) == data.ids).float().mean().item()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--nid", type=int, default=40)
    p.add_argument("--lr", type=float, default=0.01)
    p.add_argument("--batch-size", type=int, default=32)
    p.add_argument("--epochs", type=int, default=20)
    opt = p.parse_args()
    torch.manual_seed(2)
    gen = torch.Generator().manual_seed(2)
    train, val = WindowData(1600, opt.nid, 1), WindowData(400, opt.nid, 2)
    trainer = BaseTrainer(opt, Tracker(opt.nid))
    for epoch in range(1, opt.epochs + 1):
        log = trainer.run_epoch(train, gen)
        if epoch % 5 == 0:
            l1, acc = trainer.val(val)
            crit = trainer.model_with_loss.loss
            print("epoch %d  %s | val l1 %.2f  id acc %.3f | s_det %.3f s_id %.3f"
                  % (epoch, "  ".join("%s %.3f" % kv for kv in log.items()), l1, acc,
                     crit.s_det.item(), crit.s_id.item()))


if __name__ == "__main__":
    main()
