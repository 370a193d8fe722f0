"""What layers and their functions refuse, and what they make of empty input."""

from __future__ import annotations

import pytest

import gradtape
from gradtape.autograd import forward_ad

from .lines import check_line

SETUP = """
import warnings
warnings.simplefilter("ignore")
F = t.nn.functional
m = t.nn.Linear(2, 2)
m.attr = 5
"""

FUNCTIONS = """
x,w=t.randn(0,3),t.ones(3).requires_grad_();F.batch_norm(x,None,None,w,training=True).sum().backward();w.grad
F.fold(t.randn(1,12,12),(4,5),(2,2),dilation=8)
F.pad(t.randn(3,3,3),(1,)*6,mode='replicate')
F.pad(t.randn(1,2,3,3,3),(0,0,0,0,3,0),mode='reflect')
x=t.randn(1,1,4,4);y=F.pad(x,(0,0,0,0),mode='circular');(y is x,y._is_view())
x=t.randn(1,1,4,4);y=F.pad(x,(0,0,-1,-1),mode='circular');(y.shape,y._is_view())
F.multi_margin_loss(t.zeros(3),t.tensor([1]),reduction='none').shape
F.multi_margin_loss(t.zeros(3),t.tensor(1),reduction='none').shape
F.mse_loss(t.tensor(1.),t.tensor(3.),reduction='none')
F.interpolate(t.ones(1,1,4),size=(2**24+4,),mode='linear').shape
F.threshold(t.arange(3.).expand(2,3),1.,0.,inplace=True)
F.max_unpool3d(t.ones(1,1,2,2,2),t.full((1,1,2,2,2),99),2)
F.max_unpool1d(t.ones(1,1,2),t.full((1,1,2),9),2)
F.max_unpool2d(t.ones(1,1,2,2),t.zeros(1,1,2,2).long(),2,output_size=(5,))
F.adaptive_max_pool3d(t.ones(1,1,0,4,4),2)
F.adaptive_avg_pool1d(t.ones(1,1,0),2)
F.conv_transpose2d(t.randn(1,3,4,4),t.randn(3,2,2,2),groups=2)
F.conv_transpose1d(t.ones(1,1,4),t.ones(1,1,2),output_padding=-1)
F.conv_transpose1d(t.ones(1,1,1),t.ones(1,1,2),padding=1)
F.conv_transpose2d(t.ones(1,1,2,2),t.ones(1,1,2,2),padding='same')
F.conv_transpose2d(t.ones(1,1,2,2),t.ones(1,1,2,2),stride=1.5)
F.conv_transpose2d(t.ones(1,1,2,2),t.ones(1,1,2,2),padding=(1.5,1))
F.conv_transpose3d(t.ones(1,1,1,1,1),t.ones(1,1,2,2,2),padding=2)
F.conv_transpose2d(t.ones(1,1,0,3),t.ones(1,1,2,2))
F.conv1d(t.ones(1,1,0),t.ones(1,1,2),padding=2)
F.conv2d(t.ones(1,1,0,3),t.ones(1,1,2,2),padding=2)
F.conv2d(t.ones(0,1,0,3),t.ones(1,1,2,2),padding=2).shape
F.conv2d(t.randn(1,2,4,4).double(),t.randn(3,2,2,2))
F.leaky_relu(t.ones(2).requires_grad_().clone(),-2.,inplace=True).sum().backward()
F.rrelu(t.ones(2).requires_grad_().clone(),-5.,1.,inplace=True).sum().backward()
x=t.tensor([t.nan,-3.,1.]).requires_grad_();F.hardsigmoid(x).sum().backward();x.grad
y=t.tensor([.5+0j]).requires_grad_();t.pow(t.zeros(1).cfloat(),y).real.sum().backward();y.grad
x=t.ones(2).requires_grad_();F.rrelu(-x.clone(),.5,1.,inplace=True).sum().backward();x.grad
x=t.randn(0,3,2).requires_grad_();F.batch_norm(x,None,None,t.ones(3),training=True).sum().backward();x.grad
F.cosine_embedding_loss(t.randn(3,5),t.randn(3,5),t.tensor([1.]))
F.cosine_embedding_loss(t.randn(3),t.randn(3),t.tensor(1.))
F.cosine_embedding_loss(t.randn(3),t.randn(5),t.tensor([1.]))
F.cosine_embedding_loss(t.randn(3,2),t.randn(3,4),t.tensor([1.]))
F.cosine_embedding_loss(t.randn(3,4),t.randn(4),t.tensor([1.]))
F.cosine_embedding_loss(t.randn(3,4),t.randn(3,4),t.tensor([[1.]]))
F.cosine_embedding_loss(t.randn(3),t.randn(3),t.tensor([[1.]]))
F.cosine_embedding_loss(t.randn(2,3,4),t.randn(2,3,4),t.ones(2))
F.cosine_embedding_loss(t.randn(2,3,4),t.randn(2,3,4),t.ones(2,3))
F.cosine_embedding_loss(t.randn(2,3,4),t.randn(2,3,4),t.ones(2,3,1))
F.cosine_similarity(t.tensor([[1,2]],dtype=t.int8),t.tensor([[1,2]],dtype=t.int8))
F.cosine_similarity(t.tensor([[1,2]],dtype=t.int64),t.tensor([[1.,2]]))
F.cosine_similarity(t.tensor([[1.,2]]),t.tensor([[1,2]]))
F.cosine_similarity(t.randn(2,3),t.randn(2,3),-3)
F.cosine_similarity(t.randn(2,3),t.randn(4,3))
F.cosine_similarity(t.zeros(2,3),t.zeros(2,3))
F.cross_entropy(t.randn(0,3),t.randn(0,3))
F.cross_entropy(t.zeros(3,0,2),t.zeros(3,0,2),reduction='mean')
F.cross_entropy(t.zeros(0,4,5),t.zeros(0,4,5),reduction='mean')
F.cross_entropy(t.zeros(0,4),t.zeros(0,dtype=t.long))
F.cross_entropy(t.zeros(3,0),t.zeros(3,dtype=t.long))
F.nll_loss(t.zeros(10,2),t.zeros(10,2,dtype=t.long))
F.nll_loss(t.zeros(10,2),t.zeros(9,dtype=t.long))
F.nll_loss(t.zeros(2,3,4),t.zeros(2,3,dtype=t.long))
F.nll_loss(t.zeros(2,3,4,5),t.zeros(2,4,dtype=t.long))
F.nll_loss(t.zeros(2,3,4,5),t.zeros(2,4,6,dtype=t.long))
F.nll_loss(t.zeros(2,3),t.zeros(2,dtype=t.long),weight=t.ones(4))
F.fold(t.randn(1,5,9),(4,5),(2,3))
F.fold(t.randn(1,6,10),(4,5),(2,3))
F.fold(t.randn(1,6,5),(4,5),(2,3),stride=(2,2))
F.fold(t.randn(1,6,5),(4,5),(2,3),stride=0)
F.fold(t.randn(1,6,5),(4,5),(2,3),dilation=0)
F.fold(t.randn(6,),(4,5),(2,3))
F.fold(t.randn(1,12,12),(4,5),(8,8))
F.fold(t.randn(1,6,12),(4,5),(2,3),padding=-1)
F.fold(t.randn(1,6,12),(4,),(2,3))
F.fold(t.randn(2,0,12),(4,5),(2,3))
F.fold(t.randn(0,6,9),(4,5),(2,3)).shape
F.unfold(t.randn(3,4),2)
F.unfold(t.randn(1,3,2,2),3)
F.unfold(t.randn(1,3,4,4),2,stride=0)
F.unfold(t.randn(1,3,4,4),2,dilation=0)
F.unfold(t.randn(1,3,4,4),2,padding=-1)
F.unfold(t.randn(1,0,4,4),2)
F.unfold(t.randn(0,3,4,4),2).shape
F.unfold(t.randn(3,0,4,4),2)
F.unfold(t.randn(1,1,2,2),(3,1))
F.fractional_max_pool2d(t.randn(1,2,4,4),2,output_ratio=[0.5,0.5,0.5])
F.fractional_max_pool2d(t.randn(1,2,4,4),2,output_ratio=(0.5,0.5)).shape
F.fractional_max_pool2d(t.randn(1,2,4,4),2)
F.fractional_max_pool2d(t.randn(1,2,4,4),2,output_size=2,output_ratio=0.5).shape
F.fractional_max_pool2d(t.randn(1,2,4,4),2,output_size=(2,2,2))
F.fractional_max_pool2d(t.randn(1,2,4,4),2,output_size=7)
F.grid_sample(t.randn(2,0,3,3,3),t.randn(2,2,2,2,3),align_corners=False).shape
F.grid_sample(t.randn(0,2,3,3),t.randn(0,2,2,2),align_corners=False).shape
F.grid_sample(t.randn(2,2,3,3),t.randn(2,0,2,2),align_corners=False).shape
F.grid_sample(t.randn(2,2,3,3,3),t.randn(2,0,2,2,3),align_corners=False).shape
F.interpolate(t.ones(1,1,6),size=2**63-1)
F.interpolate(t.ones(1,1,6,3),scale_factor=1e18,mode='bilinear')
F.interpolate(t.ones(1,1,6,3),scale_factor=0,mode='bilinear')
F.interpolate(t.ones(1,1,6,3),scale_factor=-1,mode='bilinear')
F.interpolate(t.ones(1,1,4),size=(2,),scale_factor=2)
F.interpolate(t.ones(1,1,4))
F.interpolate(t.ones(1,1,4),size=(2,2))
F.interpolate(t.ones(1,1,4),mode='foo',size=2)
F.interpolate(t.ones(1,1,4),mode='bilinear',size=2)
F.interpolate(t.ones(1,1,4),mode='nearest',align_corners=True,size=2)
F.interpolate(t.ones(4),size=2)
F.interpolate(t.ones(1,1,1,4,4),mode='bilinear',size=2)
F.pixel_shuffle(t.ones(4),2)
F.pixel_shuffle(t.ones(3,3),2)
F.pixel_shuffle(t.ones(1,3,2,2),2)
F.pixel_shuffle(t.ones(1,4,2,2),0)
F.pixel_shuffle(t.ones(1,4,2,2),-1)
F.pixel_shuffle(t.ones(1,4,0,0),2).shape
F.pixel_unshuffle(t.ones(4),2)
F.pixel_unshuffle(t.ones(1,3,3,2),2)
F.pixel_unshuffle(t.ones(1,3,2,3),2)
F.pixel_unshuffle(t.ones(1,3,2,3),-2)
F.channel_shuffle(t.ones(1,3,2,2),2)
F.channel_shuffle(t.ones(1,4,2,2),0)
F.channel_shuffle(t.ones(4),2)
F.leaky_relu(t.randn(4).requires_grad_().clone(),-2,inplace=True).sum().backward()
x=t.randn(4).requires_grad_();F.leaky_relu(x.clone(),-2.,inplace=True).sum().backward()
F.elu(t.randn(4,requires_grad=True).clone(),alpha=-2,inplace=True).sum().backward()
F.celu(t.randn(4,requires_grad=True).clone(),alpha=-2,inplace=True).sum().backward()
F.celu(t.randn(4),alpha=0)
t.threshold_(t.randn(4)[:3],0,0)
x=t.randn(4);F.threshold(x,0.,0.,inplace=True);x
F.softplus(t.randn(3).expand(2,3))
F.batch_norm(t.randn(3,2),t.zeros(2),t.ones(2),weight=t.ones(3))
F.batch_norm(t.randn(3,2),t.zeros(3),t.ones(2))
F.batch_norm(t.randn(3,2),t.zeros(2),t.ones(3))
F.batch_norm(t.randn(3,2),t.zeros(2),t.ones(2),bias=t.ones(3))
F.batch_norm(t.randn(1,2),t.zeros(2),t.ones(2),training=True)
F.batch_norm(t.randn(1,2,1),None,None,training=True)
F.batch_norm(t.randn(3,2),None,None)
F.instance_norm(t.randn(1,2,1))
F.instance_norm(t.randn(1,2,1,1))
F.instance_norm(t.randn(2,3),t.zeros(3),t.ones(3))
F.pad(t.randn(1,2,3),(1,),mode='constant')
F.pad(t.randn(1,2,3),(1,2,3,4),mode='reflect')
F.pad(t.randn(1,2,0),(1,1),mode='reflect')
F.pad(t.randn(0,2,3),(1,1),mode='reflect').shape
F.pad(t.randn(1,0,3),(1,1),mode='reflect').shape
F.pad(t.randn(1,2,3),(3,1),mode='reflect')
F.pad(t.randn(1,2,3),(-1,-3),mode='reflect')
F.pad(t.randn(1,2,3),(1,1),mode='foo')
F.pad(t.randn(1,2,3),(1,1),mode='reflect',value=3)
F.pad(t.randn(1,2,3),(4,4),mode='circular')
F.pad(t.randn(2,3),(1,1),mode='replicate').shape
F.pad(t.randn(3),(1,1),mode='replicate')
F.pad(t.randn(1,2,0,3),(1,1,1,1),mode='reflect')
F.pad(t.randn(0,2,3,3),(1,1,1,1),mode='reflect').shape
F.pad(t.randn(1,0,3,3),(1,1,1,1),mode='reflect').shape
F.pad(t.randn(1,0,3,3),(1,1,1,1),mode='replicate').shape
F.pad(t.randn(0,1,3,3),(1,1,1,1),mode='replicate').shape
F.pad(t.randn(1,1,0,3),(1,1,1,1),mode='replicate')
F.pad(t.randn(2,1,0,3,4),(1,)*6,mode='replicate')
F.pad(t.randn(0,1,2,3,4),(1,)*6,mode='replicate').shape
F.pad(t.randn(0,1,2,3,4),(1,)*6,mode='reflect').shape
F.pad(t.randn(2,0,2,3,4),(1,)*6,mode='reflect').shape
F.multi_margin_loss(t.zeros(2,0),t.zeros(2,dtype=t.long))
F.multilabel_margin_loss(t.zeros(2,0),t.zeros(2,0,dtype=t.long))
F.multi_margin_loss(t.zeros(2,3),t.zeros(3,dtype=t.long))
F.multi_margin_loss(t.zeros(2,3),t.tensor([0,5]))
F.multi_margin_loss(t.zeros(2,3),t.tensor([0,1]),p=3)
F.multi_margin_loss(t.zeros(2,3),t.tensor([0,1]),weight=t.ones(4))
F.batch_norm(t.randn(0,3),t.zeros(3),t.ones(3)).shape
F.batch_norm(t.randn(0,3,2),t.zeros(3),t.ones(3)).shape
F.batch_norm(t.randn(0,3,2,2),t.zeros(3),t.ones(3),training=True).shape
F.group_norm(t.randn(0,4),2).shape
F.group_norm(t.randn(0,4,2),2).shape
F.group_norm(t.randn(2,4,0),2).shape
F.group_norm(t.randn(2,4),3)
F.layer_norm(t.randn(0,4),(4,)).shape
F.layer_norm(t.randn(2,4),(3,))
F.layer_norm(t.randn(2,4),())
F.layer_norm(t.randn(2,4),(4,),weight=t.ones(3))
F.conv2d(t.randn(1,2,4,4),t.randn(3,2,5,5))
F.conv2d(t.randn(1,2,4,4),t.randn(3,3,2,2))
F.conv2d(t.randn(1,2,4,4),t.randn(3,2,2,2),groups=2)
F.conv2d(t.randn(1,2,4,4),t.randn(3,2,2,2),stride=0)
F.conv2d(t.randn(1,2,4,4),t.randn(3,2,2,2),padding=-1)
F.conv2d(t.randn(2,4),t.randn(3,2,2,2))
F.conv2d(t.randn(1,2,4,4),t.randn(3,2,2,2),bias=t.randn(2))
F.conv2d(t.randn(0,2,4,4),t.randn(3,2,2,2)).shape
F.conv2d(t.randn(1,2,0,4),t.randn(3,2,1,1)).shape
F.conv2d(t.randn(1,2,4,4),t.randn(3,2,2,2),padding='same',stride=2)
F.conv1d(t.randn(1,2,4).double(),t.randn(3,2,2))
F.conv_transpose2d(t.randn(1,2,4,4),t.randn(3,2,2,2))
F.conv_transpose2d(t.randn(1,2,4,4),t.randn(2,2,2,2),output_padding=3)
F.softshrink(t.ones(2),-1)
F.logsigmoid(t.ones(2))
F.one_hot(t.tensor([1]),0)
F.one_hot(t.tensor([]).long())
F.embedding(t.tensor([5]),t.ones(2,3))
F.embedding(t.tensor([1.]),t.ones(2,3))
F.embedding_bag(t.tensor([1]),t.ones(2,3))
F.ctc_loss(t.randn(5,2,3).log_softmax(2),t.tensor([[1,2],[1,1]]),(5,5),(2,3))
F.ctc_loss(t.randn(5,2,3).log_softmax(2),t.tensor([[1,2],[1,1]]),(6,5),(2,2))
F.kl_div(t.zeros(2),t.zeros(2),reduction='foo')
F.mse_loss(t.zeros(2),t.zeros(3))
F.l1_loss(t.zeros(2),t.zeros(2),reduction='foo')
F.binary_cross_entropy(t.tensor([2.]),t.tensor([1.]))
F.binary_cross_entropy(t.tensor([.2,.3]),t.tensor([1.]))
F.binary_cross_entropy_with_logits(t.zeros(2),t.zeros(3))
F.triplet_margin_loss(t.zeros(2,3),t.zeros(2,3),t.zeros(3))
F.triplet_margin_loss(t.zeros(2,3),t.zeros(2,3),t.zeros(2,3),margin=-1)
F.margin_ranking_loss(t.zeros(2),t.zeros(2),t.zeros(2,1))
F.gaussian_nll_loss(t.zeros(2),t.zeros(2),t.tensor([-1.,1.]))
F.gaussian_nll_loss(t.zeros(2,3),t.zeros(2,3),t.ones(4))
F.gaussian_nll_loss(t.zeros(2,3),t.ones(2,3),t.ones(1,3))
F.gaussian_nll_loss(t.zeros(2,3),t.ones(2,3),t.ones(1,1))
F.cross_entropy(t.zeros(2,3),t.tensor([0,1]),t.ones(3,requires_grad=True))
F.cross_entropy(t.zeros(1,3,2,2),t.zeros(1,2,2).long(),t.ones(3,requires_grad=True))
F.binary_cross_entropy(t.ones(2),t.ones(2),t.ones(2,requires_grad=True))
F.binary_cross_entropy_with_logits(t.ones(2),t.ones(2),pos_weight=t.ones(2,requires_grad=True))
F.huber_loss(t.zeros(2),t.zeros(2),delta=0)
F.smooth_l1_loss(t.zeros(2),t.zeros(2),beta=-1)
F.max_pool2d(t.ones(1,1,4,4),0)
F.max_pool2d(t.ones(1,1,4,4),2,padding=2)
F.max_pool2d(t.ones(1,1,1,1),2)
F.max_pool2d(t.ones(4,4),2)
F.max_pool2d(t.ones(1,0,4,4),2)
F.max_pool2d(t.ones(0,1,4,4),2).shape
F.max_pool2d(t.ones(1,1,0,4),2)
F.avg_pool2d(t.ones(1,1,4,4),2,divisor_override=0)
F.avg_pool2d(t.ones(1,1,4,4),2,padding=2)
F.avg_pool2d(t.ones(4,4),2)
F.adaptive_avg_pool2d(t.ones(1,1,0,4),2)
F.adaptive_avg_pool2d(t.ones(4,4),2)
F.adaptive_avg_pool2d(t.ones(1,2,4,4),0).shape
F.adaptive_avg_pool2d(t.ones(1,2,4,4),(2,2,2))
F.adaptive_avg_pool2d(t.ones(1,2,4,4),-1)
F.adaptive_max_pool2d(t.ones(1,1,0,4),2)
F.adaptive_max_pool2d(t.ones(0,1,4,4),2).shape
F.adaptive_max_pool1d(t.ones(4),2)
F.lp_pool2d(t.ones(1,1,4,4),2,2).shape
F.max_unpool2d(t.ones(1,1,2,2),t.tensor([[[[0,1],[2,99]]]]),2)
F.max_unpool2d(t.ones(1,1,2,2),t.zeros(1,1,2,2),2)
F.max_unpool2d(t.ones(1,1,2,2),t.zeros(1,1,2,3).long(),2)
F.max_unpool2d(t.ones(1,1,2,2),t.zeros(1,1,2,2).long(),2,output_size=(1,1,9,9))
F.local_response_norm(t.ones(2,2),2)
F.glu(t.ones(3))
"""

