"""microsoft/ProDA#20, "question about the loss formulation of kl_div"
Symptom: the distillation loss becomes negative and the student does not reproduce the teacher's soft predictions.
EXPECT: runs
TRUTH: F.kl_div expects log-probabilities as its input, the student passes softmax probabilities; use F.log_softmax.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(18)
torch.set_num_threads(1)

N_CLASS = 4


def make_images(n, size=12):
    cells = torch.randint(0, N_CLASS, (n, 3, 3))
    label = cells.repeat_interleave(size // 3, 1).repeat_interleave(size // 3, 2)
    colours = torch.tensor([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.6, 0.6, 0.0]])
    img = colours[label].permute(0, 3, 1, 2) + 0.5 * torch.randn(n, 3, size, size)
    return img, label


class SegNet(nn.Module):
    def __init__(self, ch):
        super().__init__()
        self.backbone = nn.Sequential(nn.Conv2d(3, ch, 3, padding=1), nn.ReLU(), nn.Conv2d(ch, ch, 3, padding=1), nn.ReLU())
        self.classifier = nn.Conv2d(ch, N_CLASS, 1)

    def forward(self, x):
        feat = self.backbone(x)
        return {"feat": feat, "out": self.classifier(feat)}


def pretrain_teacher(loader):
    teacher = SegNet(24)
    optimizer = torch.optim.Adam(teacher.parameters(), lr=3e-3)
    for _ in range(3):
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(teacher(x)["out"], y, label_smoothing=0.2).backward()
            optimizer.step()
    return teacher.eval().requires_grad_(False)


class CustomModel:
    def __init__(self, teacher, distillation=1.0):
        self.teacher = teacher
        self.BaseNet = SegNet(12)
        self.distillation = distillation
        self.optimizer = torch.optim.Adam(self.BaseNet.parameters(), lr=3e-3)

    def step(self, target_image):
        target_out = self.BaseNet(target_image)
        student = F.softmax(target_out["out"], dim=1)  # CULPRIT
        with torch.no_grad():
            teacher_out = self.teacher(target_image)
            teacher = F.softmax(teacher_out["out"], dim=1)
        loss_kd = F.kl_div(student, teacher, reduction="none")
        mask = (teacher != 250).float()
        loss_kd = (loss_kd * mask).sum() / mask.sum()
        loss = self.distillation * loss_kd
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss_kd.item()


def compare(model, x):
    with torch.no_grad():
        p = F.softmax(model.teacher(x)["out"], dim=1)
        q = F.softmax(model.BaseNet(x)["out"], dim=1)
    return (p - q).abs().mean().item(), p.max(1)[0].mean().item(), q.max(1)[0].mean().item()


def main():
    x, y = make_images(480)
    loader = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)
    model = CustomModel(pretrain_teacher(loader))
    for epoch in range(8):
        losses = [model.step(img) for img, _ in loader]
        diff, conf_t, conf_s = compare(model, x)
        print("epoch %d kd loss %.4f |teacher - student| %.4f confidence teacher %.3f student %.3f"
              % (epoch, sum(losses) / len(losses), diff, conf_t, conf_s))


if __name__ == "__main__":
    main()
