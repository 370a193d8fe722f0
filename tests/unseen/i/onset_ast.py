"""WRONG. split_train_loss0 becomes nan in the middle of training and stays so.
TRUTH: a sample without an onset frame has torch.sum(on_weight) == 0 and the weighted mean is 0 / 0; add a small epsilon to the denominator.
THREAD: https://github.com/york135/CTC_CE_for_AST/issues/3
"""
import torch
import torch.nn as nn

torch.manual_seed(3)


class FrameNet(nn.Module):
    def __init__(self, n_bins=20, hidden=24, n_pitch=5):
        super().__init__()
        self.rnn = nn.GRU(n_bins, hidden, batch_first=True, bidirectional=True)
        self.onset = nn.Linear(hidden * 2, 1)
        self.pitch = nn.Linear(hidden * 2, n_pitch)

    def forward(self, x):
        h, _ = self.rnn(x)
        return self.onset(h).squeeze(-1), self.pitch(h)


class AST_Model(object):
    def __init__(self):
        self.model = FrameNet()
        self.onset_criterion = nn.BCEWithLogitsLoss(reduction='none')
        self.pitch_criterion = nn.CrossEntropyLoss()
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=3e-3)

    def weights(self, onset_prob):
        """look only at the neighbourhood of the annotated onsets"""
        near = torch.nn.functional.max_pool1d(onset_prob.unsqueeze(1), 5, 1, 2).squeeze(1)
        return near * (1.0 + 2.0 * onset_prob)

    def compute_loss(self, x, onset_prob, pitch):
        onset_logits, pitch_logits = self.model(x)
        on_weight = self.weights(onset_prob)
        split_train_loss0 = torch.dot(self.onset_criterion(onset_logits, onset_prob)[0], on_weight[0]) \
            / torch.sum(on_weight)  # CULPRIT
        split_train_loss1 = self.pitch_criterion(pitch_logits.permute(0, 2, 1), pitch)
        return split_train_loss0, split_train_loss1

    def fit(self, songs, epochs):
        for epoch in range(epochs):
            total0, total1 = 0.0, 0.0
            for x, onset_prob, pitch in songs:
                loss0, loss1 = self.compute_loss(x, onset_prob, pitch)
                loss = loss0 + loss1
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                total0 += loss0.item()
                total1 += loss1.item()
            print('epoch %d  split_train_loss %.4f %.4f' % (epoch, total0 / len(songs), total1 / len(songs)))


def make_song(T=32, n_bins=20):
    pitch = torch.zeros(1, T, dtype=torch.long)
    onset = torch.zeros(1, T)
    cur = int(torch.randint(0, 5, (1,)))
    for t in range(T):
        if torch.rand(1) < 0.09:
            cur = (cur + int(torch.randint(1, 5, (1,)))) % 5
            onset[0, t] = 1.0
        pitch[0, t] = cur
    x = 0.3 * torch.randn(1, T, n_bins)
    for k in range(4):
        x[0, torch.arange(T), pitch[0] + 5 * k] += 1.0
    return x, onset, pitch


if __name__ == '__main__':
    songs = [make_song() for _ in range(40)]
    ast = AST_Model()
    ast.fit(songs, 6)
