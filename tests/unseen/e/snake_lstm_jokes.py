"""closeheat/pytorch-lstm-text-generation-tutorial#3, "LSTM input tensor and initial state dimensions"
Symptom: no runtime error, but the network confuses the sequence length with the batch size and the generated text is poor.
EXPECT: runs
TRUTH: the input is (batch, sequence, features) but nn.LSTM is built with the default batch_first=False; pass batch_first=True.
"""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(14)
torch.set_num_threads(1)

NAMES = ["anna", "bert", "carl", "dora"]
VERBS = {"anna": "sings", "bert": "reads", "carl": "swims", "dora": "cooks"}
PLACES = {"sings": "here", "reads": "there", "swims": "outside", "cooks": "inside"}


class JokesDataset(Dataset):
    def __init__(self, n_sentences=400, sequence_length=6):
        order = torch.randint(0, len(NAMES), (n_sentences,)).tolist()
        self.words = []
        for k in order:
            name = NAMES[k]
            self.words += [name, "often", VERBS[name], "very", "well", PLACES[VERBS[name]]]
        self.uniq_words = sorted(set(self.words))
        index = {w: i for i, w in enumerate(self.uniq_words)}
        self.ids = torch.tensor([index[w] for w in self.words])
        self.sequence_length = sequence_length

    def __len__(self):
        return len(self.ids) - self.sequence_length

    def __getitem__(self, i):
        return self.ids[i:i + self.sequence_length], self.ids[i + 1:i + self.sequence_length + 1]


class Model(nn.Module):
    def __init__(self, n_vocab, lstm_size=32, embedding_dim=16, num_layers=1):
        super().__init__()
        self.embedding = nn.Embedding(n_vocab, embedding_dim)
        self.lstm = nn.LSTM(input_size=embedding_dim, hidden_size=lstm_size, num_layers=num_layers)  # CULPRIT
        self.fc = nn.Linear(lstm_size, n_vocab)

    def forward(self, x):
        embed = self.embedding(x)
        output, state = self.lstm(embed)
        return self.fc(output), state


def train(dataset, model, batch_size=32, max_epochs=6):
    loader = DataLoader(dataset, batch_size=batch_size, shuffle=True)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    model.train()
    for epoch in range(max_epochs):
        total = hits = count = 0
        for x, y in loader:
            optimizer.zero_grad()
            y_pred, _ = model(x)
            loss = criterion(y_pred.transpose(1, 2), y)
            loss.backward()
            optimizer.step()
            total += loss.item()
            hits += (y_pred.argmax(-1)[:, -1] == y[:, -1]).sum().item()
            count += len(x)
        print("epoch %d loss %.4f accuracy of the last word %.3f" % (epoch, total / len(loader), hits / count))


def predict(dataset, model, text, next_words=10):
    model.eval()
    words = text.split(" ")
    for _ in range(next_words):
        x = torch.tensor([[dataset.uniq_words.index(w) for w in words[-6:]]])
        with torch.no_grad():
            y_pred, _ = model(x)
        words.append(dataset.uniq_words[y_pred[0][-1].argmax().item()])
    return " ".join(words)


if __name__ == "__main__":
    dataset = JokesDataset()
    model = Model(len(dataset.uniq_words))
    train(dataset, model)
    print(predict(dataset, model, "carl often"))
