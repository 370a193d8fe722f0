"""WRONG. The first distillation step stops with "RuntimeError: Inference tensors cannot be saved for backward"; plain language-model training with the same student works.
TRUTH: the teacher's probabilities are made under torch.inference_mode() and are then needed by the backward of the student's KL loss; torch.no_grad() must be used instead.
THREAD: https://github.com/open-lm-engine/lm-engine/pull/253
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

args = {
    "vocab_size": 30,
    "teacher_args": {"dim": 48, "layers": 2},
    "student_args": {"dim": 16, "layers": 1},
    "kl_weight": 0.7,
    "temperature": 2.0,
    "teacher_steps": 40,
    "steps": 40,
    "seq_len": 12,
    "micro_batch_size": 16,
}


class CausalLM(nn.Module):
    def __init__(self, vocab, dim, layers):
        super().__init__()
        self.wte = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, dim, layers, batch_first=True)
        self.ln_f = nn.LayerNorm(dim)
        self.lm_head = nn.Linear(dim, vocab, bias=False)

    def forward(self, ids):
        h, _ = self.rnn(self.wte(ids))
        return self.lm_head(self.ln_f(h))


class ModelWrapperForDistillation(nn.Module):
    def __init__(self, student, teacher, kl_weight, temperature):
        super().__init__()
        self.student = student
        self.teacher = teacher.eval().requires_grad_(False)
        self.kl_weight = kl_weight
        self.temperature = temperature

    def get_teacher_targets(self, ids):
        with torch.inference_mode():  # CULPRIT
            logits = self.teacher(ids)
            return F.softmax(logits / self.temperature, dim=-1)

    def forward(self, tokens):
        ids, labels = tokens[:, :-1], tokens[:, 1:]
        teacher_probs = self.get_teacher_targets(ids)
        logits = self.student(ids)
        lm_loss = F.cross_entropy(logits.flatten(0, 1), labels.flatten())
        log_probs = F.log_softmax(logits / self.temperature, dim=-1)
        kl = F.kl_div(log_probs.flatten(0, 1), teacher_probs.flatten(0, 1), reduction="batchmean")
        kl = kl * self.temperature ** 2
        loss = (1 - self.kl_weight) * lm_loss + self.kl_weight * kl
        return {"loss": loss, "lm_loss": lm_loss.detach(), "kl": kl.detach()}

    def trainable(self):
        return list(self.student.parameters())


class Corpus:
    def __init__(self, vocab):
        self.table = torch.softmax(3 * torch.randn(vocab, vocab), dim=-1)

    def sample(self, n, length):
        cur = torch.randint(0, self.table.size(0), (n,))
        out = [cur]
        for _ in range(length):
            cur = torch.multinomial(self.table[cur], 1).squeeze(1)
            out.append(cur)
        return torch.stack(out, dim=1)


def train_teacher(model, corpus):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for _ in range(args["teacher_steps"]):
        tokens = corpus.sample(args["micro_batch_size"], args["seq_len"])
        logits = model(tokens[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"teacher loss {loss.item():.3f}")
    return model


def main():
    corpus = Corpus(args["vocab_size"])
    teacher = train_teacher(CausalLM(args["vocab_size"], **args["teacher_args"]), corpus)
    student = CausalLM(args["vocab_size"], **args["student_args"])
    model = ModelWrapperForDistillation(student, teacher, args["kl_weight"], args["temperature"])
    optimizer = torch.optim.AdamW(model.trainable(), lr=1e-2)
    for step in range(args["steps"]):
        out = model(corpus.sample(args["micro_batch_size"], args["seq_len"]))
        optimizer.zero_grad()
        out["loss"].backward()
        nn.utils.clip_grad_norm_(model.trainable(), 1.0)
        optimizer.step()
        if step % 10 == 9:
            print(f"step {step} loss {out['loss'].item():.3f} lm {out['lm_loss'].item():.3f} "
                  f"kl {out['kl'].item():.4f}")


if __name__ == "__main__":
    main()
