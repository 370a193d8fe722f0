"""HHTseng/video-classification#42
Symptom: the ResNet-CRNN cannot exploit the temporal order of the video; classes that only differ in the direction of motion stay at chance.
EXPECT: runs
TRUTH: the LSTM gets (batch, time, features) but is not batch_first, so it runs over the batch; set batch_first=True.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class MovingBar(Dataset):
    def __init__(self, n, frames=8, size=12, seed=0):
        g = torch.Generator().manual_seed(seed)
        self.X = torch.zeros(n, frames, 1, size, size)
        self.y = torch.randint(0, 2, (n,), generator=g)
        start = torch.randint(0, size, (n,), generator=g)
        for t in range(frames):
            pos = (start + torch.where(self.y == 1, t, -t)) % size
            self.X[torch.arange(n), t, 0, :, pos] = 1.0
        self.X += 0.1 * torch.randn(self.X.shape, generator=g)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.X[i], self.y[i]


class EncoderCNN(nn.Module):
    def __init__(self, embed_dim=24):
        super().__init__()
        self.conv1 = nn.Sequential(nn.Conv2d(1, 6, 3, padding=1), nn.ReLU(), nn.MaxPool2d((3, 1)))
        self.fc1 = nn.Linear(6 * 4 * 12, embed_dim)

    def forward(self, x_3d):
        cnn_embed_seq = []
        for t in range(x_3d.size(1)):
            x = self.conv1(x_3d[:, t])
            cnn_embed_seq.append(F.relu(self.fc1(x.flatten(1))))
        return torch.stack(cnn_embed_seq, dim=0).transpose_(0, 1)


class DecoderRNN(nn.Module):
    def __init__(self, embed_dim=24, h_RNN=32, num_classes=2, drop_p=0.1):
        super().__init__()
        self.drop_p = drop_p
        self.LSTM = nn.LSTM(input_size=embed_dim, hidden_size=h_RNN, num_layers=1)  # CULPRIT
        self.fc1 = nn.Linear(h_RNN, 24)
        self.fc2 = nn.Linear(24, num_classes)

    def forward(self, x_RNN):
        RNN_out, (h_n, h_c) = self.LSTM(x_RNN, None)
        x = F.relu(self.fc1(RNN_out[:, -1, :]))
        x = F.dropout(x, p=self.drop_p, training=self.training)
        return self.fc2(x)


def validation(model, loader):
    cnn_encoder, rnn_decoder = model
    cnn_encoder.eval()
    rnn_decoder.eval()
    correct = total = 0
    with torch.no_grad():
        for X, y in loader:
            correct += (rnn_decoder(cnn_encoder(X)).argmax(1) == y).sum().item()
            total += len(y)
    return correct / total


def train(model, train_loader, test_loader, epochs):
    cnn_encoder, rnn_decoder = model
    crnn_params = list(cnn_encoder.parameters()) + list(rnn_decoder.parameters())
    optimizer = torch.optim.Adam(crnn_params, lr=4e-3)
    for epoch in range(epochs):
        cnn_encoder.train()
        rnn_decoder.train()
        losses = []
        for X, y in train_loader:
            optimizer.zero_grad()
            output = rnn_decoder(cnn_encoder(X))
            loss = F.cross_entropy(output, y)
            losses.append(loss.item())
            loss.backward()
            optimizer.step()
        print("Epoch %d  train loss %.4f  test acc %.3f" % (epoch + 1, sum(losses) / len(losses), validation(model, test_loader)))


if __name__ == "__main__":
    torch.manual_seed(0)
    torch.set_num_threads(1)
    train_loader = DataLoader(MovingBar(480, seed=1), batch_size=30, shuffle=True)
    test_loader = DataLoader(MovingBar(200, seed=2), batch_size=50)
    train([EncoderCNN(), DecoderRNN()], train_loader, test_loader, epochs=12)
