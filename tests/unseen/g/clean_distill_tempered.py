"""CORRECT. Knowledge distillation: KLDivLoss gets log_softmax of the student but plain softmax of the teacher, as its interface wants; the teacher is frozen, in eval mode and run without gradients.
THREAD: https://github.com/yoshitomo-matsubara/torchdistill/issues/233
"""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

LOSS_DICT = {}


def register_loss(cls):
    LOSS_DICT[cls.__name__] = cls
    return cls


@register_loss
class KDLoss(nn.KLDivLoss):
    """
    "Distilling the Knowledge in a Neural Network"
    """

    def __init__(self, student_module_path, student_module_io, teacher_module_path, teacher_module_io,
                 temperature, alpha=None, beta=None, reduction='batchmean', **kwargs):
        super().__init__(reduction=reduction)
        self.student_module_path = student_module_path
        self.student_module_io = student_module_io
        self.teacher_module_path = teacher_module_path
        self.teacher_module_io = teacher_module_io
        self.temperature = temperature
        self.alpha = alpha
        self.beta = 1 - alpha if beta is None else beta
        cel_reduction = 'mean' if reduction == 'batchmean' else reduction
        self.cross_entropy_loss = nn.CrossEntropyLoss(reduction=cel_reduction, **kwargs)

    def forward(self, student_io_dict, teacher_io_dict, targets=None, *args, **kwargs):
        student_logits = student_io_dict[self.student_module_path][self.student_module_io]
        teacher_logits = teacher_io_dict[self.teacher_module_path][self.teacher_module_io]
        soft_loss = super().forward(torch.log_softmax(student_logits / self.temperature, dim=1),
                                    torch.softmax(teacher_logits / self.temperature, dim=1))
        if self.alpha is None or self.alpha == 0 or targets is None:
            return soft_loss
        hard_loss = self.cross_entropy_loss(student_logits, targets)
        return self.alpha * hard_loss + self.beta * (self.temperature ** 2) * soft_loss


class ForwardHookManager:
    """Keeps inputs and outputs of chosen modules for the losses."""

    def __init__(self, model, paths):
        self.io_dict = {p: {} for p in paths}
        self.handles = []
        for p in paths:
            module = model
            for part in p.split('.'):
                module = getattr(module, part)
            self.handles.append(module.register_forward_hook(self._make(p)))

    def _make(self, path):
        def hook(module, inputs, output):
            self.io_dict[path]['input'] = inputs
            self.io_dict[path]['output'] = output
        return hook

    def pop_io_dict(self):
        out = {p: dict(io) for p, io in self.io_dict.items()}
        for io in self.io_dict.values():
            io.clear()
        return out

    def close(self):
        for h in self.handles:
            h.remove()


def mlp(width, depth, p=0.0):
    net = nn.Sequential()
    n = 12
    for i in range(depth):
        net.add_module('fc%d' % i, nn.Linear(n, width))
        net.add_module('bn%d' % i, nn.BatchNorm1d(width))
        net.add_module('relu%d' % i, nn.ReLU(inplace=True))
        net.add_module('drop%d' % i, nn.Dropout(p))
        n = width
    net.add_module('out', nn.Linear(n, 5))
    return net


def rings(n, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 12, generator=g)
    s = x[:, :4].norm(dim=1) + 0.4 * torch.tanh(x[:, 4] * x[:, 5])
    return x, torch.bucketize(s, torch.tensor([1.2, 1.65, 2.05, 2.5]))


def evaluate(model, loader):
    model.eval()
    hits = total = 0
    with torch.inference_mode():
        for x, y in loader:
            hits += (model(x).argmax(1) == y).sum().item()
            total += len(y)
    return hits / total


def train_teacher(loader, epochs=12):
    teacher = mlp(96, 2, p=0.1)
    opt = torch.optim.Adam(teacher.parameters(), lr=3e-3)
    for _ in range(epochs):
        teacher.train()
        for x, y in loader:
            opt.zero_grad()
            nn.functional.cross_entropy(teacher(x), y).backward()
            opt.step()
    return teacher


def distill(teacher, student, loader, test_loader, epochs=12):
    for p in teacher.parameters():
        p.requires_grad_(False)
    teacher.eval()
    criterion = LOSS_DICT['KDLoss']('out', 'output', 'out', 'output', temperature=3.0, alpha=0.5)
    s_hook, t_hook = ForwardHookManager(student, ['out']), ForwardHookManager(teacher, ['out'])
    optimizer = torch.optim.SGD(student.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, [8], gamma=0.2)
    for epoch in range(epochs):
        student.train()
        for x, y in loader:
            with torch.no_grad():
                teacher(x)
            student(x)
            loss = criterion(s_hook.pop_io_dict(), t_hook.pop_io_dict(), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        scheduler.step()
        if epoch % 4 == 3:
            print('epoch %d loss %.4f student acc %.3f' % (epoch, loss.item(), evaluate(student, test_loader)))
    s_hook.close(), t_hook.close()


if __name__ == '__main__':
    torch.manual_seed(0)
    train_loader = DataLoader(TensorDataset(*rings(2000, 0)), batch_size=64, shuffle=True, drop_last=True)
    test_loader = DataLoader(TensorDataset(*rings(500, 1)), batch_size=250)
    teacher = train_teacher(train_loader)
    print('teacher acc %.3f' % evaluate(teacher, test_loader))
    distill(teacher, mlp(24, 1), train_loader, test_loader)
