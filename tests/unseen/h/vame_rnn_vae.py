"""WRONG. When the scheduler option is turned off, the learning rate drops to 0 after the step size and the model stops improving.
TRUTH: With optimizer_scheduler off a StepLR with gamma=0 is built, which multiplies the rate with 0; gamma must be 1.
THREAD: https://github.com/LINCellularNeuroscience/VAME/issues/26
"""
import torch
import torch.nn as nn
from torch.optim.lr_scheduler import StepLR

torch.manual_seed(19)

cfg = {
    'batch_size': 64,
    'max_epochs': 12,
    'zdims': 6,
    'beta': 0.05,
    'time_window': 12,
    'num_features': 4,
    'learning_rate': 2e-3,
    'scheduler': 0,
    'scheduler_step_size': 3,
}


class Encoder(nn.Module):
    def __init__(self, num_features, hidden=32):
        super().__init__()
        self.encoder_rnn = nn.GRU(num_features, hidden, batch_first=True, bidirectional=True)

    def forward(self, inputs):
        _, hidden = self.encoder_rnn(inputs)
        return torch.cat((hidden[0], hidden[1]), 1)


class Lambda(nn.Module):
    def __init__(self, zdims, hidden=32):
        super().__init__()
        self.hidden_to_mean = nn.Linear(hidden * 2, zdims)
        self.hidden_to_logvar = nn.Linear(hidden * 2, zdims)

    def forward(self, cell_output):
        mean = self.hidden_to_mean(cell_output)
        logvar = self.hidden_to_logvar(cell_output)
        if self.training:
            std = (0.5 * logvar).exp()
            return torch.randn_like(std) * std + mean, mean, logvar
        return mean, mean, logvar


class Decoder(nn.Module):
    def __init__(self, time_window, zdims, num_features, hidden=32):
        super().__init__()
        self.time_window = time_window
        self.latent_to_hidden = nn.Linear(zdims, hidden)
        self.rnn_rec = nn.GRU(zdims, hidden, batch_first=True)
        self.hidden_to_output = nn.Linear(hidden, num_features)

    def forward(self, z):
        inputs = z.unsqueeze(1).repeat(1, self.time_window, 1)
        out, _ = self.rnn_rec(inputs, torch.tanh(self.latent_to_hidden(z)).unsqueeze(0))
        return self.hidden_to_output(out)


class RNN_VAE(nn.Module):
    def __init__(self, time_window, zdims, num_features):
        super().__init__()
        self.encoder = Encoder(num_features)
        self.lmbda = Lambda(zdims)
        self.decoder = Decoder(time_window, zdims, num_features)

    def forward(self, seq):
        z, mu, logvar = self.lmbda(self.encoder(seq))
        return self.decoder(z), mu, logvar


def reconstruction_loss(x, x_tilde):
    return ((x - x_tilde) ** 2).sum((1, 2)).mean()


def kullback_leibler_loss(mu, logvar):
    return -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp(), 1).mean()


def pose_sequences(n):
    t = torch.arange(cfg['time_window']).float()
    freq = 0.3 + torch.rand(n, 1)
    phase = 6.28 * torch.rand(n, 1)
    wave = torch.sin(freq * t + phase)
    mix = torch.linspace(-1, 1, cfg['num_features'])
    return wave.unsqueeze(-1) * mix + 0.05 * torch.randn(n, cfg['time_window'], cfg['num_features'])


def train_model(cfg):
    data = pose_sequences(1280)
    model = RNN_VAE(cfg['time_window'], cfg['zdims'], cfg['num_features'])
    optimizer = torch.optim.Adam(model.parameters(), lr=cfg['learning_rate'], amsgrad=True)

    if cfg['scheduler']:
        scheduler = StepLR(optimizer, step_size=cfg['scheduler_step_size'], gamma=0.2, last_epoch=-1)
    else:
        scheduler = StepLR(optimizer, step_size=cfg['scheduler_step_size'], gamma=0, last_epoch=-1)  # CULPRIT

    for epoch in range(1, cfg['max_epochs'] + 1):
        model.train()
        train_loss, mse_loss = 0.0, 0.0
        batches = data[torch.randperm(len(data))].split(cfg['batch_size'])
        for seq in batches:
            rec, mu, logvar = model(seq)
            rec_loss = reconstruction_loss(seq, rec)
            loss = rec_loss + cfg['beta'] * kullback_leibler_loss(mu, logvar)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), max_norm=5)
            optimizer.step()
            train_loss += loss.item()
            mse_loss += rec_loss.item()
        scheduler.step()
        if epoch % 3 == 0:
            print('Epoch: %d  Train loss: %.3f  MSE-Loss: %.3f' % (
                epoch, train_loss / len(batches), mse_loss / len(batches)))


train_model(cfg)
