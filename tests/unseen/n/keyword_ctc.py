"""WRONG. The CTC loss is negative at the start of the training (a loss must not be), and the phonemes are decoded much worse than they should be.
TRUTH: nn.CTCLoss expects log-probabilities, but the raw logits go in; the values are no probabilities (adding a constant to all logits lowers the loss) and its gradient is wrong for them. Put log_softmax(2) on the logits before the loss.
THREAD: https://github.com/gwx314/STARS/issues/9
"""
import torch
import torch.nn as nn

torch.manual_seed(0)

hparams = {
    "n_ph": 6,          # phonemes 1..6, 0 is blank
    "n_mels": 12,
    "hidden": 32,
    "max_tokens": 8,
    "lr": 0.01,
    "steps": 100,
    "clip": 5.0,
}
PROTO = torch.randn(hparams["n_ph"] + 1, hparams["n_mels"])


class SyntheticSpeech:
    """each phoneme lasts 3 to 5 frames and has its own spectrum"""

    def sample(self, batch_size):
        feats, labels = [], []
        for _ in range(batch_size):
            n = int(torch.randint(3, 6, (1,)))
            ph = torch.randint(1, hparams["n_ph"] + 1, (n,))
            dur = torch.randint(3, 6, (n,))
            feats.append(PROTO[ph.repeat_interleave(dur)])
            labels.append(ph)
        mel_len = torch.tensor([len(f) for f in feats])
        ph_len = torch.tensor([len(p) for p in labels])
        mels = nn.utils.rnn.pad_sequence(feats, batch_first=True)
        mels = mels + 0.1 * torch.randn_like(mels)
        return {"mels": mels, "mel_len": mel_len, "ph": torch.cat(labels), "ph_len": ph_len,
                "ph_list": [p.tolist() for p in labels]}


class PhEncoder(nn.Module):
    def __init__(self, hp):
        super().__init__()
        self.prenet = nn.Conv1d(hp["n_mels"], hp["hidden"], 3, padding=1)
        self.rnn = nn.GRU(hp["hidden"], hp["hidden"], batch_first=True, bidirectional=True)
        self.ph_head = nn.Linear(2 * hp["hidden"], hp["n_ph"] + 1)
        self.energy_head = nn.Linear(2 * hp["hidden"], 1)

    def forward(self, mels):
        h = torch.relu(self.prenet(mels.transpose(1, 2))).transpose(1, 2)
        h, _ = self.rnn(h)
        return {"ph_frame_logits": self.ph_head(h), "energy": self.energy_head(h).squeeze(-1)}


def masked_mse(pred, target, lengths):
    mask = torch.arange(pred.size(1))[None, :] < lengths[:, None]
    return ((pred - target) ** 2)[mask].mean()


def greedy_decode(logits, lengths):
    out = []
    for row, n in zip(logits.argmax(-1), lengths.tolist()):
        seq = torch.unique_consecutive(row[:n]).tolist()
        out.append([s for s in seq if s != 0])
    return out


class Task:
    def __init__(self):
        self.model = PhEncoder(hparams)
        self.ctc = nn.CTCLoss(blank=0, zero_infinity=True)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=hparams["lr"])

    def run_model(self, sample):
        output = self.model(sample["mels"])
        losses = {}
        ph_frame = output["ph_frame_logits"].transpose(0, 1)  # CULPRIT
        losses["ph_ctc_loss"] = self.ctc(ph_frame, sample["ph"], sample["mel_len"], sample["ph_len"])
        losses["energy_loss"] = 0.1 * masked_mse(output["energy"], sample["mels"].pow(2).mean(-1),
                                                 sample["mel_len"])
        return losses, output

    def training_step(self, sample):
        self.model.train()
        losses, _ = self.run_model(sample)
        total = sum(losses.values())
        self.optimizer.zero_grad()
        total.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), hparams["clip"])
        self.optimizer.step()
        return {k: v.item() for k, v in losses.items()}

    @torch.no_grad()
    def validate(self, sample):
        self.model.eval()
        losses, output = self.run_model(sample)
        hyp = greedy_decode(output["ph_frame_logits"], sample["mel_len"])
        exact = sum(h == r for h, r in zip(hyp, sample["ph_list"])) / len(hyp)
        return losses["ph_ctc_loss"].item(), exact


if __name__ == "__main__":
    data, task = SyntheticSpeech(), Task()
    for step in range(hparams["steps"]):
        log = task.training_step(data.sample(16))
        if step % 20 == 0:
            print(step, {k: round(v, 3) for k, v in log.items()})
    val_loss, exact = task.validate(data.sample(64))
    print(f"validation ctc {val_loss:.3f}, sequences decoded exactly {exact:.2f}")
