"""Training loops with their options: lightning and fastai."""

import random
import tempfile

import torch
from torch import nn

from ._shared import quiet_trainer


def _lightning_parts():
    import lightning as L

    class Net(L.LightningModule):
        def __init__(self, width=8, lr=0.05):
            super().__init__()
            self.save_hyperparameters()
            self.net = nn.Sequential(nn.Linear(4, width), nn.ReLU(), nn.Dropout(0.1), nn.Linear(width, 2))

        def forward(self, x):
            return self.net(x)

        def training_step(self, batch, index):
            loss = nn.functional.cross_entropy(self(batch[0]), batch[1])
            self.log("loss", loss, on_step=True, on_epoch=True)
            return loss

        def validation_step(self, batch, index):
            self.log("val_loss", nn.functional.cross_entropy(self(batch[0]), batch[1]), prog_bar=True)

        test_step = validation_step

        def configure_optimizers(self):
            optimizer = torch.optim.AdamW(self.parameters(), lr=self.hparams.lr)
            plan = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=1)
            return {"optimizer": optimizer, "lr_scheduler": {"scheduler": plan, "monitor": "val_loss"}}

    class Data(L.LightningDataModule):
        def setup(self, stage):
            g = torch.Generator().manual_seed(1)
            x = torch.randn(40, 4, generator=g)
            self.data = torch.utils.data.TensorDataset(x, (x.sum(1) > 0).long())

        def train_dataloader(self):
            return torch.utils.data.DataLoader(self.data, 8, shuffle=True)

        def val_dataloader(self):
            return torch.utils.data.DataLoader(self.data, 20)

        def test_dataloader(self):
            return self.val_dataloader()

    return L, Net, Data


def lightning_trainer_options():
    L, Net, Data = _lightning_parts()
    from lightning.pytorch import callbacks, loggers, profilers

    found = []
    for options in (
        {"accumulate_grad_batches": 2, "gradient_clip_val": 0.5},
        {"precision": "bf16-mixed", "limit_train_batches": 3},
        {"precision": "64-true", "overfit_batches": 2},
        {"gradient_clip_val": 0.1, "gradient_clip_algorithm": "value", "val_check_interval": 0.5},
        {"detect_anomaly": True, "limit_val_batches": 1, "num_sanity_val_steps": 0},
        {"profiler": profilers.SimpleProfiler(), "max_steps": 6},
        {"max_time": "00:00:10:00", "max_steps": 5},
    ):
        with tempfile.TemporaryDirectory() as folder:
            L.seed_everything(3, verbose=False)
            kept = callbacks.ModelCheckpoint(monitor="val_loss", save_top_k=2, dirpath=folder, filename="{epoch}")
            calls = [
                kept,
                callbacks.EarlyStopping("val_loss", patience=2),
                callbacks.LearningRateMonitor(),
                callbacks.StochasticWeightAveraging(swa_lrs=1e-2, swa_epoch_start=1),
                callbacks.ModelSummary(max_depth=2),
                callbacks.Timer(),
            ]
            trainer = quiet_trainer(
                L,
                devices=1,
                enable_model_summary=True,
                default_root_dir=folder,
                callbacks=calls,
                logger=loggers.CSVLogger(folder),
                log_every_n_steps=1,
                **{"max_epochs": 3, **options},
            )
            model, data = Net(), Data()
            trainer.fit(model, data)
            found.append({k: float(v) for k, v in trainer.callback_metrics.items()})
            found.append(float(sum(p.detach().double().sum() for p in model.parameters())))
    return found


def lightning_files_and_predictions():
    L, Net, Data = _lightning_parts()

    with tempfile.TemporaryDirectory() as folder:
        L.seed_everything(3, verbose=False)
        trainer = quiet_trainer(L, max_epochs=2, default_root_dir=folder)
        model, data = Net(width=6), Data()
        trainer.fit(model, data)
        file = trainer.checkpoint_callback.best_model_path
        again = Net.load_from_checkpoint(file, weights_only=False)
        more = quiet_trainer(L, max_epochs=3, default_root_dir=folder, enable_checkpointing=False)
        more.fit(again, data, ckpt_path=file, weights_only=False)
        tested = more.test(again, data, verbose=False)
        predicted = again.eval()(data.data.tensors[0]).argmax(-1)
        summary = str(L.pytorch.utilities.model_summary.ModelSummary(again, max_depth=-1))
        return dict(again.hparams), tested, predicted, more.global_step, more.current_epoch, summary


def lightning_manual_optimization():
    import lightning as L

    class Two(L.LightningModule):
        def __init__(self):
            super().__init__()
            self.automatic_optimization = False
            self.g, self.d = nn.Linear(2, 2), nn.Linear(2, 1)

        def training_step(self, batch, index):
            g, d = self.optimizers()
            x = batch[0]
            self.toggle_optimizer(d)
            loss = nn.functional.softplus(self.d(self.g(x).detach())).mean() + nn.functional.softplus(-self.d(x)).mean()
            d.zero_grad()
            self.manual_backward(loss)
            self.clip_gradients(d, gradient_clip_val=1.0, gradient_clip_algorithm="norm")
            d.step()
            self.untoggle_optimizer(d)
            self.toggle_optimizer(g)
            loss = nn.functional.softplus(-self.d(self.g(x))).mean()
            g.zero_grad()
            self.manual_backward(loss)
            g.step()
            self.untoggle_optimizer(g)
            self.log_dict({"g": loss})

        def configure_optimizers(self):
            g = torch.optim.Adam(self.g.parameters(), 0.01, betas=(0.5, 0.9))
            d = torch.optim.RMSprop(self.d.parameters(), 0.01)
            return [g, d], [torch.optim.lr_scheduler.ExponentialLR(g, 0.9)]

    L.seed_everything(0, verbose=False)
    data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(16, 2)), 4)
    model = Two()
    trainer = quiet_trainer(L, max_epochs=2, enable_checkpointing=False)
    trainer.fit(model, data)
    return model.g.weight, model.d.weight, trainer.callback_metrics["g"]


