"""Save and resume with optimizer, scheduler and random state; weights averaged by swa_utils; the two runs agree."""

import copy
import io
import os
import tempfile

import torch
from torch import nn
from torch.optim.swa_utils import SWALR, AveragedModel, get_ema_multi_avg_fn, update_bn


def build():
    torch.manual_seed(8)
    model = nn.Sequential(
        nn.Linear(6, 16, bias=False), nn.BatchNorm1d(16), nn.SiLU(), nn.Dropout(0.1), nn.Linear(16, 3)
    )
    opt = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=0.05)
    sched = torch.optim.lr_scheduler.SequentialLR(
        opt,
        [
            torch.optim.lr_scheduler.LinearLR(opt, start_factor=0.2, total_iters=4),
            torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=16),
        ],
        milestones=[4],
    )
    return model, opt, sched


X = torch.randn(64, 6, generator=torch.Generator().manual_seed(1))
Y = (X[:, :3].abs() + X[:, 3:]).argmax(1)


def steps(model, opt, sched, n, log):
    model.train()
    for _ in range(n):
        idx = torch.randint(64, (16,))
        loss = nn.functional.cross_entropy(model(X[idx]), Y[idx], label_smoothing=0.1)
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
        log.append(loss.item())


model, opt, sched = build()
straight = []
steps(model, opt, sched, 12, straight)
model, opt, sched = build()
resumed = []
steps(model, opt, sched, 6, resumed)
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "checkpoint.pt")
    torch.save(
        {
            "epoch": 6,
            "model_state_dict": model.state_dict(),
            "optimizer_state_dict": opt.state_dict(),
            "scheduler": sched.state_dict(),
            "rng": torch.get_rng_state(),
            "best": torch.tensor(0.5),
        },
        path,
    )
    model, opt, sched = build()
    ckpt = torch.load(path, map_location="cpu", weights_only=True)
model.load_state_dict(ckpt["model_state_dict"])
opt.load_state_dict(ckpt["optimizer_state_dict"])
sched.load_state_dict(ckpt["scheduler"])
torch.set_rng_state(ckpt["rng"])
steps(model, opt, sched, 6, resumed)
print("same", straight == resumed, ckpt["epoch"], sorted(opt.state_dict()["state"][0]))
print([f"{v:.5f}" for v in resumed[::3]], f"lr {sched.get_last_lr()[0]:.7f}")

buffer = io.BytesIO()
torch.save(model, buffer)
buffer.seek(0)
whole = torch.load(buffer, weights_only=False)
whole.eval(), model.eval()
print("whole model", torch.equal(whole(X), model(X)))

ema = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.9))
swa = AveragedModel(model)
swa_sched = SWALR(opt, swa_lr=0.005, anneal_epochs=2)
for _ in range(4):
    steps(model, opt, swa_sched, 2, [])
    ema.update_parameters(model)
    swa.update_parameters(model)
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(X), batch_size=16)
update_bn(loader, swa)
for name, m in (("model", model), ("ema", ema), ("swa", swa), ("copy", copy.deepcopy(ema))):
    m.eval()
    with torch.no_grad():
        print(f"{name} {nn.functional.cross_entropy(m(X), Y).item():.6f}")
frozen = copy.deepcopy(model)
for p in frozen[0].parameters():
    p.requires_grad = False
print(sum(p.numel() for p in frozen.parameters() if p.requires_grad), list(frozen.state_dict())[:3])
missing = frozen.load_state_dict({k: v for k, v in model.state_dict().items() if not k.startswith("4")}, strict=False)
print(missing)
