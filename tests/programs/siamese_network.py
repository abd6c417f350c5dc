"""Siamese convolutional network on pairs: shared weights, BCE, weights set by apply, groups by torch.where."""

import random

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class SiameseNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 6, 3, stride=2, padding=1, bias=False),
            nn.BatchNorm2d(6),
            nn.ReLU(inplace=True),
            nn.Conv2d(6, 8, 3, padding=1),
            nn.AdaptiveMaxPool2d((2, 2)),
        )
        self.fc = nn.Sequential(nn.Linear(64, 16), nn.ReLU(inplace=True), nn.Linear(16, 1))
        self.sigmoid = nn.Sigmoid()
        self.features.apply(self.init_weights)
        self.fc.apply(self.init_weights)

    def init_weights(self, m):
        if isinstance(m, nn.Linear):
            torch.nn.init.xavier_uniform_(m.weight)
            m.bias.data.fill_(0.01)

    def forward_once(self, x):
        return self.features(x).view(x.size(0), -1)

    def forward(self, input1, input2):
        output = torch.cat((self.forward_once(input1), self.forward_once(input2)), 1)
        return self.sigmoid(self.fc(output))


class Pairs(Dataset):
    def __init__(self, images, labels):
        self.images, self.labels = images, labels
        self.group = {c: torch.where(labels == c)[0] for c in labels.unique().tolist()}

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        cls = random.choice(sorted(self.group))
        first = self.images[random.choice(self.group[cls].tolist())]
        if index % 2 == 0:
            second, target = self.images[random.choice(self.group[cls].tolist())], torch.tensor(1, dtype=torch.float)
        else:
            other = random.choice([c for c in self.group if c != cls])
            second, target = self.images[random.choice(self.group[other].tolist())], torch.tensor(0.0)
        return first, second, target


random.seed(0)
torch.manual_seed(0)
y = torch.randint(3, (48,))
grid = torch.meshgrid(torch.arange(10), torch.arange(10), indexing="ij")
shapes = torch.stack([((grid[0] + grid[1]) % 3 == 0), (grid[0] % 4 < 2), (grid[0] - grid[1]).abs() < 3]).float()
x = (shapes[y] + 0.3 * torch.randn(48, 10, 10)).unsqueeze(1)
model = SiameseNetwork()
optimizer = torch.optim.Adadelta(model.parameters(), lr=1.0)
scheduler = torch.optim.lr_scheduler.MultiplicativeLR(optimizer, lambda epoch: 0.7)
criterion = nn.BCELoss()
loader = DataLoader(Pairs(x, y), batch_size=12, shuffle=True)
for epoch in range(3):
    for first, second, targets in loader:
        optimizer.zero_grad()
        outputs = model(first, second).squeeze()
        loss = criterion(outputs, targets)
        loss.backward()
        optimizer.step()
    scheduler.step()
    print(f"epoch {epoch} loss {loss.item():.5f} lr {scheduler.get_last_lr()}")
model.eval()
test_loss, correct = 0, 0
with torch.no_grad():
    for a, b, targets in loader:
        outputs = model(a, b).squeeze()
        test_loss += criterion(outputs, targets).sum().item()
        pred = torch.where(outputs > 0.5, 1, 0)
        correct += pred.eq(targets.view_as(pred)).sum().item()
print(f"test {test_loss / len(loader):.5f} {correct}/{len(loader.dataset)}")
weight = torch.rand(5)
print(f"{F.binary_cross_entropy(torch.rand(5), torch.rand(5).round(), weight=weight).item():.6f}")
