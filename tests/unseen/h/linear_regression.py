"""WRONG. The one-layer linear regression never converges, the training loss oscillates in the range of hundreds of thousands.
TRUTH: x.squeeze() is not in place and its result is dropped, so the output is (bs, 1) while the target is (bs,), and the loss broadcasts to (bs, bs); write x = x.squeeze().
THREAD: https://discuss.pytorch.org/t/why-the-model-fail-to-converge-without-a-manul-weight-initialization/50431
"""
import numpy as np
import torch

torch.manual_seed(0)
np.random.seed(0)


class Net(torch.nn.Module):

    def __init__(self, input_dim, output_dim):
        super(Net, self).__init__()
        self.layer1 = torch.nn.Linear(input_dim, output_dim, bias=False)

    def forward(self, x):
        x = self.layer1(x)
        x.squeeze()  # CULPRIT
        return x


# generate data using the linear regression setup y = 5 * x1 + 3 * x2

sample_size = 10000
input_dim = 2
output_dim = 1
epoch = 30
bs = 100

data = np.random.randn(sample_size, 3)
data[:, :2] = data[:, :2] * 100
# add a normal noise term
data[:, 2] = 5 * data[:, 0] + 3 * data[:, 1] + np.random.randn(sample_size)
data = torch.Tensor(data)
train_x = data[:, :input_dim]
train_y = data[:, input_dim]


def batches(x, y, batch_size):
    order = torch.randperm(len(x))
    for start in range(0, len(x), batch_size):
        index = order[start:start + batch_size]
        yield x[index], y[index]


def evaluate(net, x, y):
    with torch.no_grad():
        prediction = net(x[:1000])
        residual = prediction.view(-1) - y[:1000]
        return residual.abs().mean().item()


net = Net(input_dim, output_dim)
net.zero_grad()
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
criterion = torch.nn.MSELoss()

history = []
for e in range(epoch):
    total_loss = 0
    n_batches = 0
    for batch_x, batch_y in batches(train_x, train_y, bs):
        optimizer.zero_grad()
        output = net(batch_x)
        loss = criterion(output, batch_y)
        loss.backward()
        optimizer.step()
        total_loss += loss.item()
        n_batches += 1
    history.append(total_loss / n_batches)
    if e % 5 == 4:
        w = net.layer1.weight.data.view(-1).tolist()
        print('epoch %d loss %.3f weights %.3f %.3f mean error %.3f' % (
            e, history[-1], w[0], w[1], evaluate(net, train_x, train_y)))

print('best loss %.3f' % min(history))
