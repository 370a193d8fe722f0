"""WRONG. After -train_from the training is not the same as an uninterrupted one: from the second step on losses and weights differ, as if Adam had forgotten everything, although the optimizer is loaded from the checkpoint.
TRUTH: build_optim calls optim.set_parameters once more after loading, which constructs a fresh torch optimizer and throws the loaded state away; call it only where there is no checkpoint.
THREAD: https://github.com/OpenNMT/OpenNMT-py/issues/617
"""
import io

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

PAD, BOS, VOCAB = 0, 1, 20


class Optim:
    def __init__(self, method, learning_rate, max_grad_norm, lr_decay=0.9, start_decay_steps=30):
        self.method, self.learning_rate = method, learning_rate
        self.max_grad_norm = max_grad_norm
        self.lr_decay, self.start_decay_steps = lr_decay, start_decay_steps
        self._step = 0

    def set_parameters(self, named_params):
        self.params = [p for _, p in named_params if p.requires_grad]
        if self.method == "adam":
            self.optimizer = torch.optim.Adam(self.params, lr=self.learning_rate, betas=(0.9, 0.98))
        elif self.method == "sgd":
            self.optimizer = torch.optim.SGD(self.params, lr=self.learning_rate)
        else:
            raise RuntimeError("Invalid optim method: " + self.method)

    def step(self):
        self._step += 1
        if self._step > self.start_decay_steps and self._step % 10 == 0:
            self.learning_rate *= self.lr_decay
        for group in self.optimizer.param_groups:
            group["lr"] = self.learning_rate
        nn.utils.clip_grad_norm_(self.params, self.max_grad_norm)
        self.optimizer.step()


class Seq2Seq(nn.Module):
    def __init__(self, dim=24):
        super().__init__()
        self.src_emb = nn.Embedding(VOCAB, dim, padding_idx=PAD)
        self.tgt_emb = nn.Embedding(VOCAB, dim, padding_idx=PAD)
        self.encoder = nn.GRU(dim, dim, batch_first=True)
        self.decoder = nn.GRU(dim, dim, batch_first=True)
        self.generator = nn.Linear(dim, VOCAB)

    def forward(self, src, tgt_in):
        _, h = self.encoder(self.src_emb(src))
        out, _ = self.decoder(self.tgt_emb(tgt_in), h)
        return self.generator(out)


def build_optim(model, checkpoint):
    optim = Optim("adam", 0.01, 5.0)
    if checkpoint is not None:
        print("Loading optimizer from checkpoint.")
        optim.set_parameters(model.named_parameters())
        optim.optimizer.load_state_dict(checkpoint["optim"])
        optim.learning_rate = checkpoint["learning_rate"]
        optim._step = checkpoint["step"]
    optim.set_parameters(model.named_parameters())  # CULPRIT
    return optim


def get_batch(step):
    g = torch.Generator().manual_seed(1000 + step)
    src = torch.randint(2, VOCAB, (16, 4), generator=g)
    tgt = src.flip(1)
    tgt_in = torch.cat([torch.full((16, 1), BOS), tgt[:, :-1]], dim=1)
    return src, tgt_in, tgt


def train(model, optim, start, stop):
    losses = []
    for step in range(start, stop):
        src, tgt_in, tgt = get_batch(step)
        logits = model(src, tgt_in)
        loss = F.cross_entropy(logits.view(-1, VOCAB), tgt.reshape(-1), ignore_index=PAD)
        optim.optimizer.zero_grad()
        loss.backward()
        optim.step()
        losses.append(loss.item())
    return losses


def save_checkpoint(model, optim):
    buffer = io.BytesIO()
    torch.save({"model": model.state_dict(), "optim": optim.optimizer.state_dict(),
                "learning_rate": optim.learning_rate, "step": optim._step}, buffer)
    buffer.seek(0)
    return buffer


def main():
    model = Seq2Seq()
    optim = build_optim(model, None)
    first = train(model, optim, 0, 40)
    buffer = save_checkpoint(model, optim)
    straight = train(model, optim, 40, 60)

    checkpoint = torch.load(buffer)
    resumed_model = Seq2Seq()
    resumed_model.load_state_dict(checkpoint["model"])
    resumed_optim = build_optim(resumed_model, checkpoint)
    resumed = train(resumed_model, resumed_optim, checkpoint["step"], 60)

    print(f"step 0 {first[0]:.4f} step 39 {first[-1]:.4f}")
    for i in (0, 1, 2, 5, 10, 19):
        print(f"step {40 + i} uninterrupted {straight[i]:.4f} resumed {resumed[i]:.4f}")
    drift = max((a - b).abs().max().item() for a, b in zip(model.parameters(), resumed_model.parameters()))
    print(f"largest weight difference at the end {drift:.2e}")


if __name__ == "__main__":
    main()
