"""WRONG. The ph_ctc_loss becomes negative during training.
TRUTH: ctc_loss expects log-probabilities but is given the raw frame logits; apply log_softmax over the classes first.
THREAD: https://github.com/gwx314/STARS/issues/9
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

HPARAMS = dict(mels=12, hidden=32, phones=9, max_frames=60, batch=12, lr=2e-3, steps=80,
               lambda_ph=1.0, lambda_bd=0.5, lambda_ctc=0.1, bd_pos_weight=3.0, clip=1.0)


class ConvFrontend(nn.Module):
    def __init__(self, mels, hidden):
        super().__init__()
        self.net = nn.ModuleList([nn.Conv1d(mels, hidden, 5, padding=2), nn.Conv1d(hidden, hidden, 3, padding=1)])
        self.norm = nn.ModuleList([nn.LayerNorm(hidden) for _ in self.net])

    def forward(self, mel, nonpad):
        x = mel.transpose(1, 2)
        for conv, norm in zip(self.net, self.norm):
            x = F.gelu(norm(conv(x).transpose(1, 2))).transpose(1, 2) * nonpad.unsqueeze(1)
        return x.transpose(1, 2)


class AlignModel(nn.Module):
    def __init__(self, hp):
        super().__init__()
        self.frontend = ConvFrontend(hp['mels'], hp['hidden'])
        self.rnn = nn.LSTM(hp['hidden'], hp['hidden'] // 2, batch_first=True, bidirectional=True)
        self.ph_frame_out = nn.Linear(hp['hidden'], hp['phones'] + 1)
        self.ph_bd_out = nn.Linear(hp['hidden'], 1)

    def forward(self, mel, lengths):
        nonpad = (torch.arange(mel.shape[1])[None] < lengths[:, None]).float()
        x = self.frontend(mel, nonpad)
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        x, _ = nn.utils.rnn.pad_packed_sequence(self.rnn(packed)[0], batch_first=True, total_length=mel.shape[1])
        return {'ph_frame_logits': self.ph_frame_out(x), 'ph_bd_logits': self.ph_bd_out(x).squeeze(-1), 'nonpad': nonpad}


class SingingData:
    """Utterances as runs of phones, each with its own spectrum; index 0 is the blank."""

    def __init__(self, hp, seed):
        self.hp, self.g = hp, torch.Generator().manual_seed(seed)
        self.spectra = torch.randn(hp['phones'] + 1, hp['mels'], generator=torch.Generator().manual_seed(99))

    def sample(self):
        hp = self.hp
        mel = torch.zeros(hp['batch'], hp['max_frames'], hp['mels'])
        frame_ph = torch.zeros(hp['batch'], hp['max_frames'], dtype=torch.long)
        bd = torch.zeros(hp['batch'], hp['max_frames'])
        lengths, phones = [], []
        for b in range(hp['batch']):
            t, seq = 0, []
            while t < hp['max_frames'] - 12 and len(seq) < 7:
                d = int(torch.randint(5, 10, (1,), generator=self.g))
                p = int(torch.randint(1, hp['phones'] + 1, (1,), generator=self.g))
                if seq and p == seq[-1]:
                    p = p % hp['phones'] + 1
                mel[b, t:t + d] = self.spectra[p]
                frame_ph[b, t:t + d] = p
                bd[b, t] = 1.0
                t += d
                seq.append(p)
            lengths.append(t)
            phones.append(torch.tensor(seq))
        mel = mel + 0.8 * torch.randn(mel.shape, generator=self.g)
        return {'mel': mel, 'lengths': torch.tensor(lengths), 'frame_ph': frame_ph, 'bd': bd,
                'phones': torch.cat(phones), 'phone_lengths': torch.tensor([len(p) for p in phones])}


class AlignTask:
    def __init__(self, hp):
        self.hp = hp
        self.model = AlignModel(hp)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=hp['lr'], betas=(0.9, 0.98))
        self.scheduler = torch.optim.lr_scheduler.LinearLR(self.optimizer, 0.1, 1.0, total_iters=15)

    def add_ph_losses(self, out, sample, losses):
        nonpad = out['nonpad']
        ce = F.cross_entropy(out['ph_frame_logits'].transpose(1, 2), sample['frame_ph'], reduction='none')
        losses['ph_ce'] = (ce * nonpad).sum() / nonpad.sum() * self.hp['lambda_ph']
        ctc_in = out['ph_frame_logits'].transpose(0, 1)  # CULPRIT
        losses['ph_ctc'] = F.ctc_loss(ctc_in, sample['phones'], sample['lengths'], sample['phone_lengths'],
                                      blank=0, zero_infinity=True) * self.hp['lambda_ctc']

    def add_bd_loss(self, out, sample, losses):
        bce = F.binary_cross_entropy_with_logits(out['ph_bd_logits'], sample['bd'], reduction='none',
                                                 pos_weight=torch.tensor(self.hp['bd_pos_weight']))
        losses['ph_bd'] = (bce * out['nonpad']).sum() / out['nonpad'].sum() * self.hp['lambda_bd']

    def training_step(self, sample):
        self.model.train()
        losses = {}
        out = self.model(sample['mel'], sample['lengths'])
        self.add_ph_losses(out, sample, losses)
        self.add_bd_loss(out, sample, losses)
        total = sum(losses.values())
        self.optimizer.zero_grad()
        total.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), self.hp['clip'])
        self.optimizer.step()
        self.scheduler.step()
        return {k: round(v.item(), 4) for k, v in losses.items()}

    @torch.no_grad()
    def validate(self, sample):
        self.model.eval()
        out = self.model(sample['mel'], sample['lengths'])
        hit = (out['ph_frame_logits'].argmax(-1) == sample['frame_ph']).float() * out['nonpad']
        return (hit.sum() / out['nonpad'].sum()).item()


if __name__ == '__main__':
    torch.manual_seed(4)
    task, train_data, valid_data = AlignTask(HPARAMS), SingingData(HPARAMS, 1), SingingData(HPARAMS, 2)
    valid = valid_data.sample()
    for step in range(1, HPARAMS['steps'] + 1):
        log = task.training_step(train_data.sample())
        if step % 20 == 0:
            print('step', step, log, 'frame acc %.3f' % task.validate(valid))