def fastai_callbacks():
    from fastai.callback.all import (
        EarlyStoppingCallback,
        GradientAccumulation,
        GradientClip,
        ReduceLROnPlateau,
        SaveModelCallback,
    )
    from fastai.data.all import DataLoaders
    from fastai.learner import Learner
    from fastai.metrics import F1Score, RocAucBinary, accuracy, mae, rmse
    from fastai.losses import CrossEntropyLossFlat, LabelSmoothingCrossEntropy, MSELossFlat
    from fastai.optimizer import Adam, Lookahead, RAdam, ranger

    g = torch.Generator().manual_seed(1)
    x = torch.randn(48, 4, generator=g)
    y = (x.sum(1) > 0).long()
    found = []
    for target, loss, metrics, opt, cbs in (
        (y, CrossEntropyLossFlat(), [accuracy, F1Score()], Adam, [GradientClip(0.5)]),
        (y, LabelSmoothingCrossEntropy(), [accuracy], ranger, [GradientAccumulation(16)]),
        (y, CrossEntropyLossFlat(), [accuracy, RocAucBinary()], RAdam, []),
        (
            x[:, :1] * 2,
            MSELossFlat(),
            [mae, rmse],
            lambda p, lr: Lookahead(Adam(p, lr=lr)),
            [ReduceLROnPlateau(patience=1)],
        ),
    ):
        torch.manual_seed(5)
        random.seed(5)  # fastai shuffles with it
        rows = list(zip(x, target))
        loaders = DataLoaders.from_dsets(rows[:32], rows[32:], bs=8, num_workers=0, device=torch.device("cpu"))
        net = nn.Sequential(
            nn.Linear(4, 8), nn.ReLU(), nn.BatchNorm1d(8), nn.Linear(8, 1 if target.is_floating_point() else 2)
        )
        with tempfile.TemporaryDirectory() as folder:
            learner = Learner(
                loaders,
                net,
                loss_func=loss,
                opt_func=opt,
                metrics=metrics,
                path=folder,
                wd=0.1,
                cbs=[*cbs, SaveModelCallback(), EarlyStoppingCallback(patience=4)],
            )
            with learner.no_bar(), learner.no_logging():
                learner.fit_one_cycle(2, 1e-2)
                learner.fit_flat_cos(1, 1e-3)
                learner.fit_sgdr(2, 1)
                learner.freeze()
                learner.unfreeze()
                found.append([list(map(float, row)) for row in learner.recorder.values])
                found.append(list(learner.validate()))
                preds, targs = learner.get_preds()
                found.append(preds)
                learner.save("weights")
                learner.load("weights")
    return found


def fastai_learning_rate_and_text():
    from fastai.data.all import DataLoaders
    from fastai.learner import Learner
    from fastai.losses import MSELossFlat
    from fastai.callback.schedule import combine_scheds, SchedCos, SchedExp
    from fastai.layers import ConvLayer, PixelShuffle_ICNR, ResBlock, SelfAttention
    from fastai.text.models.awdlstm import AWD_LSTM
    from fastai.vision.models.unet import DynamicUnet
    from fastai.vision.models.xresnet import xresnet18

    g = torch.Generator().manual_seed(1)
    x = torch.randn(64, 4, generator=g)
    rows = list(zip(x, x.sum(1, keepdim=True)))
    random.seed(5)
    loaders = DataLoaders.from_dsets(rows[:48], rows[48:], bs=8, num_workers=0, device=torch.device("cpu"))
    with tempfile.TemporaryDirectory() as folder:
        learner = Learner(loaders, nn.Linear(4, 1), loss_func=MSELossFlat(), path=folder)
        with learner.no_bar(), learner.no_logging():
            found = learner.lr_find(num_it=12, show_plot=False)
    sched = combine_scheds([0.3, 0.7], [SchedCos(0.1, 1.0), SchedExp(1.0, 0.01)])
    torch.manual_seed(0)
    text = AWD_LSTM(50, 12, 16, 2, hidden_p=0.1)
    out = text(torch.arange(12).view(2, 6))
    net = xresnet18(n_out=3).eval()
    image = torch.randn(2, 3, 32, 32)
    body = nn.Sequential(*list(xresnet18().children())[:-4])
    unet = DynamicUnet(body, 2, (32, 32)).eval()
    return (
        found.valley,
        [float(sched(p)) for p in (0.0, 0.2, 0.5, 1.0)],
        out,
        net(image),
        unet(image[:, :, :32, :32]),
        SelfAttention(8)(torch.randn(1, 8, 4, 4)),
        ResBlock(1, 8, 8, sa=True)(torch.randn(1, 8, 6, 6)),
        PixelShuffle_ICNR(4, 4)(torch.randn(1, 4, 3, 3)),
        ConvLayer(3, 4)(image).shape,
    )
