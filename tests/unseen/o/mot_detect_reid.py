"""Joint detection + re-identification head, trained with the learned (uncertainty) weighting of the two losses.

TRUTH: The log-variances s_det and s_id live in the loss module, but the optimizer is built from model.parameters()
only, so they are never updated although they receive gradients. Symptom: the printed weights stay at -1.85 / -1.05
from the first epoch to the last, the balance of the tasks is whatever the start values were and the identity loss
ends higher. Fix: give the optimizer the parameters of the loss module too. Drawn from ifzhang/FairMOT#19.
"""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class SyntheticTracks(Dataset):
    """Feature vectors of detections: a noisy offset to regress and an identity to classify."""

    def __init__(self, n=1300, dim=24, n_ids=20, seed=7):
        g = torch.Generator().manual_seed(seed)
        self.ids = torch.randint(0, n_ids, (n,), generator=g)
        centers = torch.randn(n_ids, dim, generator=g)
        self.x = centers[self.ids] + 1.0 * torch.randn(n, dim, generator=g)
        proj = torch.randn(dim, 4, generator=g)
        self.box = torch.tanh(self.x @ proj / 4) * 3 + 9.0 * torch.randn(n, 4, generator=g)

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, i):
        return {"input": self.x[i], "box": self.box[i], "ids": self.ids[i]}


class TrackNet(nn.Module):
    def __init__(self, dim, width, n_ids):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(dim, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.box_head = nn.Linear(width, 4)
        self.id_head = nn.Sequential(nn.Linear(width, 16), nn.Linear(16, n_ids))

    def forward(self, x):
        f = self.backbone(x)
        return {"box": self.box_head(f), "id": self.id_head(f)}


class MotLoss(nn.Module):
    def __init__(self, opt):
        super().__init__()
        self.opt = opt
        self.s_det = nn.Parameter(-1.85 * torch.ones(1))
        self.s_id = nn.Parameter(-1.05 * torch.ones(1))

    def forward(self, outputs, batch):
        det_loss = F.mse_loss(outputs["box"], batch["box"])
        id_loss = F.cross_entropy(outputs["id"], batch["ids"])
        loss = torch.exp(-self.s_det) * det_loss + torch.exp(-self.s_id) * id_loss + (self.s_det + self.s_id)
        loss = 0.5 * loss.sum()
        return loss, {"loss": loss.item(), "det": det_loss.item(), "id": id_loss.item()}


class BaseTrainer:
    def __init__(self, opt, model, optimizer, loss):
        self.opt, self.model, self.optimizer, self.loss = opt, model, optimizer, loss

    def run_epoch(self, phase, loader):
        self.model.train(phase == "train")
        sums, n = {"loss": 0.0, "det": 0.0, "id": 0.0}, 0
        for batch in loader:
            with torch.set_grad_enabled(phase == "train"):
                outputs = self.model(batch["input"])
                loss, stats = self.loss(outputs, batch)
            if phase == "train":
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
            for k in sums:
                sums[k] += stats[k] * len(batch["ids"])
            n += len(batch["ids"])
        return {k: v / n for k, v in sums.items()}


def main(opt):
    torch.manual_seed(opt.seed)
    data = SyntheticTracks()
    train, val = torch.utils.data.random_split(data, [1000, 300], generator=torch.Generator().manual_seed(0))
    train_loader = DataLoader(train, batch_size=opt.batch_size, shuffle=True)
    val_loader = DataLoader(val, batch_size=100)

    model = TrackNet(24, 48, 20)
    loss = MotLoss(opt)
    optimizer = torch.optim.Adam(model.parameters(), opt.lr)  # CULPRIT
    trainer = BaseTrainer(opt, model, optimizer, loss)

    for epoch in range(1, opt.num_epochs + 1):
        log = trainer.run_epoch("train", train_loader)
        if epoch % 6 == 0 or epoch == 1:
            v = trainer.run_epoch("val", val_loader)
            print("epoch %2d | train det %.3f id %.3f | val det %.3f id %.3f | s_det %.3f s_id %.3f"
                  % (epoch, log["det"], log["id"], v["det"], v["id"], loss.s_det.item(), loss.s_id.item()))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, default=5e-3)
    parser.add_argument("--batch_size", type=int, default=60)
    parser.add_argument("--num_epochs", type=int, default=24)
    parser.add_argument("--seed", type=int, default=317)
    main(parser.parse_args())
