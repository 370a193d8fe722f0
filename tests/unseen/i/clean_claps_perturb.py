"""CORRECT. Contrastive learning with adversarial perturbations of hidden states: a backward on a detached copy only to read its grad (asked about the detach of dec_hiddens.grad: superfluous but harmless), zero_grad, then the real loss.
THREAD: https://github.com/seanie12/CLAPS/issues/3
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
VOCAB, DIM, LEN = 12, 32, 6


class Summarizer(nn.Module):
    def __init__(self, neg_eps=1.0, tau=0.2):
        super().__init__()
        self.embed = nn.Embedding(VOCAB + 1, DIM)
        self.encoder = nn.GRU(DIM, DIM, batch_first=True)
        self.decoder = nn.GRU(DIM, DIM, batch_first=True)
        self.lm_head = nn.Linear(DIM, VOCAB)
        self.projection = nn.Sequential(nn.Linear(DIM, DIM), nn.ReLU())
        self.neg_eps, self.tau = neg_eps, tau

    def lm_loss(self, hidden, labels):
        return F.cross_entropy(self.lm_head(hidden).reshape(-1, VOCAB), labels.reshape(-1))

    def forward(self, input_ids, labels, adv=True):
        enc, state = self.encoder(self.embed(input_ids))
        bos = torch.full_like(labels[:, :1], VOCAB)
        dec_hiddens, _ = self.decoder(self.embed(torch.cat([bos, labels[:, :-1]], 1)), state)
        nll = self.lm_loss(dec_hiddens, labels)
        if not adv:
            return nll, torch.zeros(())
        proj_enc = self.projection(enc.mean(1))
        proj_dec = self.projection(dec_hiddens.mean(1))
        perturbed = self.generate_adv(dec_hiddens, labels)
        proj_neg = self.projection(perturbed.mean(1))

        sim = F.cosine_similarity(proj_enc.unsqueeze(1), proj_dec.unsqueeze(0), dim=-1)
        neg = F.cosine_similarity(proj_enc, proj_neg, dim=-1).unsqueeze(1)
        logits = torch.cat([sim, neg], dim=1) / self.tau
        cont_loss = F.cross_entropy(logits, torch.arange(len(logits)))
        return nll, cont_loss

    def generate_adv(self, dec_hiddens, lm_labels):
        dec_hiddens = dec_hiddens.detach()
        dec_hiddens.requires_grad = True
        loss = self.lm_loss(dec_hiddens, lm_labels)
        loss.backward()
        dec_grad = dec_hiddens.grad.detach()
        l2_norm = torch.norm(dec_grad, dim=-1)
        dec_grad /= (l2_norm.unsqueeze(-1) + 1e-12)
        perturbed_dec = dec_hiddens + self.neg_eps * dec_grad.detach()
        self.zero_grad()
        return perturbed_dec.detach()


def documents(n):
    ids = torch.randint(0, VOCAB, (n, LEN))
    return ids, (ids + 1) % VOCAB


model = Summarizer()
optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
for step in range(400):
    model.train()
    ids, labels = documents(32)
    optimizer.zero_grad()
    nll, cont_loss = model(ids, labels)
    loss = nll + 0.3 * cont_loss
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    if step % 100 == 99:
        print('step %d nll %.4f contrastive %.4f' % (step + 1, nll.item(), cont_loss.item()))
