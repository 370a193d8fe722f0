"""ifzhang/FairMOT#19, "Multitask learning with uncertainty ?"
Symptom: the uncertainty parameters of the multi-task loss are nn.Parameters but keep their initial values during training.
EXPECT: runs
TRUTH: s_det and s_id live in the loss module and are not given to the optimizer; add loss.parameters() to it.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(7)
torch.set_num_threads(1)

N_IDS = 10


def make_tracks(n):
    x = torch.randn(n, 24)
    boxes = 8.0 * torch.tanh(x[:, :4] @ torch.randn(4, 4)) + 2.0 * torch.randn(n, 4)
    ids = (x[:, 4:] @ torch.randn(20, N_IDS) * 0.6).argmax(1)
    return TensorDataset(x, boxes, ids)


class TrackNet(nn.Module):
    def __init__(self, hidden=48):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(24, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU())
        self.box_head = nn.Linear(hidden, 4)
        self.emb_head = nn.Linear(hidden, 32)

    def forward(self, x):
        feat = self.backbone(x)
        return {"box": self.box_head(feat), "id": F.normalize(self.emb_head(feat))}


class MotLoss(nn.Module):
    def __init__(self):
        super().__init__()
        self.classifier = nn.Linear(32, N_IDS)
        self.emb_scale = 5.0
        self.s_det = nn.Parameter(-1.85 * torch.ones(1))
        self.s_id = nn.Parameter(-1.05 * torch.ones(1))

    def forward(self, outputs, boxes, ids):
        det_loss = F.mse_loss(outputs["box"], boxes)
        id_loss = F.cross_entropy(self.classifier(self.emb_scale * outputs["id"]), ids)
        loss = torch.exp(-self.s_det) * det_loss + torch.exp(-self.s_id) * id_loss + (self.s_det + self.s_id)
        loss = 0.5 * loss
        return loss.squeeze(), {"det": det_loss.item(), "id": id_loss.item()}


class MotTrainer:
    def __init__(self, model, lr=2e-3):
        self.model = model
        self.loss = MotLoss()
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)  # CULPRIT

    def run_epoch(self, loader):
        stats = {"det": 0.0, "id": 0.0}
        for x, boxes, ids in loader:
            loss, parts = self.loss(self.model(x), boxes, ids)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            for k in stats:
                stats[k] += parts[k] / len(loader)
        return stats


def main():
    loader = DataLoader(make_tracks(1600), batch_size=64, shuffle=True)
    trainer = MotTrainer(TrackNet())
    for epoch in range(30):
        stats = trainer.run_epoch(loader)
        if epoch % 6 == 0 or epoch == 29:
            print("epoch %d det %.3f id %.3f s_det %.3f s_id %.3f"
                  % (epoch, stats["det"], stats["id"], trainer.loss.s_det.item(), trainer.loss.s_id.item()))


if __name__ == "__main__":
    main()
