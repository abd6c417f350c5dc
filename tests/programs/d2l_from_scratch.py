"""A textbook's first chapters: tensors, regression and softmax from scratch, methods added to classes, an RNN."""

import collections
import inspect
import math
import random

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils import data


def add_to_class(Class):
    def wrapper(obj):
        setattr(Class, obj.__name__, obj)

    return wrapper


class HyperParameters:
    def save_hyperparameters(self, ignore=()):
        frame = inspect.currentframe().f_back
        _, _, _, local_vars = inspect.getargvalues(frame)
        for k, v in local_vars.items():
            if k not in {*ignore, "self"} and not k.startswith("_"):
                setattr(self, k, v)


class Module(nn.Module, HyperParameters):
    def __init__(self):
        super().__init__()
        self.log = []

    def training_step(self, batch):
        loss = self.loss(self(*batch[:-1]), batch[-1])
        self.log.append(loss.item())
        return loss


class Trainer(HyperParameters):
    def __init__(self, max_epochs, gradient_clip_val=0):
        self.save_hyperparameters()

    def fit(self, model, loader):
        optim = model.configure_optimizers()
        for _ in range(self.max_epochs):
            model.train()
            for batch in loader:
                loss = model.training_step(batch)
                optim.zero_grad()
                with torch.no_grad():
                    loss.backward()
                    if self.gradient_clip_val > 0:
                        params = [p for p in model.parameters() if p.requires_grad]
                        norm = torch.sqrt(sum(torch.sum(p.grad**2) for p in params))
                        if norm > self.gradient_clip_val:
                            for param in params:
                                param.grad[:] *= self.gradient_clip_val / norm
                    optim.step()
        return model.log


class SGD(HyperParameters):
    def __init__(self, params, lr):
        self.save_hyperparameters()

    def step(self):
        for param in self.params:
            param -= self.lr * param.grad

    def zero_grad(self):
        for param in self.params:
            if param.grad is not None:
                param.grad.zero_()


torch.manual_seed(0)
random.seed(0)
x = torch.arange(12, dtype=torch.float32)
X = x.reshape(3, 4)
Y = torch.tensor([[2.0, 1, 4, 3], [1, 2, 3, 4], [4, 3, 2, 1]])
print(x.numel(), X.shape, torch.cat((X, Y), dim=0).shape, torch.cat((X, Y), dim=1)[0], (X == Y).sum(), X.sum())
before = id(Y)
Y[:] = X + Y
X[:2, :] = 12
print(
    id(Y) == before,
    X[-1],
    X[1:3],
    X.mean(axis=0),
    X.sum(axis=[0, 1]),
    X.cumsum(axis=0)[2],
    X / X.sum(axis=1, keepdims=True),
)
u = torch.tensor([3.0, -4.0])
print(
    torch.norm(u),
    torch.abs(u).sum(),
    torch.norm(torch.ones((4, 9))),
    torch.mv(X, torch.ones(4)),
    X.T.shape,
    float(u[0]),
    int(u[1]),
)
a = torch.randn((), requires_grad=True)


def control_flow(a):
    b = a * 2
    while b.norm() < 1000:
        b = b * 2
    return b if b.sum() > 0 else 100 * b


d = control_flow(a)
d.backward()
print(a.grad == d / a, x.requires_grad_(True).grad)
y = 2 * torch.dot(x, x)
y.backward()
print(x.grad, x.grad.zero_().sum())
fair = torch.distributions.multinomial.Multinomial(1000, torch.tensor([0.5, 0.5]))
print((fair.sample() / 1000).sum(), fair.sample((2,)).shape)


class LinearRegressionScratch(Module):
    def __init__(self, num_inputs, lr, sigma=0.01):
        super().__init__()
        self.save_hyperparameters()
        self.w = torch.normal(0, sigma, (num_inputs, 1), requires_grad=True)
        self.b = torch.zeros(1, requires_grad=True)


@add_to_class(LinearRegressionScratch)
def forward(self, X):
    return torch.matmul(X, self.w) + self.b


