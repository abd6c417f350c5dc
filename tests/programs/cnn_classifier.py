"""Image classification with convolutions, BatchNorm and Dropout: DataLoader, train and eval, StepLR, accuracy."""

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import DataLoader, TensorDataset, random_split


class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()  # noqa: UP008  (as older programs write it)
        self.conv1 = nn.Conv2d(1, 8, 3, 1)
        self.bn1 = nn.BatchNorm2d(8)
        self.conv2 = nn.Conv2d(8, 16, 3, 1, padding="same", bias=False)
        self.bn2 = nn.BatchNorm2d(16)
        self.dropout1 = nn.Dropout2d(0.25)
        self.dropout2 = nn.Dropout(0.5)
        self.fc1 = nn.Linear(16 * 49, 32)
        self.fc2 = nn.Linear(32, 10)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        x = F.relu(self.bn2(self.conv2(x)), inplace=True)
        x = F.max_pool2d(x, 2)
        x = self.dropout1(x)
        x = torch.flatten(x, 1)
        x = self.dropout2(F.relu(self.fc1(x)))
        return F.log_softmax(self.fc2(x), dim=1)


def train(model, loader, optimizer, epoch):
    model.train()
    for batch_idx, (data, target) in enumerate(loader):
        optimizer.zero_grad()
        loss = F.nll_loss(model(data), target)
        loss.backward()
        optimizer.step()
        if batch_idx % 4 == 0:
            print(
                "Train Epoch: {} [{}/{}] Loss: {:.6f}".format(
                    epoch, batch_idx * len(data), len(loader.dataset), loss.item()
                )
            )


def test(model, loader):
    model.eval()
    test_loss, correct = 0, 0
    with torch.no_grad():
        for data, target in loader:
            output = model(data)
            test_loss += F.nll_loss(output, target, reduction="sum").item()
            pred = output.argmax(dim=1, keepdim=True)
            correct += pred.eq(target.view_as(pred)).sum().item()
    n = len(loader.dataset)
    print(
        "Test: Average loss: {:.5f}, Accuracy: {}/{} ({:.0f}%)".format(test_loss / n, correct, n, 100.0 * correct / n)
    )


def main():
    torch.manual_seed(1)
    labels = torch.randint(0, 10, (320,))
    prototypes = torch.rand(10, 1, 16, 16)
    images = (prototypes[labels] + 0.3 * torch.randn(320, 1, 16, 16)).clamp(0, 1)
    mean, std = images.mean(), images.std()
    dataset = TensorDataset((images - mean) / std, labels)
    train_set, test_set = random_split(dataset, [0.8, 0.2], generator=torch.Generator().manual_seed(42))
    train_loader = DataLoader(train_set, batch_size=32, shuffle=True, drop_last=True)
    test_loader = DataLoader(test_set, batch_size=50)
    model = Net()
    print(model)
    print(sum(p.numel() for p in model.parameters() if p.requires_grad), "parameters")
    optimizer = optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True, weight_decay=1e-4)
    scheduler = StepLR(optimizer, step_size=1, gamma=0.7)
    for epoch in range(1, 4):
        train(model, train_loader, optimizer, epoch)
        test(model, test_loader)
        scheduler.step()
    print("running mean", [round(v, 4) for v in model.bn1.running_mean.tolist()], model.bn1.num_batches_tracked.item())


if __name__ == "__main__":
    main()
