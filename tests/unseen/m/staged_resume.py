"""WRONG. Resuming from a checkpoint of the first epochs works, resuming from one written after the backbone was unfrozen raises "loaded state dict contains a parameter group that doesn't match the size of optimizer's group".
TRUTH: main builds the optimizer for cfg["start_epoch"] (0, backbone frozen) before the checkpoint says which epoch it comes from; the optimizer must be built for the stage of the checkpoint's epoch.
THREAD: https://github.com/STVIR/pysot/issues/92
"""
import os
import tempfile

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

CFG = {
    "start_epoch": 0,
    "backbone_train_epoch": 2,
    "base_lr": 1e-2,
    "backbone_lr_ratio": 0.1,
    "batches": 6,
}


class ModelBuilder(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(10, 24), nn.ReLU(), nn.Linear(24, 24), nn.ReLU())
        self.rpn_head = nn.Linear(24, 2)

    def forward(self, data):
        pred = self.rpn_head(self.backbone(data["search"]))
        cls_loss = F.binary_cross_entropy_with_logits(pred[:, 0], data["label"])
        loc_loss = F.smooth_l1_loss(pred[:, 1], data["loc"])
        return {"total_loss": cls_loss + 1.2 * loc_loss, "cls_loss": cls_loss, "loc_loss": loc_loss}


def build_opt_lr(model, current_epoch):
    for p in model.backbone.parameters():
        p.requires_grad = current_epoch >= CFG["backbone_train_epoch"]
    backbone = [p for p in model.backbone.parameters() if p.requires_grad]
    groups = [
        {"params": backbone, "lr": CFG["base_lr"] * CFG["backbone_lr_ratio"]},
        {"params": list(model.rpn_head.parameters()), "lr": CFG["base_lr"]},
    ]
    return torch.optim.SGD(groups, momentum=0.9, weight_decay=1e-4)


def save_checkpoint(model, optimizer, epoch, folder):
    path = os.path.join(folder, f"checkpoint_e{epoch + 1}.pth")
    torch.save({"epoch": epoch + 1, "state_dict": model.state_dict(),
                "optimizer": optimizer.state_dict()}, path)
    return path


def restore_from(model, optimizer, ckpt):
    model.load_state_dict(ckpt["state_dict"])
    optimizer.load_state_dict(ckpt["optimizer"])
    return model, optimizer, ckpt["epoch"]


def make_batches():
    g = torch.Generator().manual_seed(5)
    w = torch.randn(10, 2, generator=g)
    out = []
    for _ in range(CFG["batches"]):
        x = torch.randn(32, 10, generator=g)
        t = x @ w
        out.append({"search": x, "label": (t[:, 0] > 0).float(), "loc": torch.tanh(t[:, 1])})
    return out


def train(model, optimizer, start, end, folder):
    batches, path = make_batches(), None
    for epoch in range(start, end):
        if epoch == CFG["backbone_train_epoch"]:
            print("start training the backbone")
            optimizer = build_opt_lr(model, epoch)
        model.train()
        total = 0.0
        for data in batches:
            outputs = model(data)
            optimizer.zero_grad()
            outputs["total_loss"].backward()
            nn.utils.clip_grad_norm_(model.parameters(), 10.0)
            optimizer.step()
            total += outputs["total_loss"].item()
        print(f"epoch {epoch} loss {total / len(batches):.4f} "
              f"tensors {sum(len(g['params']) for g in optimizer.param_groups)}")
        path = save_checkpoint(model, optimizer, epoch, folder)
    return path


def main(end, folder, resume=None):
    model = ModelBuilder()
    start = CFG["start_epoch"]
    ckpt = torch.load(resume) if resume else None
    optimizer = build_opt_lr(model, start)  # CULPRIT
    if ckpt is not None:
        model, optimizer, start = restore_from(model, optimizer, ckpt)
        print(f"resumed {os.path.basename(resume)} at epoch {start}")
    return train(model, optimizer, start, end, folder)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        first = main(1, folder)
        second = main(4, folder, resume=first)
        main(6, folder, resume=second)
