"""Transfer learning with a small residual network: frozen layers, a new head, the best weights, features by hooks."""

import os
import tempfile
import time
from collections import OrderedDict

import torch
import torch.nn as nn
from torch.optim import lr_scheduler
from torch.utils.data import DataLoader, TensorDataset


class BasicBlock(nn.Module):
    expansion: int = 1

    def __init__(self, inplanes, planes, stride=1, downsample=None, norm_layer=nn.BatchNorm2d):
        super().__init__()
        self.conv1 = nn.Conv2d(inplanes, planes, 3, stride=stride, padding=1, bias=False)
        self.bn1 = norm_layer(planes)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(planes, planes, 3, padding=1, bias=False)
        self.bn2 = norm_layer(planes)
        self.downsample = downsample

    def forward(self, x):
        identity = x if self.downsample is None else self.downsample(x)
        out = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        out += identity
        return self.relu(out)


class ResNet(nn.Module):
    def __init__(self, layers, num_classes=5, zero_init_residual=True):
        super().__init__()
        self.inplanes = 6
        self.conv1 = nn.Conv2d(3, 6, kernel_size=3, padding=1, bias=False, padding_mode="reflect")
        self.bn1 = nn.BatchNorm2d(6)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(kernel_size=3, stride=2, padding=1)
        self.layer1 = self._make_layer(6, layers[0])
        self.layer2 = self._make_layer(12, layers[1], stride=2)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(12, num_classes)
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")
            elif isinstance(m, (nn.BatchNorm2d, nn.GroupNorm)):
                nn.init.constant_(m.weight, 1)
                nn.init.constant_(m.bias, 0)
        if zero_init_residual:
            for m in self.modules():
                if isinstance(m, BasicBlock) and m.bn2.weight is not None:
                    nn.init.constant_(m.bn2.weight, 0)

    def _make_layer(self, planes, blocks, stride=1):
        downsample = None
        if stride != 1 or self.inplanes != planes:
            downsample = nn.Sequential(nn.Conv2d(self.inplanes, planes, 1, stride, bias=False), nn.BatchNorm2d(planes))
        layers = [BasicBlock(self.inplanes, planes, stride, downsample)]
        self.inplanes = planes
        layers.extend(BasicBlock(planes, planes) for _ in range(1, blocks))
        return nn.Sequential(*layers)

    def forward(self, x):
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer2(self.layer1(x))
        return self.fc(torch.flatten(self.avgpool(x), 1))


def train_model(model, criterion, optimizer, scheduler, dataloaders, num_epochs):
    since = time.time()
    with tempfile.TemporaryDirectory() as tempdir:
        path = os.path.join(tempdir, "best_model_params.pt")
        torch.save(model.state_dict(), path)
        best_acc = 0.0
        for epoch in range(num_epochs):
            for phase in ["train", "val"]:
                model.train() if phase == "train" else model.eval()
                running_loss, running_corrects = 0.0, 0
                for inputs, labels in dataloaders[phase]:
                    optimizer.zero_grad()
                    with torch.set_grad_enabled(phase == "train"):
                        outputs = model(inputs)
                        _, preds = torch.max(outputs, 1)
                        loss = criterion(outputs, labels)
                        if phase == "train":
                            loss.backward()
                            optimizer.step()
                    running_loss += loss.item() * inputs.size(0)
                    running_corrects += torch.sum(preds == labels.data)
                if phase == "train":
                    scheduler.step()
                count = len(dataloaders[phase].dataset)
                epoch_acc = running_corrects.float() / count
                print(f"{epoch} {phase} Loss: {running_loss / count:.4f} Acc: {epoch_acc:.4f}")
                if phase == "val" and epoch_acc > best_acc:
                    best_acc = epoch_acc
                    torch.save(model.state_dict(), path)
        assert time.time() >= since
        model.load_state_dict(torch.load(path, weights_only=True))
    return model


def images(n, classes, seed):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(classes, (n,), generator=g)
    base = torch.randn(classes, 3, 12, 12, generator=torch.Generator().manual_seed(classes))
    return TensorDataset(base[y] + 0.7 * torch.randn(n, 3, 12, 12, generator=g), y)


torch.manual_seed(11)
source = ResNet([1, 2])
opt = torch.optim.SGD(source.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
for x, y in DataLoader(images(64, 5, 0), batch_size=16, shuffle=True):
    opt.zero_grad()
    loss = nn.functional.cross_entropy(source(x), y)
    loss.backward()
    opt.step()
print(f"source {loss.item():.5f}")
loaders = {"train": DataLoader(images(40, 2, 1), 10, shuffle=True), "val": DataLoader(images(20, 2, 2), 10)}
for fixed in (False, True):
    model = ResNet([1, 2])
    model.load_state_dict(source.state_dict())
    if fixed:
        for param in model.parameters():
            param.requires_grad = False
    num_ftrs = model.fc.in_features
    model.fc = nn.Linear(num_ftrs, 2)
    chosen = model.fc.parameters() if fixed else model.parameters()
    optimizer = torch.optim.SGD(chosen, lr=0.01, momentum=0.9)
    scheduler = lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.1)
    model = train_model(model, nn.CrossEntropyLoss(), optimizer, scheduler, loaders, 2)
    print(sum(p.requires_grad for p in model.parameters()), [n for n, _ in model.named_children()])
activation = {}


def get_activation(name):
    def hook(module, input, output):
        activation[name] = output.detach()

    return hook


handles = [getattr(model, n).register_forward_hook(get_activation(n)) for n in ("layer1", "avgpool")]
model.eval()
with torch.no_grad():
    model(loaders["val"].dataset.tensors[0][:2])
for h in handles:
    h.remove()
print({k: (tuple(v.shape), f"{v.abs().mean().item():.5f}") for k, v in activation.items()})
backbone = nn.Sequential(OrderedDict(list(model.named_children())[:-1]))
backbone.add_module("flat", nn.Flatten())
print(tuple(backbone(torch.zeros(1, 3, 12, 12)).shape), len(backbone), model.layer2[0].downsample[0])
