"""timbmg/Sentence-VAE#15
Symptom: the code runs without problems, but with the bidirectional encoder reconstructions are bad; the dimensions of hidden seem mixed up.
EXPECT: runs
TRUTH: hidden is (directions, batch, hidden) also with batch_first, and view() mixes the samples; transpose(0, 1) before the reshape.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class SentenceVAE(nn.Module):
    def __init__(self, vocab_size, embedding_size, hidden_size, latent_size, bidirectional=True):
        super().__init__()
        self.latent_size = latent_size
        self.hidden_size = hidden_size
        self.hidden_factor = 2 if bidirectional else 1
        self.embedding = nn.Embedding(vocab_size, embedding_size)
        self.encoder_rnn = nn.GRU(embedding_size, hidden_size, bidirectional=bidirectional, batch_first=True)
        self.decoder_rnn = nn.GRU(embedding_size, hidden_size, batch_first=True)
        self.hidden2mean = nn.Linear(hidden_size * self.hidden_factor, latent_size)
        self.hidden2logv = nn.Linear(hidden_size * self.hidden_factor, latent_size)
        self.latent2hidden = nn.Linear(latent_size, hidden_size)
        self.outputs2vocab = nn.Linear(hidden_size, vocab_size)

    def forward(self, input_sequence, word_dropout=0.5):
        batch_size = input_sequence.size(0)
        _, hidden = self.encoder_rnn(self.embedding(input_sequence))
        hidden = hidden.view(batch_size, self.hidden_size * self.hidden_factor)  # CULPRIT

        mean = self.hidden2mean(hidden)
        logv = self.hidden2logv(hidden)
        std = torch.exp(0.5 * logv)
        z = torch.randn(batch_size, self.latent_size) * std + mean if self.training else mean

        decoder_input = F.pad(input_sequence[:, :-1], (1, 0), value=0)
        if self.training and word_dropout > 0:
            drop = torch.rand(decoder_input.shape) < word_dropout
            decoder_input = decoder_input.masked_fill(drop, 1)
        outputs, _ = self.decoder_rnn(self.embedding(decoder_input), self.latent2hidden(z).unsqueeze(0))
        logp = F.log_softmax(self.outputs2vocab(outputs), dim=-1)
        return logp, mean, logv


def loss_fn(NLL, logp, target, mean, logv, weight):
    NLL_loss = NLL(logp.flatten(0, 1), target.flatten())
    KL_loss = -0.5 * torch.sum(1 + logv - mean.pow(2) - logv.exp())
    return NLL_loss, weight * KL_loss


def make_sentences(n, vocab):
    starts = torch.randint(2, vocab, (n, 3))
    seq = torch.cat([starts, starts.flip(1)], dim=1)
    return TensorDataset(seq)


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    vocab, epochs = 16, 14
    train_loader = DataLoader(make_sentences(1600, vocab), batch_size=32, shuffle=True)
    valid_loader = DataLoader(make_sentences(320, vocab), batch_size=32)
    model = SentenceVAE(vocab, embedding_size=16, hidden_size=48, latent_size=12)
    NLL = nn.NLLLoss(reduction="sum")
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    for epoch in range(epochs):
        for split, loader in (("TRAIN", train_loader), ("VALID", valid_loader)):
            model.train(split == "TRAIN")
            nll, hits = 0.0, 0.0
            for (seq,) in loader:
                logp, mean, logv = model(seq)
                NLL_loss, KL_loss = loss_fn(NLL, logp, seq, mean, logv, weight=0.02)
                loss = (NLL_loss + KL_loss) / len(seq)
                if split == "TRAIN":
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
                nll += NLL_loss.item() / len(seq)
                hits += (logp.argmax(-1) == seq).float().mean().item()
            if epoch % 3 == 1:
                print("%s epoch %02d  nll %.3f  token accuracy %.3f" % (split, epoch, nll / len(loader), hits / len(loader)))


if __name__ == "__main__":
    main()