LAYERS = """
t.nn.FractionalMaxPool2d(2,output_ratio=1.5)
t.nn.FractionalMaxPool2d(2,output_size=2,output_ratio=0.5)
t.nn.FractionalMaxPool2d(2)
t.nn.InstanceNorm1d(3)(t.randn(2,4,5))
t.nn.InstanceNorm1d(3,affine=True)(t.randn(2,4,5))
t.nn.InstanceNorm1d(3,affine=True)(t.randn(4,5))
t.nn.InstanceNorm2d(3)(t.randn(2,4,5))
t.nn.InstanceNorm2d(3,affine=True)(t.randn(2,4,5,5))
t.nn.InstanceNorm2d(3)(t.randn(2,3))
t.nn.InstanceNorm1d(3)(t.randn(2,3,4,5))
t.nn.LSTM(2,3)(t.ones(4,5,3))
t.nn.LSTM(2,3)(t.ones(5))
t.nn.LSTM(2,3)(t.ones(4,5,2),(t.ones(1,5,4),t.ones(1,5,3)))
t.nn.GRU(2,3)(t.ones(4,5,2),t.ones(2,5,3))
t.nn.RNN(2,3,nonlinearity='foo')
t.nn.LSTM(2,3,proj_size=4)
t.nn.GRU(2,3,proj_size=1)
t.nn.LSTMCell(2,3)(t.ones(4,3))
t.nn.LSTMCell(2,3)(t.ones(1,4,2))
t.nn.MultiheadAttention(5,2)
t.nn.MultiheadAttention(4,2)(t.ones(3,2,4),t.ones(3,2,5),t.ones(3,2,4))
t.nn.Transformer(4,3)
t.nn.Embedding(3,2,padding_idx=5)
t.nn.EmbeddingBag(3,2,mode='foo')
t.nn.Conv2d(3,4,3,groups=2)
t.nn.Conv2d(4,3,3,groups=2)
t.nn.Conv2d(4,4,3,groups=0)
t.nn.Conv2d(4,4,3,stride=2,padding='same')
t.nn.BatchNorm2d(3)(t.ones(2,3))
t.nn.BatchNorm1d(3)(t.ones(2,3,4,5))
t.nn.BatchNorm2d(3)(t.ones(2,4,5,5))
t.nn.BatchNorm1d(3,eps=0.)(t.ones(2,3))
t.nn.BatchNorm1d(3,eps=0.).eval()(t.ones(2,3))
t.nn.BatchNorm1d(3,eps=-1.).eval()(t.ones(2,3))
t.nn.InstanceNorm1d(3,eps=0.)(t.ones(2,3,2))
t.native_batch_norm(t.ones(2,3),None,None,None,None,True,.1,0.)
t.native_layer_norm(t.ones(2,0,3),(0,3),None,None,1e-5)
x=t.ones(2,0).requires_grad_();t.nn.functional.layer_norm(x,(0,)).sum().backward();x.grad
t.nn.Dropout(2)
t.nn.GroupNorm(3,4)
t.nn.Linear(2,3)(t.ones(3,3))
t.nn.Bilinear(2,3,4)(t.ones(2,2),t.ones(2,2))
t.nn.Flatten(5)(t.ones(2))
t.nn.Unflatten(1,(2,2))(t.ones(2,5))
t.nn.Unflatten('a',(2,2))
t.nn.Softmax()(t.ones(2,2))
t.nn.Hardtanh(2,1)
t.nn.Softshrink(-1)(t.ones(1))
t.nn.CrossEntropyLoss(label_smoothing=2)(t.ones(2,2),t.zeros(2).long())
t.nn.LinearCrossEntropyLoss(4,3,weight=t.ones(2))
t.nn.LinearCrossEntropyLoss(4,3,label_smoothing=1.5)
t.nn.LinearCrossEntropyOptions(acc_policy='exact')
t.nn.LinearCrossEntropyOptions(chunking_method='aspect_ratio:0')
t.nn.LinearCrossEntropyOptions(chunking_method='aspect_ratio:')
t.nn.LinearCrossEntropyOptions(batch_chunk_size=0)
t.nn.LinearCrossEntropyOptions(acc_dtype=t.int8)
t.nn.LinearCrossEntropyOptions(acc_dtype=t.float32)
m=t.nn.LinearCrossEntropyLoss(4,3,out_features=(2,),bias=True,ignore_index=1);m(t.ones(5,4),t.arange(10).view(5,2)%3)
t.nn.AdaptiveLogSoftmaxWithLoss(4,5,[6])
t.nn.AdaptiveLogSoftmaxWithLoss(4,5,[3,2])
t.nn.Upsample(size=2)(t.ones(2))
t.nn.ConstantPad1d(2,3.)(t.ones(2))
t.nn.ReflectionPad1d(2)(t.ones(2))
t.nn.ReflectionPad2d(2)(t.ones(2,3))
t.nn.ReplicationPad2d(2)(t.ones(2,3))
t.nn.CosineSimilarity()(t.ones(2,3),t.ones(2,4))
t.nn.PairwiseDistance()(t.ones(2,3),t.ones(2,4))
t.nn.Fold(2,2)(t.ones(1,3,1))
t.nn.ParameterList([1,2])
t.nn.ModuleList([1])
t.nn.Sequential(1)
t.nn.ModuleDict({'a':1})
t.nn.ModuleDict({1:t.nn.ReLU()})
t.nn.Module()(1)
t.nn.ModuleList()(1)
t.nn.Sequential(t.nn.ReLU())[3]
t.nn.ModuleList([t.nn.ReLU()])[3]
t.nn.Parameter([1.])
t.nn.Parameter(t.ones(1).long())
"""

