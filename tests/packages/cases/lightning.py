"""lightning, by both of its names: Trainer.fit with callbacks and checkpoints, Fabric."""

import importlib
import tempfile

import torch
from torch import nn

from ._shared import quiet_trainer


def _parts(package):
    lightning = importlib.import_module(package)

    class Net(lightning.LightningModule):
        def __init__(self, width=8):
            super().__init__()
            self.save_hyperparameters()
            self.net = nn.Sequential(nn.Linear(4, width), nn.ReLU(), nn.Linear(width, 1))

        def training_step(self, batch, index):
            x, y = batch
            loss = nn.functional.mse_loss(self.net(x), y)
            self.log("train_loss", loss)
            return loss

        def validation_step(self, batch, index):
            x, y = batch
            self.log("val_loss", nn.functional.mse_loss(self.net(x), y))

        def configure_optimizers(self):
            optimizer = torch.optim.Adam(self.parameters(), lr=0.05)
            return [optimizer], [torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)]

    x = torch.randn(32, 4)
    data = torch.utils.data.TensorDataset(x, x.sum(1, keepdim=True))
    return lightning, Net, torch.utils.data.DataLoader(data, batch_size=8)


def fit(package="lightning", where="lightning.pytorch.callbacks"):
    lightning, net, loader = _parts(package)
    named = importlib.import_module(where)
    lightning.seed_everything(3, verbose=False)
    with tempfile.TemporaryDirectory() as folder:
        callbacks = [
            named.ModelCheckpoint(dirpath=folder, monitor="val_loss", filename="best"),
            named.EarlyStopping("val_loss", patience=3),
        ]
        options = dict(max_epochs=3, default_root_dir=folder, gradient_clip_val=1.0)
        trainer = quiet_trainer(lightning, callbacks=callbacks, **options)
        model = net()
        trainer.fit(model, loader, loader)
        again = net.load_from_checkpoint(folder + "/best.ckpt")
        checked = trainer.validate(again, loader, verbose=False)
    return {k: v for k, v in trainer.callback_metrics.items()}, checked, again.net[0].weight


def fabric():
    lightning, net, loader = _parts("lightning")
    fabric = lightning.Fabric(accelerator="cpu", devices=1)
    fabric.launch()
    model = nn.Linear(4, 1)
    model, optimizer = fabric.setup(model, torch.optim.SGD(model.parameters(), lr=0.1))
    loader = fabric.setup_dataloaders(loader)
    for x, y in loader:
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        fabric.backward(loss)
        optimizer.step()
    return loss
