"""Small GRU + CTC speech recognizer with gradient accumulation and skipping of non-finite updates.

TRUTH: (the nan from the one damaged utterance is expected and meant to be survived by skipping its update.)
When the gradient norm is not finite the update is skipped, but zero_grad is only called in the
branch which does update. With accumulation the nan gradients of one bad utterance then stay in p.grad
and every later backward adds to them, so every later update is skipped too. Symptom: after the corrupt
batch all gradients are nan for ever, the parameters stop changing, the loss plateaus. Fix: call
optimizer.zero_grad() after the if/else, whether or not the step was done.
Drawn from espnet/espnet#3283.
"""
import logging
import sys

import torch
import torch.nn as nn

logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(levelname)s %(message)s")

N_TOKENS, FEAT = 6, 12


class TrainerOptions:
    max_epoch = 3
    accum_grad = 2
    grad_clip = 5.0
    batch_size = 8
    log_interval = 10


def synth_corpus(n, seed):
    """Utterances: each token is 4-7 frames of its own spectral pattern; log-energies as features."""
    g = torch.Generator().manual_seed(seed)
    patterns = torch.rand(N_TOKENS, FEAT, generator=torch.Generator().manual_seed(99)) * 3 + 0.05
    utts = []
    for i in range(n):
        labels = torch.randint(0, N_TOKENS, (int(torch.randint(3, 7, (1,), generator=g)),), generator=g)
        frames = []
        for tok in labels.tolist():
            dur = int(torch.randint(4, 8, (1,), generator=g))
            frames.append(patterns[tok].expand(dur, FEAT) + 0.1 * torch.rand(dur, FEAT, generator=g))
        utts.append((torch.cat(frames), labels + 1))
    return utts


def add_dropout_burst(utts, index):
    """One recording of the corpus is damaged; updates with a non-finite gradient are meant to be skipped."""
    wav, lab = utts[index]
    wav = wav.clone()
    wav[3:6] = -0.01
    utts[index] = (wav, lab)


class ASRModel(nn.Module):
    def __init__(self, hidden=48):
        super().__init__()
        self.encoder = nn.GRU(FEAT, hidden, batch_first=True, bidirectional=True)
        self.ctc_lo = nn.Linear(2 * hidden, N_TOKENS + 1)
        self.ctc = nn.CTCLoss(blank=0, zero_infinity=True)

    def forward(self, feats, feat_lens, labels, label_lens):
        x, _ = self.encoder(torch.log(feats))
        log_probs = self.ctc_lo(x).log_softmax(-1).transpose(0, 1)
        return self.ctc(log_probs, labels, feat_lens, label_lens)


def collate(batch):
    feat_lens = torch.tensor([len(f) for f, _ in batch])
    feats = torch.ones(len(batch), int(feat_lens.max()), FEAT)
    for i, (f, _) in enumerate(batch):
        feats[i, :len(f)] = f
    return feats, feat_lens, torch.cat([l for _, l in batch]), torch.tensor([len(l) for _, l in batch])


def train_one_epoch(model, batches, optimizer, scheduler, options, epoch):
    model.train()
    window, n_updates = [], 0
    for iiter, batch in enumerate(batches, 1):
        loss = model(*collate(batch))
        (loss / options.accum_grad).backward()
        if torch.isfinite(loss):
            window.append(loss.item())
        if iiter % options.accum_grad == 0:
            grad_norm = nn.utils.clip_grad_norm_(model.parameters(), options.grad_clip)
            if not torch.isfinite(grad_norm):
                logging.warning("grad norm is %s. Skipping updating the model.", grad_norm.item())
            else:
                optimizer.step()
                scheduler.step()
                n_updates += 1
                optimizer.zero_grad()  # CULPRIT
        if iiter % options.log_interval == 0:
            logging.info("epoch %d iter %d loss %.4f", epoch, iiter, sum(window) / max(len(window), 1))
            window = []
    return n_updates


def main():
    torch.manual_seed(1)
    options = TrainerOptions()
    corpus = synth_corpus(400, seed=4)
    add_dropout_burst(corpus, 133)
    model = ASRModel()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=60, gamma=0.7)
    g = torch.Generator().manual_seed(0)
    for epoch in range(1, options.max_epoch + 1):
        order = torch.randperm(len(corpus), generator=g).tolist()
        bs = options.batch_size
        batches = [[corpus[j] for j in order[i:i + bs]] for i in range(0, len(order), bs)]
        n = train_one_epoch(model, batches, optimizer, scheduler, options, epoch)
        logging.info("epoch %d done, %d updates", epoch, n)


if __name__ == "__main__":
    main()