@add_to_class(LinearRegressionScratch)
def loss(self, y_hat, y):
    return ((y_hat - y) ** 2 / 2).mean()


@add_to_class(LinearRegressionScratch)
def configure_optimizers(self):
    return SGD([self.w, self.b], self.lr)


true_w, true_b = torch.tensor([2, -3.4]), 4.2
features = torch.randn(96, 2)
labels = torch.matmul(features, true_w.reshape((-1, 1))) + true_b + torch.randn(96, 1) * 0.01
loader = data.DataLoader(data.TensorDataset(features, labels), 32, shuffle=True)
model = LinearRegressionScratch(2, lr=0.3)
log = Trainer(max_epochs=3).fit(model, loader)
print("regression", [f"{v:.6f}" for v in log[::3]], f"{(true_w - model.w.detach().reshape(-1)).norm().item():.5f}")


def softmax(X):
    X_exp = torch.exp(X)
    return X_exp / X_exp.sum(1, keepdims=True)


def dropout_layer(X, dropout):
    assert 0 <= dropout <= 1
    if dropout == 1:
        return torch.zeros_like(X)
    return (torch.rand(X.shape) > dropout).float() * X / (1.0 - dropout)


class DropoutMLPScratch(Module):
    def __init__(self, num_outputs, dropout, lr):
        super().__init__()
        self.save_hyperparameters()
        self.lin1, self.lin2 = nn.LazyLinear(24), nn.LazyLinear(num_outputs)

    def forward(self, X):
        H = F.relu(self.lin1(X.reshape((X.shape[0], -1))))
        return softmax(self.lin2(dropout_layer(H, self.dropout) if self.training else H))

    def loss(self, y_hat, y):
        return -torch.log(y_hat[list(range(len(y_hat))), y]).mean()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), self.lr, weight_decay=1e-3)


targets = (features[:, 0] > 0).long() + (features[:, 1] > 0).long()
mlp = DropoutMLPScratch(3, 0.3, 0.5)
mlp(features[:2])
log = Trainer(4).fit(mlp, data.DataLoader(data.TensorDataset(features, targets), 24))
accuracy = (mlp.eval()(features).argmax(axis=1).type(targets.dtype) == targets).type(torch.float32).mean()
print("softmax", [f"{v:.5f}" for v in log[::4]], f"{accuracy:.4f}", mlp.lin1)


class RNNScratch(Module):
    def __init__(self, num_inputs, num_hiddens, sigma=0.1):
        super().__init__()
        self.save_hyperparameters()
        self.W_xh = nn.Parameter(torch.randn(num_inputs, num_hiddens) * sigma)
        self.W_hh = nn.Parameter(torch.randn(num_hiddens, num_hiddens) * sigma)
        self.b_h = nn.Parameter(torch.zeros(num_hiddens))

    def forward(self, inputs, state=None):
        outputs = []
        if state is None:
            state = torch.zeros((inputs.shape[1], self.num_hiddens))
        for X in inputs:
            state = torch.tanh(torch.matmul(X, self.W_xh) + torch.matmul(state, self.W_hh) + self.b_h)
            outputs.append(state)
        return outputs, state


class LMScratch(Module):
    def __init__(self, rnn, vocab_size, lr):
        super().__init__()
        self.save_hyperparameters()
        self.W_hq = nn.Parameter(torch.randn(rnn.num_hiddens, vocab_size) * rnn.sigma)
        self.b_q = nn.Parameter(torch.zeros(vocab_size))

    def forward(self, X, state=None):
        outputs, _ = self.rnn(F.one_hot(X.T, self.vocab_size).type(torch.float32), state)
        return torch.stack([torch.matmul(H, self.W_hq) + self.b_q for H in outputs], 1)

    def loss(self, Y_hat, Y):
        return F.cross_entropy(Y_hat.reshape((-1, Y_hat.shape[-1])), Y.reshape((-1,)))

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=self.lr)


