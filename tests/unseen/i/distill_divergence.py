"""WRONG. Distillation with the reverse KL at a low temperature: the loss is finite, yet the student's gradients are nan and so are all its weights after the first step.
TRUTH: the differentiable student probabilities are given to F.kl_div as target and underflow to exact zeros, where the derivative on the target's side is not finite; compute it in log space (kl_div with log_target=True on log_softmax).
THREAD: https://github.com/MakazhanAlpamys/Soup/issues/719
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
VOCAB = 16


class TinyLM(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.lm_head = nn.Linear(dim, VOCAB)

    def forward(self, input_ids):
        h, _ = self.rnn(self.embed(input_ids))
        return 6.0 * self.lm_head(h)


def _compute_distill_term(student_logits, teacher_logits, labels, divergence, temperature):
    s = student_logits[:, :-1] / temperature
    t = teacher_logits[:, :-1] / temperature
    mask = (labels[:, 1:] != -100).float()
    if divergence == 'forward_kl':
        per_token = F.kl_div(F.log_softmax(s, -1), F.softmax(t, -1), reduction='none').sum(-1)
    elif divergence == 'reverse_kl':
        student_probs = F.softmax(s, dim=-1)
        teacher_log_probs = F.log_softmax(t, dim=-1)
        per_token = F.kl_div(teacher_log_probs, student_probs, reduction='none').sum(-1)  # CULPRIT
    else:
        raise ValueError(divergence)
    return (per_token * mask).sum() / mask.sum() * temperature ** 2


def sequences(n, length=12):
    ids = torch.zeros(n, length, dtype=torch.long)
    ids[:, 0] = torch.randint(0, VOCAB, (n,))
    for i in range(1, length):
        step = torch.where(torch.rand(n) < 0.9, 3, 5)
        ids[:, i] = (ids[:, i - 1] + step) % VOCAB
    labels = ids.clone()
    labels[:, :2] = -100
    return ids, labels


def train_teacher(steps=150):
    teacher = TinyLM(32)
    opt = torch.optim.Adam(teacher.parameters(), lr=5e-3)
    for _ in range(steps):
        ids, labels = sequences(32)
        loss = F.cross_entropy(teacher(ids)[:, :-1].reshape(-1, VOCAB), labels[:, 1:].reshape(-1), ignore_index=-100)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print('teacher loss %.4f' % loss.item())
    return teacher.eval()


teacher = train_teacher()
student = TinyLM(16)
optimizer = torch.optim.AdamW(student.parameters(), lr=3e-3)
for step in range(100):
    ids, labels = sequences(32)
    with torch.no_grad():
        teacher_logits = teacher(ids)
    student_logits = student(ids)
    distill = _compute_distill_term(student_logits, teacher_logits, labels, 'reverse_kl', 0.05)
    ce = F.cross_entropy(student_logits[:, :-1].reshape(-1, VOCAB), labels[:, 1:].reshape(-1), ignore_index=-100)
    loss = ce + 0.5 * distill
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print('step %d ce %.4f distill %.5f' % (step, ce.item(), distill.item()))
