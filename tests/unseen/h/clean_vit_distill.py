"""CORRECT. Distillation token with kl_div(log_softmax(student), softmax(teacher).detach(), 'batchmean') * T^2 and a teacher under no_grad (asked: why softmax and not log_softmax for the teacher; answered).
THREAD: https://github.com/lucidrains/vit-pytorch/issues/289
"""
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)

SIZE, PATCH, N_CLASS, DIM = 8, 4, 5, 32


class DistillableViT(nn.Module):
    def __init__(self, depth=2, heads=4):
        super().__init__()
        self.to_patch_embedding = nn.Linear(PATCH * PATCH, DIM)
        n = (SIZE // PATCH) ** 2
        self.pos_embedding = nn.Parameter(0.1 * torch.randn(1, n + 1, DIM))
        self.cls_token = nn.Parameter(torch.randn(1, 1, DIM))
        layer = nn.TransformerEncoderLayer(DIM, heads, 64, dropout=0.0, batch_first=True)
        self.transformer = nn.TransformerEncoder(layer, depth)
        self.mlp_head = nn.Linear(DIM, N_CLASS)

    def forward(self, img, distill_token=None):
        p = img.unfold(2, PATCH, PATCH).unfold(3, PATCH, PATCH).flatten(4).flatten(1, 3)
        x = self.to_patch_embedding(p)
        x = torch.cat([self.cls_token.expand(len(x), -1, -1), x], 1) + self.pos_embedding
        if distill_token is not None:
            x = torch.cat([x, distill_token.expand(len(x), -1, -1)], 1)
        x = self.transformer(x)
        out = self.mlp_head(x[:, 0])
        if distill_token is not None:
            return out, x[:, -1]
        return out


class DistillWrapper(nn.Module):
    def __init__(self, *, teacher, student, temperature=3., alpha=0.5):
        super().__init__()
        self.teacher = teacher
        self.student = student
        self.temperature = temperature
        self.alpha = alpha
        self.distillation_token = nn.Parameter(torch.randn(1, 1, DIM))
        self.distill_mlp = nn.Sequential(nn.LayerNorm(DIM), nn.Linear(DIM, N_CLASS))

    def forward(self, img, labels):
        alpha, T = self.alpha, self.temperature
        with torch.no_grad():
            teacher_logits = self.teacher(img)
        student_logits, distill_tokens = self.student(img, distill_token=self.distillation_token)
        distill_logits = self.distill_mlp(distill_tokens)
        loss = F.cross_entropy(student_logits, labels)
        distill_loss = F.kl_div(
            F.log_softmax(distill_logits / T, dim=-1),
            F.softmax(teacher_logits / T, dim=-1).detach(),
            reduction='batchmean')
        distill_loss *= T ** 2
        return loss * (1 - alpha) + distill_loss * alpha


templates = torch.randn(N_CLASS, 1, SIZE, SIZE)


def batch(n):
    y = torch.randint(0, N_CLASS, (n,))
    return templates[y] + 1.2 * torch.randn(n, 1, SIZE, SIZE), y


teacher = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
                        nn.Flatten(), nn.Linear(16 * SIZE * SIZE, N_CLASS))
opt = torch.optim.Adam(teacher.parameters(), lr=2e-3)
for _ in range(100):
    x, y = batch(64)
    loss = F.cross_entropy(teacher(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
teacher.eval()

student = DistillableViT()
distiller = DistillWrapper(teacher=teacher, student=student)
opt = torch.optim.Adam([p for n, p in distiller.named_parameters() if not n.startswith('teacher')], lr=2e-3)
test_x, test_y = batch(500)
for step in range(1, 201):
    img, labels = batch(64)
    loss = distiller(img, labels)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 50 == 0:
        with torch.no_grad():
            acc = (student(test_x).argmax(1) == test_y).float().mean().item()
        print('step %d loss %.3f student acc %.3f' % (step, loss.item(), acc))
