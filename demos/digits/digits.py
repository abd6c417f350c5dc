"""Teach a small convolutional network to read handwritten digits.

The data: 1797 scanned digits of 8x8 pixels (UCI handwritten digits).
"""

import gzip
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

EPOCHS = 15
BATCH_SIZE = 32

torch.manual_seed(1)
device = "cpu"
if torch.accelerator.is_available():
    device = torch.accelerator.current_accelerator()


def load_digits():
    """The images, scaled to 0..1 as (1797, 1, 8, 8), and their labels."""
    path = Path(__file__).with_name("digits.bin.gz")
    raw = gzip.decompress(path.read_bytes())
    rows = torch.tensor(list(raw)).view(-1, 65)  # 64 pixels (ink 0..16), 1 label
    return rows[:, :64].float().view(-1, 1, 8, 8) / 16, rows[:, 64]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, kernel_size=3, padding=1)
        self.conv2 = nn.Conv2d(16, 32, kernel_size=3, padding=1)
        self.pool = nn.MaxPool2d(2)
        self.dropout = nn.Dropout(0.3)
        self.fc1 = nn.Linear(32 * 4 * 4, 64)
        self.fc2 = nn.Linear(64, 10)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = self.pool(F.relu(self.conv2(x)))
        x = F.relu(self.fc1(x.flatten(1)))
        return self.fc2(self.dropout(x))


dataset = TensorDataset(*load_digits())
train_set, test_set = random_split(dataset, [1437, 360])
train_loader = DataLoader(train_set, batch_size=BATCH_SIZE, shuffle=True)
test_loader = DataLoader(test_set, batch_size=len(test_set))

model = Net().to(device)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
size = sum(p.numel() for p in model.parameters())
print(f"{size:,} parameters, {len(train_set)} digits to learn from, on {device}")

for epoch in range(1, EPOCHS + 1):
    model.train()
    total = 0.0
    for images, labels in train_loader:
        images, labels = images.to(device), labels.to(device)
        optimizer.zero_grad()
        loss = criterion(model(images), labels)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(labels)

    model.eval()
    correct = 0
    with torch.no_grad():
        for images, labels in test_loader:
            images, labels = images.to(device), labels.to(device)
            guesses = model(images).argmax(dim=1)
            correct += (guesses == labels).sum().item()

    loss, accuracy = total / len(train_set), correct / len(test_set)
    print(f"epoch {epoch:2d}/{EPOCHS}  loss {loss:.4f}  test accuracy {accuracy:.1%}")
