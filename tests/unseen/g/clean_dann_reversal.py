"""CORRECT. DANN with a reversal layer: forward returns view_as so that backward is called at all, the sum class + domain loss is minimised and only the features get the reversed gradient.
THREAD: https://github.com/fungtion/DANN/issues/3
"""
import random

import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim
from torch.autograd import Function
from torch.utils.data import DataLoader, TensorDataset


class ReverseLayerF(Function):

    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha

        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        output = grad_output.neg() * ctx.alpha

        return output, None


class CNNModel(nn.Module):

    def __init__(self):
        super(CNNModel, self).__init__()
        self.feature = nn.Sequential()
        self.feature.add_module('f_conv1', nn.Conv2d(1, 12, kernel_size=3, padding=1))
        self.feature.add_module('f_bn1', nn.BatchNorm2d(12))
        self.feature.add_module('f_pool1', nn.MaxPool2d(2))
        self.feature.add_module('f_relu1', nn.ReLU(True))
        self.feature.add_module('f_conv2', nn.Conv2d(12, 10, kernel_size=3, padding=1))
        self.feature.add_module('f_bn2', nn.BatchNorm2d(10))
        self.feature.add_module('f_drop1', nn.Dropout2d(0.1))
        self.feature.add_module('f_pool2', nn.MaxPool2d(2))
        self.feature.add_module('f_relu2', nn.ReLU(True))

        self.class_classifier = nn.Sequential()
        self.class_classifier.add_module('c_fc1', nn.Linear(10 * 3 * 3, 32))
        self.class_classifier.add_module('c_bn1', nn.BatchNorm1d(32))
        self.class_classifier.add_module('c_relu1', nn.ReLU(True))
        self.class_classifier.add_module('c_fc3', nn.Linear(32, 4))
        self.class_classifier.add_module('c_softmax', nn.LogSoftmax(dim=1))

        self.domain_classifier = nn.Sequential()
        self.domain_classifier.add_module('d_fc1', nn.Linear(10 * 3 * 3, 32))
        self.domain_classifier.add_module('d_bn1', nn.BatchNorm1d(32))
        self.domain_classifier.add_module('d_relu1', nn.ReLU(True))
        self.domain_classifier.add_module('d_fc2', nn.Linear(32, 2))
        self.domain_classifier.add_module('d_softmax', nn.LogSoftmax(dim=1))

    def forward(self, input_data, alpha):
        feature = self.feature(input_data)
        feature = feature.view(-1, 10 * 3 * 3)
        reverse_feature = ReverseLayerF.apply(feature, alpha)
        class_output = self.class_classifier(feature)
        domain_output = self.domain_classifier(reverse_feature)

        return class_output, domain_output


def corners(n, gen, shift):
    """Which corner is bright; the target pictures have a gradient and less contrast."""
    y = torch.randint(0, 4, (n,), generator=gen)
    x = 0.3 * torch.randn(n, 1, 12, 12, generator=gen)
    for i, c in enumerate(y.tolist()):
        r, s = (c // 2) * 6 + 1, (c % 2) * 6 + 1
        x[i, 0, r:r + 4, s:s + 4] += 1.0
    if shift:
        x = 0.6 * x + torch.linspace(-0.8, 0.8, 12).view(1, 1, 1, -1)
    return x, y


def test(model, data):
    model.eval()
    with torch.no_grad():
        class_output, _ = model(data[0], 0.0)
    return (class_output.data.max(1)[1] == data[1]).float().mean().item()


manual_seed = 7
random.seed(manual_seed)
torch.manual_seed(manual_seed)
gen = torch.Generator().manual_seed(manual_seed)
batch_size, n_epoch = 32, 8

dataloader_source = DataLoader(TensorDataset(*corners(384, gen, False)), batch_size, shuffle=True, drop_last=True)
dataloader_target = DataLoader(TensorDataset(*corners(384, gen, True)), batch_size, shuffle=True, drop_last=True)
test_target = corners(200, gen, True)

my_net = CNNModel()
optimizer = optim.Adam(my_net.parameters(), lr=2e-3)
loss_class = torch.nn.NLLLoss()
loss_domain = torch.nn.NLLLoss()
for p in my_net.parameters():
    p.requires_grad = True

for epoch in range(n_epoch):
    my_net.train()
    len_dataloader = min(len(dataloader_source), len(dataloader_target))
    data_source_iter = iter(dataloader_source)
    data_target_iter = iter(dataloader_target)

    for i in range(len_dataloader):
        p = float(i + epoch * len_dataloader) / n_epoch / len_dataloader
        alpha = 2. / (1. + np.exp(-10 * p)) - 1

        # training model using source data
        s_img, s_label = next(data_source_iter)
        my_net.zero_grad()
        domain_label = torch.zeros(len(s_img)).long()
        class_output, domain_output = my_net(input_data=s_img, alpha=alpha)
        err_s_label = loss_class(class_output, s_label)
        err_s_domain = loss_domain(domain_output, domain_label)

        # training model using target data
        t_img, _ = next(data_target_iter)
        domain_label = torch.ones(len(t_img)).long()
        _, domain_output = my_net(input_data=t_img, alpha=alpha)
        err_t_domain = loss_domain(domain_output, domain_label)
        err = err_t_domain + err_s_domain + err_s_label
        err.backward()
        optimizer.step()

    if epoch % 2 == 1:
        print('epoch: %d, err_s_label: %f, err_s_domain: %f, err_t_domain: %f, target accuracy: %.3f' % (
            epoch, err_s_label.item(), err_s_domain.item(), err_t_domain.item(), test(my_net, test_target)))
print('done')
