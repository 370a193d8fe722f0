"""MorvanZhou/PyTorch-Tutorial#57, "403: question about h_state = h_state.data"
Symptom: RuntimeError: Trying to backward through the graph a second time, at the second step.
EXPECT: raises RuntimeError
TRUTH: the hidden state is carried to the next step together with its graph; detach it after each step.
"""
import numpy as np
import torch
from torch import nn

torch.manual_seed(23)
torch.set_num_threads(1)

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
        r_out, h_state = self.rnn(x, h_state)
        outs = []
        for time_step in range(r_out.size(1)):
            outs.append(self.out(r_out[:, time_step, :]))
        return torch.stack(outs, dim=1), h_state


def main():
    rnn = RNN()
    optimizer = torch.optim.Adam(rnn.parameters(), lr=LR)
    loss_func = nn.MSELoss()
    h_state = None

    for step in range(100):
        start, end = step * np.pi, (step + 1) * np.pi
        steps = np.linspace(start, end, TIME_STEP, dtype=np.float32, endpoint=False)
        x = torch.from_numpy(np.sin(steps)[np.newaxis, :, np.newaxis])
        y = torch.from_numpy(np.cos(steps)[np.newaxis, :, np.newaxis])

        prediction, h_state = rnn(x, h_state)  # CULPRIT
        loss = loss_func(prediction, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 20 == 0:
            print("step %d loss %.4f" % (step, loss.item()))


if __name__ == "__main__":
    main()
