"""WRONG. The joint intent and slot model: the slot encoder behaves as if it had no memory of the sentence, the slot loss does not come down, and results depend on who else is in the batch.
TRUTH: the decoder LSTM gets inputs of shape [batch, 1, features] but was made without batch_first=True, so it runs over the batch as if it were the time.
THREAD: https://github.com/ray075hl/Bi-Model-Intent-And-Slot/pull/2
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
MAX_LEN, VOCAB, N_SLOT, HID = 10, 20, 4, 32


class slot_enc(nn.Module):
    def __init__(self, embedding_dim=16, lstm_hidden_size=HID):
        super().__init__()
        self.embedding = nn.Embedding(VOCAB, embedding_dim)
        self.conv = nn.Conv1d(embedding_dim, lstm_hidden_size, 3, padding=1)

    def forward(self, x):
        x = self.embedding(x).transpose(1, 2)
        return F.relu(self.conv(x)).transpose(1, 2)


class slot_dec(nn.Module):
    def __init__(self, lstm_hidden_size=HID, label_size=N_SLOT):
        super().__init__()
        self.lstm = nn.LSTM(input_size=16 + HID + label_size, hidden_size=lstm_hidden_size)  # CULPRIT
        self.fc = nn.Linear(lstm_hidden_size, label_size)
        self.embedding = nn.Embedding(VOCAB, 16)
        self.hidden_size = lstm_hidden_size

    def forward(self, words, hi):
        batch = words.size(0)
        x = torch.cat((self.embedding(words), hi), dim=-1)
        x = x.transpose(1, 0)
        all_out = []
        prev = torch.zeros(batch, 1, N_SLOT)
        state = None
        for i in range(MAX_LEN):
            inp = torch.cat((x[i].unsqueeze(1), prev), dim=-1)
            out, state = self.lstm(inp, state)
            res = self.fc(out)
            prev = F.softmax(res, dim=-1).detach()
            all_out.append(res)
        return torch.cat(all_out, dim=1)


class Intent(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(HID, 2)

    def forward(self, h):
        return self.fc(h.mean(dim=1))


def get_batch(batch):
    """the slot of a word is the number of trigger words before it (mod 4)"""
    words = torch.randint(0, VOCAB, (batch, MAX_LEN))
    slots = (words < 5).long().cumsum(1) % N_SLOT
    intent = ((words >= 15).sum(1) > 2).long()
    return words, slots, intent


enc, dec, intent_model = slot_enc(), slot_dec(), Intent()
params = list(enc.parameters()) + list(dec.parameters()) + list(intent_model.parameters())
optimizer = torch.optim.Adam(params, lr=5e-3)
for step in range(400):
    words, slots, intent = get_batch(16)
    hs = enc(words)
    slot_logits = dec(words, hs)
    slot_loss = F.cross_entropy(slot_logits.reshape(-1, N_SLOT), slots.reshape(-1))
    intent_loss = F.cross_entropy(intent_model(hs), intent)
    optimizer.zero_grad()
    (slot_loss + intent_loss).backward()
    torch.nn.utils.clip_grad_norm_(params, 1.0)
    optimizer.step()
    if step % 100 == 99:
        acc = (slot_logits.argmax(-1) == slots).float().mean()
        print('step %d slot loss %.4f acc %.3f intent loss %.4f' % (step, slot_loss.item(), acc, intent_loss.item()))
