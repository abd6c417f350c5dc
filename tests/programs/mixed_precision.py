"""The automatic mixed precision recipe on the CPU: autocast to bfloat16, a GradScaler that is off, accumulation."""

import torch
import torch.nn as nn

torch.manual_seed(10)
device = "cpu"


def make_model(in_size, out_size, num_layers):
    layers = []
    for _ in range(num_layers - 1):
        layers.append(torch.nn.Linear(in_size, in_size))
        layers.append(torch.nn.ReLU())
    layers.append(torch.nn.Linear(in_size, out_size))
    return torch.nn.Sequential(*tuple(layers))


data = [torch.randn(16, 24) for _ in range(4)]
targets = [torch.randn(16, 6) for _ in range(4)]
loss_fn = torch.nn.MSELoss()
for amp in (False, True):
    torch.manual_seed(1)
    net = make_model(24, 6, 3)
    opt = torch.optim.SGD(net.parameters(), lr=0.05)
    scaler = torch.amp.GradScaler("cuda", enabled=False)
    for epoch in range(2):
        for input, target in zip(data, targets):
            with torch.autocast(device_type=device, dtype=torch.bfloat16, enabled=amp):
                output = net(input)
                assert output.dtype is (torch.bfloat16 if amp else torch.float32)
                loss = loss_fn(output, target)
                assert loss.dtype is torch.float32
            scaler.scale(loss).backward()
            scaler.unscale_(opt)
            torch.nn.utils.clip_grad_norm_(net.parameters(), max_norm=0.5)
            scaler.step(opt)
            scaler.update()
            opt.zero_grad()
        print(f"amp {amp} epoch {epoch} loss {loss.item():.3f}")
print(scaler.get_scale(), scaler.is_enabled(), scaler.state_dict())

conv, norm = nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4)
x = torch.randn(2, 2, 6, 6)
with torch.autocast("cpu"):
    a = conv(x)
    b = norm(a)
    c = a.flatten(1) @ a.flatten(1).T
    d = torch.softmax(c, -1)
    with torch.autocast("cpu", enabled=False):
        e = a.float() + 1
    f = torch.addmm(torch.zeros(2, 2), torch.ones(2, 3), torch.ones(3, 2))
    g = torch.nn.functional.cross_entropy(c, torch.tensor([0, 1]))
    print([t.dtype for t in (a, b, c, d, e, f, g)], torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu"))
print(torch.is_autocast_enabled("cpu"), torch.amp.is_autocast_available("cpu"))


@torch.autocast("cpu", dtype=torch.bfloat16)
def decorated(a, b):
    return torch.mm(a, b)


print(decorated(torch.eye(2), torch.eye(2)).dtype)
accumulation, model = 3, make_model(8, 2, 2)
opt = torch.optim.AdamW(model.parameters(), lr=1e-2)
batches = [(torch.randn(4, 8), torch.randint(2, (4,))) for _ in range(7)]
for i, (inputs, labels) in enumerate(batches):
    loss = nn.functional.cross_entropy(model(inputs), labels) / accumulation
    loss.backward()
    if (i + 1) % accumulation == 0 or i + 1 == len(batches):
        total = nn.utils.get_total_norm([p.grad for p in model.parameters()])
        nn.utils.clip_grads_with_norm_(model.parameters(), 1.0, total)
        opt.step()
        opt.zero_grad()
        print(f"update at {i} norm {total.item():.6f} loss {loss.item():.6f}")
for _ in range(2):
    opt.zero_grad()
    out = nn.functional.cross_entropy(model(batches[0][0]), batches[0][1])
    grads = torch.autograd.grad(out, model.parameters(), create_graph=True)
    penalty = sum(g.pow(2).sum() for g in grads).sqrt()
    (out + 0.1 * penalty).backward()
    opt.step()
    print(f"penalty {penalty.item():.6f} {out.item():.6f}")
half = torch.randn(3, 3, generator=torch.Generator().manual_seed(0)).to(torch.bfloat16)
print(half, half.sum().dtype, (half + torch.ones(3)).dtype, (half * 2.5).dtype, half.float().half()[0])
print(
    torch.finfo(torch.bfloat16).eps,
    torch.finfo(torch.float16).max,
    torch.iinfo(torch.int16).min,
    torch.bfloat16.itemsize,
)
whole = make_model(8, 2, 2).to(torch.bfloat16)
print(whole(batches[0][0].bfloat16()).dtype, next(whole.parameters()).dtype, next(whole.double().parameters()).dtype)
