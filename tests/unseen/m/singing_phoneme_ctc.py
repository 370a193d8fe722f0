"""WRONG. Phoneme branch of a singing transcriber: ph_ctc drops below zero in early batches, which a negative log-likelihood cannot, and
the share of exactly decoded sequences gets stuck at about two thirds.
TRUTH: F.ctc_loss gets raw logits, it needs log-probabilities: give it F.log_softmax(logits, dim=-1).transpose(0, 1).
THREAD: https://github.com/gwx314/STARS/issues/9
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

HPARAMS = {
    "n_mels": 16,
    "hidden": 48,
    "n_ph": 9,
    "blank": 0,
    "frames_per_ph": 5,
    "lambda_ph_ctc": 0.5,
    "lambda_bd": 1.0,
    "lambda_reg": 1e-4,
    "lr": 5e-3,
    "steps": 150,
}


class ConvBlock(nn.Module):
    def __init__(self, c_in, c_out):
        super().__init__()
        self.conv = nn.Conv1d(c_in, c_out, 5, padding=2)
        self.norm = nn.LayerNorm(c_out)

    def forward(self, x):
        return F.gelu(self.norm(self.conv(x.transpose(1, 2)).transpose(1, 2)))


class PhonemeModel(nn.Module):
    def __init__(self, hp):
        super().__init__()
        self.net = nn.Sequential(ConvBlock(hp["n_mels"], hp["hidden"]), ConvBlock(hp["hidden"], hp["hidden"]))
        self.ph_out = nn.Linear(hp["hidden"], hp["n_ph"])
        self.bd_out = nn.Linear(hp["hidden"], 1)

    def forward(self, mel):
        h = self.net(mel)
        return {"ph_frame_logits": self.ph_out(h), "ph_bd_logits": self.bd_out(h).squeeze(-1)}


class PhonemeTask:
    def __init__(self, hp):
        self.hp = hp
        self.model = PhonemeModel(hp)
        self.templates = torch.randn(hp["n_ph"], hp["n_mels"])

    def get_batch(self, batch_size=16, max_ph=6):
        hp = self.hp
        ph_lens = torch.randint(3, max_ph + 1, (batch_size,))
        ph = torch.zeros(batch_size, max_ph, dtype=torch.long)
        mel_len = max_ph * (hp["frames_per_ph"] + 2)
        mel = 0.1 * torch.randn(batch_size, mel_len, hp["n_mels"])
        bd = torch.zeros(batch_size, mel_len)
        mel_lens = torch.zeros(batch_size, dtype=torch.long)
        for b in range(batch_size):
            pos = 0
            for i in range(int(ph_lens[b])):
                p = int(torch.randint(1, hp["n_ph"], ()))
                dur = hp["frames_per_ph"] + int(torch.randint(-1, 3, ()))
                ph[b, i] = p
                mel[b, pos:pos + dur] += self.templates[p]
                bd[b, pos] = 1.0
                pos += dur
            mel_lens[b] = pos
        return {"mel": mel, "mel_lens": mel_lens, "ph": ph, "ph_lens": ph_lens, "bd": bd}

    def add_ph_ctc_loss(self, ret, sample, losses):
        ph_frame_logits = ret["ph_frame_logits"]
        losses["ph_ctc"] = self.hp["lambda_ph_ctc"] * F.ctc_loss(
            ph_frame_logits.transpose(0, 1),  # CULPRIT
            sample["ph"], sample["mel_lens"], sample["ph_lens"],
            blank=self.hp["blank"], zero_infinity=True,
        )

    def add_bd_loss(self, ret, sample, losses):
        T = sample["bd"].size(1)
        nonpadding = (torch.arange(T)[None, :] < sample["mel_lens"][:, None]).float()
        bce = F.binary_cross_entropy_with_logits(ret["ph_bd_logits"], sample["bd"], reduction="none",
                                                 pos_weight=torch.tensor(4.0))
        losses["ph_bd"] = self.hp["lambda_bd"] * (bce * nonpadding).sum() / nonpadding.sum()

    def run_model(self, sample, infer=False):
        ret = self.model(sample["mel"])
        if infer:
            return ret
        losses = {}
        self.add_ph_ctc_loss(ret, sample, losses)
        self.add_bd_loss(ret, sample, losses)
        losses["reg"] = self.hp["lambda_reg"] * self.model.ph_out.weight.square().sum()
        return losses

    @torch.no_grad()
    def validation(self):
        self.model.eval()
        sample = self.get_batch(64)
        pred = self.run_model(sample, infer=True)["ph_frame_logits"].argmax(-1)
        exact = 0
        for b in range(64):
            seq = torch.unique_consecutive(pred[b, :sample["mel_lens"][b]])
            seq = seq[seq != self.hp["blank"]]
            ref = sample["ph"][b, :sample["ph_lens"][b]]
            exact += int(seq.numel() == ref.numel() and bool((seq == ref).all()))
        self.model.train()
        return exact / 64


def main():
    torch.manual_seed(0)
    task = PhonemeTask(HPARAMS)
    opt = torch.optim.Adam(task.model.parameters(), lr=HPARAMS["lr"])
    lowest = float("inf")
    for step in range(HPARAMS["steps"]):
        losses = task.run_model(task.get_batch())
        total = sum(losses.values())
        opt.zero_grad()
        total.backward()
        nn.utils.clip_grad_norm_(task.model.parameters(), 1.0)
        opt.step()
        lowest = min(lowest, losses["ph_ctc"].item())
        if step % 30 == 29:
            print(f"step {step + 1}", " ".join(f"{k} {v.item():.3f}" for k, v in losses.items()),
                  f"lowest ph_ctc {lowest:.3f} exact sequences {task.validation():.2f}")


if __name__ == "__main__":
    main()
