"""accelerate: the loop of its README, and models without memory."""

import tempfile

import torch
from torch import nn


def loop():
    from accelerate import Accelerator

    accelerator = Accelerator(cpu=True)
    model = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    data = torch.utils.data.TensorDataset(torch.randn(16, 4), torch.randint(0, 2, (16,)))
    loader = torch.utils.data.DataLoader(data, batch_size=4)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    model, optimizer, loader, scheduler = accelerator.prepare(model, optimizer, loader, scheduler)
    losses = []
    for x, y in loader:
        with accelerator.accumulate(model):
            loss = nn.functional.cross_entropy(model(x), y)
            accelerator.backward(loss)
            accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
        losses.append(accelerator.gather_for_metrics(loss).item())
    with tempfile.TemporaryDirectory() as folder:
        accelerator.save_state(folder)
        accelerator.load_state(folder)
    return losses, accelerator.unwrap_model(model).weight


def empty_weights():
    from accelerate import init_empty_weights, load_checkpoint_and_dispatch

    made = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    with tempfile.TemporaryDirectory() as folder:
        torch.save(made.state_dict(), folder + "/model.bin")
        with init_empty_weights():
            empty = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
        device = str(empty[0].weight.device)
        full = load_checkpoint_and_dispatch(empty, folder + "/model.bin", device_map={"": "cpu"})
    return device, full(torch.ones(1, 4))


def seeds():
    from accelerate.utils import set_seed

    set_seed(5)
    return torch.rand(3)
