"""WRONG. The deep semantic similarity model trains, but its loss creeps and stays high although the clicked document is easy to tell from the four others.
TRUTH: the model ends with a softmax and CrossEntropyLoss applies log_softmax again; give the raw gamma-scaled similarities to the criterion.
THREAD: https://github.com/nishnik/Deep-Semantic-Similarity-Model-PyTorch/issues/2
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
LETTER_GRAM_SIZE = 3
TOTAL_LETTER_GRAMS = 30
K = 24
L = 12
J = 4


class CDSSM(nn.Module):
    def __init__(self):
        super().__init__()
        self.query_conv = nn.Conv1d(TOTAL_LETTER_GRAMS, K, LETTER_GRAM_SIZE)
        self.query_sem = nn.Linear(K, L)
        self.doc_conv = nn.Conv1d(TOTAL_LETTER_GRAMS, K, LETTER_GRAM_SIZE)
        self.doc_sem = nn.Linear(K, L)
        self.learn_gamma = nn.Conv1d(1, 1, 1)

    def embed(self, x, conv, sem):
        x = torch.tanh(conv(x))
        x = x.max(dim=2)[0]
        return torch.tanh(sem(x))

    def forward(self, q, pos, negs):
        q_s = self.embed(q, self.query_conv, self.query_sem)
        docs = [self.embed(d, self.doc_conv, self.doc_sem) for d in [pos] + negs]
        dots = torch.stack([F.cosine_similarity(q_s, d) for d in docs], dim=1)
        with_gamma = self.learn_gamma(dots.unsqueeze(1)).squeeze(1)
        prob = F.softmax(with_gamma, dim=1)  # CULPRIT
        return prob


def bags(topic, words=7):
    n = topic.size(0)
    x = torch.zeros(n, TOTAL_LETTER_GRAMS, words)
    for w in range(words):
        gram = (topic * 5 + torch.randint(0, 5, (n,))) % TOTAL_LETTER_GRAMS
        x[torch.arange(n), gram, w] = 1.0
        noise = torch.randint(0, TOTAL_LETTER_GRAMS, (n,))
        x[torch.arange(n), noise, w] += 0.5
    return x


def click_log(n):
    topic = torch.randint(0, 6, (n,))
    negs = [(topic + 1 + torch.randint(0, 5, (n,))) % 6 for _ in range(J)]
    return bags(topic), bags(topic), [bags(t) for t in negs]


model = CDSSM()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
for epoch in range(12):
    epoch_loss = 0
    hits = 0
    for i in range(20):
        q, pos, negs = click_log(32)
        y_pred = model(q, pos, negs)
        y = torch.zeros(32, dtype=torch.long)
        loss = criterion(y_pred, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        epoch_loss += loss.item()
        hits += (y_pred.argmax(1) == 0).sum().item()
    if epoch % 3 == 2:
        print('epoch %d loss %.4f hit rate %.3f gamma %.3f' % (
            epoch, epoch_loss / 20, hits / 640, model.learn_gamma.weight.item()))
