"""WRONG. run_training_lstm breaks at loss.backward() of the second batch: Trying to backward through the graph a second time; with retain_graph=True it runs out of memory.
TRUTH: forward hands the stored hidden state of the previous batch to the LSTM, which ties every batch to the graph of the one before; do not pass it (self.lstm(x)).
THREAD: https://github.com/sgadgil6/cnslab_fmri/issues/4
"""
import torch
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(0)
device = torch.device('cpu')


class fMRI_LSTM(nn.Module):
    def __init__(self, hidden_dim, input_dim, batch_size=64):
        super(fMRI_LSTM, self).__init__()
        self.hidden_dim = hidden_dim
        self.batch_size = batch_size
        self.lstm = nn.LSTM(input_dim, hidden_dim, num_layers=1, batch_first=True)
        self.linear = nn.Linear(hidden_dim, 1)
        self.hidden = self.init_hidden()
        self.dropout = nn.Dropout(p=0.2)
        self.activate = nn.Sigmoid()

    def init_hidden(self):
        return (torch.randn(1, self.batch_size, self.hidden_dim).to(device),
                torch.randn(1, self.batch_size, self.hidden_dim).to(device))

    def forward(self, x):
        lstm_out, self.hidden = self.lstm(x, self.hidden)  # CULPRIT
        lstm_out = lstm_out[:, -1, :]
        out = self.dropout(lstm_out)
        linear_output = self.linear(out)
        final_output = self.activate(linear_output)
        return final_output


def synthetic_scans(n, regions=12, frames=30):
    """two groups that differ in how strongly the regions oscillate together"""
    label = torch.randint(0, 2, (n, 1)).float()
    t = torch.arange(frames).float().view(1, frames, 1)
    phase = torch.rand(n, 1, 1) * 6.28
    common = torch.sin(0.5 * t + phase)
    x = torch.randn(n, frames, regions) * 0.7 + label.unsqueeze(-1) * common + 0.4 * label.unsqueeze(-1)
    return x, label


def accuracy(prob, label):
    return ((prob > 0.5).float() == label).float().mean().item()


def train_lstm(epochs=4):
    train_x, train_y = synthetic_scans(640)
    test_x, test_y = synthetic_scans(64)
    net = fMRI_LSTM(hidden_dim=32, input_dim=12).to(device)
    criterion = nn.BCELoss()
    optimizer = optim.Adam(net.parameters(), lr=0.01)
    for epoch in range(epochs):
        net.train()
        running_loss = 0.0
        for idx in range(0, 640, 64):
            inputs, labels = train_x[idx:idx + 64], train_y[idx:idx + 64]
            optimizer.zero_grad()
            outputs = net(inputs)
            loss = criterion(outputs, labels)
            loss.backward()
            optimizer.step()
            running_loss += loss.item()
        net.eval()
        with torch.no_grad():
            acc = accuracy(net(test_x), test_y)
        print('epoch %d loss %.4f test accuracy %.3f' % (epoch, running_loss / 10, acc))
    return net


if __name__ == '__main__':
    train_lstm()