text = "the time traveller for so it will be convenient to speak of him was expounding a recondite matter to us " * 2
vocab = sorted(collections.Counter(text))
corpus = torch.tensor([vocab.index(c) for c in text])
windows = corpus.unfold(0, 17, 5)
lm = LMScratch(RNNScratch(len(vocab), 16), len(vocab), lr=1)
log = Trainer(2, gradient_clip_val=1).fit(lm, data.DataLoader(data.TensorDataset(windows[:, :-1], windows[:, 1:]), 8))
print("perplexity", [f"{math.exp(v):.4f}" for v in log[::3]])


class GRUScratch(nn.Module):
    """The gates by hand, with the weights of nn.GRU."""

    def __init__(self, gru):
        super().__init__()
        self.gru = gru

    def forward(self, inputs, H):
        for X in inputs:
            gi = X @ self.gru.weight_ih_l0.T + self.gru.bias_ih_l0
            gh = H @ self.gru.weight_hh_l0.T + self.gru.bias_hh_l0
            (ir, iz, i_n), (hr, hz, hn) = gi.chunk(3, 1), gh.chunk(3, 1)
            R, Z = torch.sigmoid(ir + hr), torch.sigmoid(iz + hz)
            H = Z * H + (1 - Z) * torch.tanh(i_n + R * hn)
        return H


gru, inputs = nn.GRU(5, 7), torch.randn(6, 3, 5)
print(torch.allclose(GRUScratch(gru)(inputs, torch.zeros(3, 7)), gru(inputs)[1][0], atol=1e-6))


def corr2d(X, K):
    h, w = K.shape
    Y = torch.zeros((X.shape[0] - h + 1, X.shape[1] - w + 1))
    for i in range(Y.shape[0]):
        for j in range(Y.shape[1]):
            Y[i, j] = (X[i : i + h, j : j + w] * K).sum()
    return Y


def batch_norm(X, gamma, beta, moving_mean, moving_var, eps, momentum):
    if not torch.is_grad_enabled():
        X_hat = (X - moving_mean) / torch.sqrt(moving_var + eps)
    else:
        mean = X.mean(dim=(0, 2, 3), keepdim=True)
        var = ((X - mean) ** 2).mean(dim=(0, 2, 3), keepdim=True)
        X_hat = (X - mean) / torch.sqrt(var + eps)
        moving_mean = (1.0 - momentum) * moving_mean + momentum * mean
        moving_var = (1.0 - momentum) * moving_var + momentum * var
    return gamma * X_hat + beta, moving_mean.data, moving_var.data


K = torch.tensor([[1.0, -1.0]])
edges = corr2d(torch.cat([torch.ones(6, 2), torch.zeros(6, 4), torch.ones(6, 2)], 1), K)
conv = nn.LazyConv2d(1, kernel_size=(1, 2), bias=False)
image = torch.cat([torch.ones(6, 2), torch.zeros(6, 4), torch.ones(6, 2)], 1).reshape((1, 1, 6, 8))
for i in range(6):
    l2 = (conv(image) - edges.reshape((1, 1, 6, 7))) ** 2
    conv.zero_grad()
    l2.sum().backward()
    conv.weight.data[:] -= 3e-2 * conv.weight.grad
print("edges", edges[0], f"{l2.sum():.4f}", [f"{v:.4f}" for v in conv.weight.data.reshape((1, 2))[0].tolist()])
maps = torch.randn(4, 3, 5, 5)
out, mm, mv = batch_norm(maps, torch.ones(1, 3, 1, 1), 0, torch.zeros(1, 3, 1, 1), torch.ones(1, 3, 1, 1), 1e-5, 0.1)
bn = nn.LazyBatchNorm2d()
print(torch.allclose(bn(maps), out, atol=1e-5), torch.allclose(bn.running_mean, mm.flatten(), atol=1e-6), bn)
attention = torch.softmax(
    torch.einsum("id,jd->ij", features[:4], features[4:9]).masked_fill(torch.arange(5) > 2, -1e6), -1
)
print(
    [f"{v:.5f}" for v in attention[0].tolist()],
    nn.Sequential(nn.LazyConv2d(4, 3), nn.Flatten(), nn.LazyLinear(2))(image).shape,
)
