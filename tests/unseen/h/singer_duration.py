"""WRONG. sdp_dur_loss loses its gradient, the word and sentence duration terms do not train the duration predictor.
TRUTH: The predicted durations are rounded with torch.ceil before the loss, whose gradient is zero everywhere; compute the loss on the durations before rounding.
THREAD: https://github.com/openvpi/DiffSinger/pull/303
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

N_PH, MAX_PH = 20, 12


class DurationPredictor(nn.Module):
    def __init__(self, hidden=32, n_layers=2, kernel=3):
        super().__init__()
        self.embed = nn.Embedding(N_PH, hidden, padding_idx=0)
        self.word_pos = nn.Embedding(2, hidden)
        self.conv = nn.ModuleList()
        for _ in range(n_layers):
            self.conv.append(nn.Sequential(
                nn.Conv1d(hidden, hidden, kernel, padding=kernel // 2), nn.ReLU()))
        self.norm = nn.ModuleList([nn.LayerNorm(hidden) for _ in range(n_layers)])
        self.linear = nn.Linear(hidden, 1)

    def forward(self, tokens, onset):
        x = self.embed(tokens) + self.word_pos(onset)
        for conv, norm in zip(self.conv, self.norm):
            x = norm(conv(x.transpose(1, 2)).transpose(1, 2) + x)
        log_dur = self.linear(x).squeeze(-1)
        return self.out2dur(log_dur) * (tokens > 0)

    def out2dur(self, log_dur):
        return torch.ceil((F.softplus(log_dur) * 5).clamp(min=0.0))  # CULPRIT


class DurationLoss(nn.Module):
    """phone, word and sentence level durations in the log domain"""

    def __init__(self, offset=1.0, lambda_pdur=0.6, lambda_wdur=0.3, lambda_sdur=0.1):
        super().__init__()
        self.offset = offset
        self.lambdas = (lambda_pdur, lambda_wdur, lambda_sdur)

    def linear2log(self, any_dur):
        return torch.log(any_dur + self.offset)

    def forward(self, dur_pred, dur_gt, ph2word):
        pdur = F.mse_loss(self.linear2log(dur_pred), self.linear2log(dur_gt))
        n_words = int(ph2word.max()) + 1
        wdur_pred = dur_pred.new_zeros(len(dur_pred), n_words).scatter_add(1, ph2word, dur_pred)
        wdur_gt = dur_gt.new_zeros(len(dur_gt), n_words).scatter_add(1, ph2word, dur_gt)
        wdur = F.mse_loss(self.linear2log(wdur_pred), self.linear2log(wdur_gt))
        sdur = F.mse_loss(self.linear2log(dur_pred.sum(1)), self.linear2log(dur_gt.sum(1)))
        lp, lw, ls = self.lambdas
        return lp * pdur + lw * wdur + ls * sdur


phone_len = 2 + 12 * torch.rand(N_PH)


def make_batch(n):
    tokens = torch.randint(1, N_PH, (n, MAX_PH))
    length = torch.randint(6, MAX_PH + 1, (n, 1))
    pad = torch.arange(MAX_PH)[None] >= length
    tokens[pad] = 0
    onset = (torch.rand(n, MAX_PH) < 0.45).long()
    onset[:, 0] = 1
    ph2word = onset.cumsum(1) - 1
    dur = phone_len[tokens] * (1 + 0.5 * onset) + torch.randn(n, MAX_PH) * 0.3
    dur = dur.round().clamp(min=1) * (~pad)
    return tokens, onset, dur, ph2word


model = DurationPredictor()
criterion = DurationLoss()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)

running = 0.0
for step in range(1, 401):
    tokens, onset, dur_gt, ph2word = make_batch(32)
    dur_pred = model(tokens, onset)
    loss = criterion(dur_pred, dur_gt, ph2word)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    running += loss.item()
    if step % 100 == 0:
        err = (dur_pred.detach() - dur_gt).abs()[tokens > 0].mean().item()
        print('step %d dur_loss %.4f mean error %.2f frames' % (step, running / 100, err))
        running = 0.0