MODULES = """
m.attr = t.nn.Buffer(t.ones(1)); m
m.register_buffer('weight',t.ones(1))
m.register_buffer('attr',t.ones(1))
m.register_buffer('a.b',t.ones(1))
m.register_buffer('',t.ones(1))
m.register_buffer(3,t.ones(1))
m.register_buffer('x',3)
m.register_parameter('bias2',3)
m.register_parameter('forward',None)
m.register_parameter('q',t.nn.Parameter(t.ones(1))*2)
m.register_module('x',3)
m.add_module('forward',t.nn.Linear(1,1))
m.add_module('',t.nn.Linear(1,1))
m.add_module('a.b',t.nn.Linear(1,1))
"""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("line", FUNCTIONS.strip().splitlines())
def test_functions(line: str) -> None:
    check_line(line, SETUP)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("line", LAYERS.strip().splitlines())
def test_layers(line: str) -> None:
    check_line(line, SETUP)


@pytest.mark.parametrize("line", MODULES.strip().splitlines())
def test_names_in_modules(line: str) -> None:
    check_line(line, SETUP)


def test_running_statistics_have_no_tangents() -> None:
    with forward_ad.dual_level():
        x = forward_ad.make_dual(gradtape.ones(3, 2), gradtape.ones(3, 2))
        mean = forward_ad.make_dual(gradtape.zeros(2), gradtape.ones(2))
        with pytest.raises(RuntimeError, match="not differentiable wrt running_mean"):
            gradtape.nn.functional.batch_norm(x, mean, gradtape.ones(2))


def test_long_rows_are_added_up_precisely() -> None:
    gradtape.manual_seed(0)
    x = gradtape.rand(1, 2, 1 << 20)
    found = gradtape.nn.functional.layer_norm(x, (1 << 20,))
    exact = gradtape.nn.functional.layer_norm(x.double(), (1 << 20,))
    assert (found - exact).abs().max() < 1e-6
