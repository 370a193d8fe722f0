"""WRONG. The attention weights of the InteractingLayer do not sum to one over the fields; AutoInt gets stuck below what it should reach.
TRUTH: the inner product has the shape (head_num, batch, field, field) and softmax is taken with dim=1, the batch; it must be the last axis, dim=-1.
THREAD: https://github.com/shenweichen/DeepCTR-Torch/issues/63
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class InteractingLayer(nn.Module):
    def __init__(self, in_features, att_embedding_size=8, head_num=2, use_res=True):
        super().__init__()
        self.head_num = head_num
        self.use_res = use_res
        self.W_Query = nn.Parameter(torch.Tensor(in_features, att_embedding_size * head_num))
        self.W_key = nn.Parameter(torch.Tensor(in_features, att_embedding_size * head_num))
        self.W_Value = nn.Parameter(torch.Tensor(in_features, att_embedding_size * head_num))
        if self.use_res:
            self.W_Res = nn.Parameter(torch.Tensor(in_features, att_embedding_size * head_num))
        for tensor in self.parameters():
            nn.init.normal_(tensor, mean=0.0, std=0.3)

    def forward(self, inputs):
        querys = torch.tensordot(inputs, self.W_Query, dims=([-1], [0]))
        keys = torch.tensordot(inputs, self.W_key, dims=([-1], [0]))
        values = torch.tensordot(inputs, self.W_Value, dims=([-1], [0]))
        querys = torch.stack(torch.chunk(querys, self.head_num, dim=2))
        keys = torch.stack(torch.chunk(keys, self.head_num, dim=2))
        values = torch.stack(torch.chunk(values, self.head_num, dim=2))
        inner_product = torch.einsum('bnik,bnjk->bnij', querys, keys)
        self.normalized_att_scores = F.softmax(inner_product, dim=1)  # CULPRIT
        result = torch.matmul(self.normalized_att_scores, values)
        result = torch.cat(torch.chunk(result, self.head_num), dim=-1).squeeze(0)
        if self.use_res:
            result = result + torch.tensordot(inputs, self.W_Res, dims=([-1], [0]))
        return F.relu(result)


class AutoInt(nn.Module):
    def __init__(self, n_fields=6, vocab=10, emb=16, att_layer_num=2):
        super().__init__()
        self.n_fields = n_fields
        self.embedding = nn.Embedding(n_fields * vocab, emb)
        nn.init.normal_(self.embedding.weight, std=0.5)
        self.register_buffer('offset', torch.arange(n_fields) * vocab)
        self.int_layers = nn.ModuleList([InteractingLayer(emb) for _ in range(att_layer_num)])
        self.dnn_linear = nn.Linear(16 * n_fields, 1, bias=False)

    def forward(self, X):
        att_input = self.embedding(X + self.offset)
        for layer in self.int_layers:
            att_input = layer(att_input)
        logit = self.dnn_linear(torch.flatten(att_input, start_dim=1))
        return torch.sigmoid(logit).squeeze(1)


def make_clicks(n):
    X = torch.randint(0, 10, (n, 6))
    hit = (X[:, 0] % 2 == 0) ^ (X[:, 2] > 4)
    return X, hit.float()


X, y = make_clicks(2048)
model = AutoInt()
optim = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(20):
    perm = torch.randperm(len(X))
    total_loss = 0
    for i in range(0, len(X), 128):
        idx = perm[i:i + 128]
        y_pred = model(X[idx])
        loss = F.binary_cross_entropy(y_pred, y[idx], reduction='sum')
        optim.zero_grad()
        loss.backward()
        optim.step()
        total_loss += loss.item()
    if epoch % 4 == 3:
        print('Epoch %d loss %.4f' % (epoch + 1, total_loss / len(X)))

Xt, yt = make_clicks(1000)
with torch.no_grad():
    acc = ((model(Xt[:128]) > 0.5) == (yt[:128] > 0.5)).float().mean()
    att = model.int_layers[0].normalized_att_scores
print('test acc %.3f, attention sum over fields %.3f' % (acc, att.sum(-1).mean()))
