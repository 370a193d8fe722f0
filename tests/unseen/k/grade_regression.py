"""WRONG. Grading images from 0 to 4. loss.backward() raises "element 0 of tensors does not require grad and does not have
a grad_fn" although I never wrote no_grad in the training function and all parameters have requires_grad=True.
TRUTH: the loss gets hard grades: to_grade() ends in argmax, which has no gradient. Use a loss on the logits,
`nn.functional.cross_entropy(train_logits, y_train)` (or the expected grade `(softmax * GRADES).sum(1)`).
THREAD: https://php.bkmy88.com/faq/1835025.html
"""
import torch
from torch import nn

torch.manual_seed(0)

N_GRADES = 5
GRADES = torch.arange(N_GRADES, dtype=torch.float32)
Epochs = 60


class GraderV0(nn.Module):
    def __init__(self, in_features, hidden_units=16, out_features=N_GRADES):
        super().__init__()
        self.linear_layer_stack = nn.Sequential(
            nn.Linear(in_features, hidden_units),
            nn.LayerNorm(hidden_units),
            nn.ReLU(),
            nn.Linear(hidden_units, hidden_units),
            nn.ReLU(),
            nn.Linear(hidden_units, out_features),
        )

    def forward(self, x):
        return self.linear_layer_stack(x)


def to_grade(logits):
    return torch.softmax(logits, dim=1).argmax(dim=1).type(torch.float32)


def accuracy_fn(y_true, y_pred):
    correct = torch.eq(y_true.type(torch.float32), y_pred).sum().item()
    return correct / len(y_pred) * 100


def quadratic_kappa(y_true, y_pred):
    """Agreement of the grades, weighted with the squared distance."""
    w = (GRADES[:, None] - GRADES[None, :]) ** 2 / (N_GRADES - 1) ** 2
    conf = torch.zeros(N_GRADES, N_GRADES)
    for t, p in zip(y_true.tolist(), y_pred.tolist()):
        conf[int(t), int(p)] += 1
    expected = conf.sum(1, keepdim=True) * conf.sum(0, keepdim=True) / conf.sum()
    return (1 - (w * conf).sum() / (w * expected).sum().clamp(min=1e-6)).item()


def make_exam(n, d=8):
    X = torch.randn(n, d)
    score = X[:, 0] + 0.7 * X[:, 1] - 0.5 * X[:, 2] * X[:, 3].sign()
    cuts = torch.tensor([-1.2, -0.4, 0.4, 1.2])
    y = (score[:, None] > cuts).sum(1)
    return X, y


def test_step(model, X_test, y_test, loss_fn):
    model.eval()
    with torch.inference_mode():
        test_pred = to_grade(model(X_test))
        test_loss = loss_fn(test_pred, y_test.float())
    return test_loss.item(), accuracy_fn(y_test, test_pred), quadratic_kappa(y_test, test_pred)


def main():
    X_train, y_train = make_exam(400)
    X_test, y_test = make_exam(150)
    model = GraderV0(X_train.shape[1])
    loss_fn = nn.SmoothL1Loss()
    optimiser = torch.optim.Adam(model.parameters(), lr=0.02)
    scheduler = torch.optim.lr_scheduler.StepLR(optimiser, step_size=20, gamma=0.5)

    for epoch in range(Epochs):
        model.train()
        train_logits = model(X_train)
        loss = loss_fn(to_grade(train_logits), y_train.float())  # CULPRIT
        train_accu = accuracy_fn(y_train, to_grade(train_logits))

        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        scheduler.step()

        if epoch % 10 == 0 or epoch == Epochs - 1:
            test_loss, test_accu, kappa = test_step(model, X_test, y_test, loss_fn)
            print(f'Epoch {epoch} | loss {loss.item():.4f} acc {train_accu:.1f}% | '
                  f'test loss {test_loss:.4f} acc {test_accu:.1f}% kappa {kappa:.2f}')


if __name__ == '__main__':
    main()
