"""WRONG. After swapping the hand-written update for optimizer.step() the loss is big, flows up and down and does not diminish.
TRUTH: The model is instantiated twice and the optimizer was built on the first instance, so the network that is trained never gets a step; build the optimizer after the second instantiation.
THREAD: https://github.com/spro/practical-pytorch/issues/9
"""
import random
import string

import torch
import torch.nn as nn

torch.manual_seed(1)
random.seed(1)

all_letters = string.ascii_lowercase + "'"
n_letters = len(all_letters)

endings = {
    'Russian': ['ov', 'sky', 'in'],
    'Italian': ['ini', 'etti', 'ollo'],
    'Irish': ["o'b", 'kelly', 'agh'],
    'Polish': ['wicz', 'czak', 'ska'],
}
all_categories = sorted(endings)
n_categories = len(all_categories)


def make_name(category):
    stem = ''.join(random.choice('aeioubdglmnrst') for _ in range(random.randint(2, 4)))
    return stem + random.choice(endings[category])


category_lines = {c: [make_name(c) for _ in range(200)] for c in all_categories}


def letter_to_index(letter):
    return all_letters.find(letter)


def line_to_tensor(line):
    tensor = torch.zeros(len(line), 1, n_letters)
    for li, letter in enumerate(line):
        tensor[li][0][letter_to_index(letter)] = 1
    return tensor


class RNN(nn.Module):
    def __init__(self, input_size, hidden_size, output_size):
        super(RNN, self).__init__()
        self.hidden_size = hidden_size
        self.i2h = nn.Linear(input_size + hidden_size, hidden_size)
        self.i2o = nn.Linear(input_size + hidden_size, output_size)
        self.softmax = nn.LogSoftmax(dim=1)

    def forward(self, input, hidden):
        combined = torch.cat((input, hidden), 1)
        hidden = torch.tanh(self.i2h(combined))
        output = self.softmax(self.i2o(combined))
        return output, hidden

    def init_hidden(self):
        return torch.zeros(1, self.hidden_size)


n_hidden = 64
rnn = RNN(n_letters, n_hidden, n_categories)
output, next_hidden = rnn(line_to_tensor('albert')[0], rnn.init_hidden())
print('untrained guess', all_categories[output.argmax(1).item()])

criterion = nn.NLLLoss()
learning_rate = 0.02
optimizer = torch.optim.SGD(rnn.parameters(), lr=learning_rate)  # CULPRIT


def random_training_pair():
    category = random.choice(all_categories)
    line = random.choice(category_lines[category])
    category_tensor = torch.tensor([all_categories.index(category)])
    return category, line, category_tensor, line_to_tensor(line)


def train(category_tensor, line_tensor):
    rnn.zero_grad()
    hidden = rnn.init_hidden()
    for i in range(line_tensor.size()[0]):
        output, hidden = rnn(line_tensor[i], hidden)
    loss = criterion(output, category_tensor)
    loss.backward()
    optimizer.step()
    return output, loss.item()


n_epochs = 3000
print_every = 500
current_loss = 0

rnn = RNN(n_letters, n_hidden, n_categories)  # CULPRIT

for epoch in range(1, n_epochs + 1):
    category, line, category_tensor, line_tensor = random_training_pair()
    output, loss = train(category_tensor, line_tensor)
    current_loss += loss
    if epoch % print_every == 0:
        guess = all_categories[output.argmax(1).item()]
        print('%d %d%% %.4f  %s / %s' % (epoch, epoch / n_epochs * 100,
                                         current_loss / print_every, line, guess))
        current_loss = 0
