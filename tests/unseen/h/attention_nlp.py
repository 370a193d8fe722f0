"""WRONG. The weights computed by the attention layer do not depend on the scores within one sentence; with batch size 1 they are always 1.
TRUTH: The scores, reshaped to (batch*output_len, query_len), are normalised with Softmax(dim=0), i.e. over the batch, instead of over the context positions; use dim=-1.
THREAD: https://github.com/PetrochukM/PyTorch-NLP/issues/2
"""
import torch
import torch.nn as nn

torch.manual_seed(0)


class Attention(nn.Module):
    """query (batch, output_len, dim), context (batch, query_len, dim)"""

    def __init__(self, dimensions, attention_type='general'):
        super(Attention, self).__init__()
        if attention_type not in ['dot', 'general']:
            raise ValueError('Invalid attention type selected.')
        self.attention_type = attention_type
        if self.attention_type == 'general':
            self.linear_in = nn.Linear(dimensions, dimensions, bias=False)
        self.linear_out = nn.Linear(dimensions * 2, dimensions, bias=False)
        self.softmax = nn.Softmax(dim=0)  # CULPRIT
        self.tanh = nn.Tanh()

    def forward(self, query, context):
        batch_size, output_len, dimensions = query.size()
        query_len = context.size(1)

        if self.attention_type == 'general':
            query = query.reshape(batch_size * output_len, dimensions)
            query = self.linear_in(query)
            query = query.reshape(batch_size, output_len, dimensions)

        attention_scores = torch.bmm(query, context.transpose(1, 2).contiguous())

        attention_scores = attention_scores.view(batch_size * output_len, query_len)
        attention_weights = self.softmax(attention_scores)
        attention_weights = attention_weights.view(batch_size, output_len, query_len)

        mix = torch.bmm(attention_weights, context)

        combined = torch.cat((mix, query), dim=2)
        combined = combined.view(batch_size * output_len, 2 * dimensions)
        output = self.linear_out(combined).view(batch_size, output_len, dimensions)
        output = self.tanh(output)
        return output, attention_weights


class Lookup(nn.Module):
    """answers 'which value belongs to this key' from a list of pairs"""

    def __init__(self, n_keys, n_values, dim):
        super().__init__()
        self.key_embedding = nn.Embedding(n_keys, dim)
        self.value_embedding = nn.Embedding(n_values, dim)
        self.attention = Attention(dim)
        self.out = nn.Linear(dim, n_values)

    def forward(self, keys, values, question):
        context = self.key_embedding(keys) + self.value_embedding(values)
        query = self.key_embedding(question).unsqueeze(1)
        output, weights = self.attention(query, context)
        return self.out(output.squeeze(1)), weights


n_keys, n_values, length = 6, 4, 4


def make_batch(n):
    keys = torch.stack([torch.randperm(n_keys)[:length] for _ in range(n)])
    values = torch.randint(0, n_values, (n, length))
    place = torch.randint(0, length, (n,))
    question = keys[torch.arange(n), place]
    answer = values[torch.arange(n), place]
    return keys, values, question, answer


model = Lookup(n_keys, n_values, 32)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
criterion = nn.CrossEntropyLoss()

running, hits = 0.0, 0
for step in range(1, 2501):
    keys, values, question, answer = make_batch(1)
    logits, weights = model(keys, values, question)
    loss = criterion(logits, answer)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    running += loss.item()
    hits += (logits.argmax(1) == answer).float().mean().item()
    if step % 500 == 0:
        print('step %d loss %.3f acc %.3f' % (step, running / 500, hits / 500))
        running, hits = 0.0, 0
