"""What the cases of several packages do alike. `worker.py` takes no case from here."""


def losses_of(optimizer, loss_of, steps):
    """The losses of some steps of training; loss_of() computes one."""
    losses = []
    for _ in range(steps):
        loss = loss_of()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def losses_of_language_model(model, steps=3):
    """The losses of training on two rows of words, of the parameters that are not frozen."""
    import torch

    model.eval()
    ids = torch.arange(20).view(2, 10)
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-2)
    return losses_of(optimizer, lambda: model(input_ids=ids, labels=ids).loss, steps)


def quiet_trainer(lightning, **options):
    """A Trainer of lightning that writes and shows nothing but what `options` say."""
    quiet = dict(accelerator="cpu", enable_progress_bar=False, logger=False, enable_model_summary=False)
    return lightning.Trainer(**{**quiet, **options})


def hugging_face_options(folder, **options):
    """Options of transformers' TrainingArguments: on the CPU, each loss noted, nothing saved or shown."""
    quiet = dict(report_to=[], use_cpu=True, logging_steps=1, disable_tqdm=True, save_strategy="no")
    return {"output_dir": folder, **quiet, "per_device_train_batch_size": 4, **options}
