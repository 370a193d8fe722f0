"""WRONG. A reader of the code asks why the CRF and fc layers, for which a group with its own learning rate is prepared, can be trained at all; they cannot.
TRUTH: the third parameter group (crf, fc) is filled but never appended to the list given to AdamW; add parameters.append(params) before the optimizer is made.
THREAD: https://github.com/zjunlp/HVPNeT/issues/5
"""
import torch
from torch import nn, optim
from torch.nn.utils.rnn import pad_sequence

PAD, N_WORDS, N_TAGS = 0, 60, 4


class LinearChainCRF(nn.Module):
    def __init__(self, num_tags):
        super().__init__()
        self.start = nn.Parameter(torch.zeros(num_tags))
        self.trans = nn.Parameter(torch.zeros(num_tags, num_tags))

    def forward(self, emissions, tags, mask):
        B, T, K = emissions.shape
        ar = torch.arange(B)
        score = self.start[tags[:, 0]] + emissions[ar, 0, tags[:, 0]]
        alpha = self.start + emissions[:, 0]
        for t in range(1, T):
            m = mask[:, t]
            step = self.trans[tags[:, t - 1], tags[:, t]] + emissions[ar, t, tags[:, t]]
            score = score + step * m
            nxt = torch.logsumexp(alpha.unsqueeze(2) + self.trans, dim=1) + emissions[:, t]
            alpha = torch.where(m.bool().unsqueeze(1), nxt, alpha)
        return (torch.logsumexp(alpha, 1) - score).mean()

    @torch.no_grad()
    def decode(self, emissions):
        paths = []
        for e in emissions:
            v, back = self.start + e[0], []
            for t in range(1, len(e)):
                best, idx = (v.unsqueeze(1) + self.trans).max(0)
                v = best + e[t]
                back.append(idx)
            cur = int(v.argmax())
            path = [cur]
            for idx in reversed(back):
                cur = int(idx[cur])
                path.append(cur)
            paths.append(path[::-1])
        return torch.tensor(paths)


class HMNeTNERModel(nn.Module):
    def __init__(self, hidden=24, prompt_len=3):
        super().__init__()
        self.bert = nn.Module()
        self.bert.embed = nn.Embedding(N_WORDS, hidden, padding_idx=PAD)
        self.bert.encoder = nn.GRU(hidden, hidden // 2, batch_first=True, bidirectional=True)
        self.encoder_conv = nn.Sequential(nn.Linear(5, hidden), nn.Tanh(), nn.Linear(hidden, hidden))
        self.gates = nn.ModuleList([nn.Linear(hidden, hidden)])
        self.fc = nn.Linear(hidden, N_TAGS)
        self.crf = LinearChainCRF(N_TAGS)
        self.dropout = nn.Dropout(0.1)

    def forward(self, ids, mask, image, labels=None):
        h, _ = self.bert.encoder(self.bert.embed(ids))
        prompt = self.encoder_conv(image).unsqueeze(1)
        h = h + torch.sigmoid(self.gates[0](h)) * prompt
        emissions = self.fc(self.dropout(h))
        if labels is None:
            return self.crf.decode(emissions)
        return self.crf(emissions, labels, mask)


class NERTrainer(object):
    def __init__(self, model, train_data, dev_data, lr=2e-3, crf_lr=5e-2, epochs=6, batch_size=20):
        self.model, self.train_data, self.dev_data = model, train_data, dev_data
        self.lr, self.crf_lr, self.epochs, self.batch_size = lr, crf_lr, epochs, batch_size
        self.multimodal_before_train()

    def multimodal_before_train(self):
        parameters = []
        params = {'lr': self.lr, 'weight_decay': 1e-2}
        params['params'] = []
        for name, param in self.model.named_parameters():
            if 'bert' in name:
                params['params'].append(param)
        parameters.append(params)

        params = {'lr': self.lr, 'weight_decay': 1e-2}
        params['params'] = []
        for name, param in self.model.named_parameters():
            if 'encoder_conv' in name or 'gates' in name:
                params['params'].append(param)
        parameters.append(params)

        params = {'lr': self.crf_lr, 'weight_decay': 1e-2}
        params['params'] = []
        for name, param in self.model.named_parameters():
            if 'crf' in name or name.startswith('fc'):
                params['params'].append(param)
        self.optimizer = optim.AdamW(parameters)  # CULPRIT
        steps = self.epochs * (len(self.train_data) // self.batch_size)
        self.scheduler = optim.lr_scheduler.LambdaLR(self.optimizer, lambda s: max(0.0, 1 - s / steps))

    def collate(self, rows):
        ids = pad_sequence([r[0] for r in rows], batch_first=True, padding_value=PAD)
        tags = pad_sequence([r[1] for r in rows], batch_first=True, padding_value=0)
        return ids, tags, (ids != PAD).float(), torch.stack([r[2] for r in rows])

    def train(self):
        for epoch in range(1, self.epochs + 1):
            self.model.train()
            avg, order = 0.0, torch.randperm(len(self.train_data)).tolist()
            n = len(order) // self.batch_size
            for b in range(n):
                ids, tags, mask, img = self.collate([self.train_data[i] for i in order[b * self.batch_size:(b + 1) * self.batch_size]])
                loss = self.model(ids, mask, img, labels=tags)
                avg += loss.detach().item()
                loss.backward()
                self.optimizer.step()
                self.scheduler.step()
                self.model.zero_grad()
            print('epoch %d loss %.4f dev acc %.3f' % (epoch, avg / n, self.evaluate()))

    def evaluate(self):
        self.model.eval()
        with torch.no_grad():
            ids, tags, mask, img = self.collate(self.dev_data)
            return float((((self.model(ids, mask, img) == tags).float() * mask).sum() / mask.sum()))


def sentences(n, g):
    rows = []
    for _ in range(n):
        ids = torch.randint(1, N_WORDS, (7,), generator=g)
        tags = ids % 3
        follow = torch.cat([torch.zeros(1, dtype=torch.bool), tags[:-1] == 2])
        rows.append((ids, torch.where(follow, torch.tensor(3), tags), torch.randn(5, generator=g)))
    return rows


if __name__ == '__main__':
    torch.manual_seed(0)
    gen = torch.Generator().manual_seed(0)
    NERTrainer(HMNeTNERModel(), sentences(300, gen), sentences(80, gen)).train()
