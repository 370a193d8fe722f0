"""MorvanZhou/PyTorch-Tutorial#57
Symptom: "Trying to backward through the graph a second time" in the RNN regression; it vanishes with h_state = h_state.data. Why?
EXPECT: raises RuntimeError
TRUTH: the hidden state of the last step still carries the graph of that step, which backward() has freed; detach it before it is used again.
"""
import math

import torch
from torch import nn

TIME_STEP = 10
INPUT_SIZE = 1
LR = 0.02


class RNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.RNN(
            input_size=INPUT_SIZE,
            hidden_size=32,
            num_layers=1,
            batch_first=True,
        )
        self.out = nn.Linear(32, 1)

    def forward(self, x, h_state):
        r_out, h_state = self.rnn(x, h_state)
        outs = []
        for time_step in range(r_out.size(1)):
            outs.append(self.out(r_out[:, time_step, :]))
        return torch.stack(outs, dim=1), h_state


def segment(step):
    start, end = step * math.pi, (step + 1) * math.pi
    steps = torch.linspace(start, end, TIME_STEP)
    x = torch.sin(steps).view(1, TIME_STEP, 1)
    y = torch.cos(steps).view(1, TIME_STEP, 1)
    return x, y


def main():
    torch.manual_seed(1)
    torch.set_num_threads(1)
    rnn = RNN()
    optimizer = torch.optim.Adam(rnn.parameters(), lr=LR)
    loss_func = nn.MSELoss()
    h_state = None
    for step in range(120):
        x, y = segment(step)
        prediction, h_state = rnn(x, h_state)  # CULPRIT
        loss = loss_func(prediction, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 20 == 0:
            print("step %3d  loss %.4f" % (step, loss.item()))


if __name__ == "__main__":
    main()
