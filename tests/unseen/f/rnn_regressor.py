"""What the user sees: RuntimeError: Trying to backward through the graph a second time (or directly access saved tensors
after they have already been freed) in the second step. With retain_graph=True it becomes slower and slower.

TRUTH: h_state of the last step is fed to the next one with its whole history. Fix: h_state = h_state.data /
h_state.detach() after (or before) each step.
THREAD: https://github.com/MorvanZhou/PyTorch-Tutorial/issues/57 "403: question about h_state = h_state.data"
"""
import numpy as np
import torch
from torch import nn

torch.manual_seed(1)

TIME_STEP = 10
INPUT_SIZE = 1
LR = 0.02


class RNN(nn.Module):
    def __init__(self):
        super(RNN, self).__init__()

        self.rnn = nn.RNN(
            input_size=INPUT_SIZE,
            hidden_size=32,
            num_layers=1,
            batch_first=True,
        )
        self.out = nn.Linear(32, 1)

    def forward(self, x, h_state):
        # x (batch, time_step, input_size)
        # h_state (n_layers, batch, hidden_size)
        # r_out (batch, time_step, hidden_size)
        r_out, h_state = self.rnn(x, h_state)

        outs = []
        for time_step in range(r_out.size(1)):
            outs.append(self.out(r_out[:, time_step, :]))
        return torch.stack(outs, dim=1), h_state


def wave(step):
    start, end = step * np.pi, (step + 1) * np.pi
    steps = np.linspace(start, end, TIME_STEP, dtype=np.float32, endpoint=False)
    x = torch.from_numpy(np.sin(steps)[np.newaxis, :, np.newaxis])
    y = torch.from_numpy(np.cos(steps)[np.newaxis, :, np.newaxis])
    return x, y


def fit(rnn, n_steps=100):
    optimizer = torch.optim.Adam(rnn.parameters(), lr=LR)
    loss_func = nn.MSELoss()
    h_state = None      # for initial hidden state

    for step in range(n_steps):
        x, y = wave(step)
        prediction, h_state = rnn(x, h_state)  # CULPRIT
        loss = loss_func(prediction, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print('step', step, 'loss', loss.item())


if __name__ == '__main__':
    rnn = RNN()
    print(rnn)
    fit(rnn)
