"""Trainers with their options: transformers' Trainer and accelerate."""

import pathlib
import tempfile

import torch
from torch import nn

from ._shared import hugging_face_options


class _Rows(torch.utils.data.Dataset):
    """Sentences of unequal lengths."""

    def __init__(self, count=24):
        g = torch.Generator().manual_seed(4)
        self.rows = [torch.randint(1, 97, (3 + i % 6,), generator=g) for i in range(count)]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return {"input_ids": self.rows[i], "labels": int(self.rows[i].sum() % 2)}


def _classifier(**more):
    import transformers

    torch.manual_seed(2)
    config = transformers.BertConfig(
        vocab_size=97,
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=24,
        hidden_dropout_prob=0,
        attention_probs_dropout_prob=0,
        num_labels=2,
        **more,
    )
    return transformers.BertForSequenceClassification(config)


def _collate(rows):
    width = max(len(row["input_ids"]) for row in rows)
    ids = torch.zeros(len(rows), width, dtype=torch.int64)
    for i, row in enumerate(rows):
        ids[i, : len(row["input_ids"])] = row["input_ids"]
    return {"input_ids": ids, "attention_mask": (ids != 0).long(), "labels": torch.tensor([r["labels"] for r in rows])}


def _run(folder, model=None, **options):
    import transformers

    options = {"seed": 1, "learning_rate": 1e-2, "num_train_epochs": 1, **options}
    args = transformers.TrainingArguments(**hugging_face_options(folder, **options))
    return transformers.Trainer(
        model=model or _classifier(),
        args=args,
        train_dataset=_Rows(),
        eval_dataset=_Rows(10),
        data_collator=_collate,
        compute_metrics=lambda p: {"accuracy": float((p.predictions.argmax(-1) == p.label_ids).mean())},
    )


def _losses(run):
    return [round(entry["loss"], 4) for entry in run.state.log_history if "loss" in entry]


def trainer_with_options():
    found = []
    for options in (
        {"gradient_accumulation_steps": 2, "max_grad_norm": 0.5, "warmup_steps": 2, "lr_scheduler_type": "cosine"},
        {"optim": "adafactor", "lr_scheduler_type": "constant"},
        {"optim": "sgd", "weight_decay": 0.1, "label_smoothing_factor": 0.1},
        {"bf16": True, "max_steps": 3},
        {"gradient_checkpointing": True, "max_steps": 3},
        {"optim": "rmsprop", "max_steps": 3, "lr_scheduler_type": "polynomial"},
        {"train_sampling_strategy": "group_by_length", "max_steps": 3},
        {"neftune_noise_alpha": 5.0, "max_steps": 3},
        {"auto_find_batch_size": True, "max_steps": 2},
        {"torch_compile": True, "max_steps": 2},
    ):
        with tempfile.TemporaryDirectory() as folder:
            run = _run(folder, **options)
            run.train()
            found.append(_losses(run))
    return found


def trainer_resumes_and_keeps_the_best():
    import transformers

    with tempfile.TemporaryDirectory() as folder:
        options = dict(
            num_train_epochs=2,
            save_strategy="epoch",
            eval_strategy="epoch",
            load_best_model_at_end=True,
            metric_for_best_model="accuracy",
            save_total_limit=2,
        )
        run = _run(folder, **options)
        run.add_callback(transformers.EarlyStoppingCallback(early_stopping_patience=3))
        run.train()
        first = _losses(run)
        kept = sorted(p.name for p in pathlib.Path(folder).iterdir())
        again = _run(folder, **options)
        again.train(resume_from_checkpoint=str(pathlib.Path(folder) / kept[0]))
        predicted = again.predict(_Rows(6))
        return first, kept, _losses(again), torch.from_numpy(predicted.predictions), predicted.metrics["test_accuracy"]


def trainer_of_language_models():
    import tokenizers
    import transformers

    words = {
        w: i for i, w in enumerate(["[PAD]", "[UNK]", "[MASK]", "[CLS]", "[SEP]", *"the a good bad film was".split()])
    }
    inner = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="[UNK]"))
    inner.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=inner, pad_token="[PAD]", unk_token="[UNK]", mask_token="[MASK]", eos_token="[SEP]"
    )
    rows = [tokenizer(text) for text in ("a good film", "the film was bad", "the bad film", "a film") * 3]
    torch.manual_seed(0)
    found = []
    for mlm in (True, False):
        kind = transformers.BertForMaskedLM if mlm else transformers.GPT2LMHeadModel
        config = (
            transformers.BertConfig(
                vocab_size=11, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=24
            )
            if mlm
            else transformers.GPT2Config(vocab_size=11, n_embd=16, n_layer=1, n_head=2, n_positions=16)
        )
        with tempfile.TemporaryDirectory() as folder:
            args = transformers.TrainingArguments(**hugging_face_options(folder, seed=3, num_train_epochs=1))
            collate = transformers.DataCollatorForLanguageModeling(tokenizer, mlm=mlm, mlm_probability=0.4)
            run = transformers.Trainer(model=kind(config), args=args, train_dataset=rows, data_collator=collate)
            run.train()
            found.append(_losses(run))
    return found


def seq2seq_trainer():
    import transformers

    config = transformers.T5Config(
        vocab_size=97, d_model=16, d_kv=8, d_ff=24, num_layers=1, num_heads=2, dropout_rate=0, decoder_start_token_id=0
    )
    torch.manual_seed(0)
    model = transformers.T5ForConditionalGeneration(config)

    def collate(rows):
        batch = _collate(rows)
        batch["labels"] = batch["input_ids"].masked_fill(batch["input_ids"] == 0, -100)
        return batch

    with tempfile.TemporaryDirectory() as folder:
        options = hugging_face_options(folder, seed=3, max_steps=3, learning_rate=1e-2)
        args = transformers.Seq2SeqTrainingArguments(**options, predict_with_generate=True, generation_max_length=6)
        run = transformers.Seq2SeqTrainer(
            model=model, args=args, train_dataset=_Rows(), eval_dataset=_Rows(6), data_collator=collate
        )
        run.train()
        return _losses(run), run.predict(_Rows(6)).predictions.tolist(), run.evaluate()["eval_loss"]


def accelerate_device_map():
    import accelerate
    import transformers

    model = _classifier()
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder, max_shard_size="8KB")
        files = sorted(p.name for p in pathlib.Path(folder).iterdir())
        auto = transformers.AutoModelForSequenceClassification.from_pretrained(folder, device_map="auto")
        low = transformers.AutoModelForSequenceClassification.from_pretrained(
            folder, device_map={"": "cpu"}, dtype=torch.bfloat16
        )
        with accelerate.init_empty_weights():
            empty = _classifier()
        sizes = accelerate.utils.compute_module_sizes(empty)
        plan = accelerate.infer_auto_device_map(empty, max_memory={"cpu": 20_000, "disk": 10**9})
        accelerate.load_checkpoint_in_model(empty, folder, device_map={"": "cpu"})
    ids = torch.arange(1, 7).view(1, 6)
    return len(files), auto(ids).logits, low(ids).logits, sizes[""], dict(plan), empty(ids).logits, str(auto.device)


def accelerate_offload_and_hooks():
    import accelerate
    from accelerate.hooks import ModelHook, add_hook_to_module, remove_hook_from_module

    net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 2)).eval()
    x = torch.randn(3, 4)
    whole = net(x)
    accelerate.cpu_offload(net, execution_device=torch.device("cpu"))
    off = net(x)

    class Doubled(ModelHook):
        def post_forward(self, module, output):
            return output * 2

    plain = nn.Linear(4, 2)
    add_hook_to_module(plain, Doubled())
    twice = plain(x)
    remove_hook_from_module(plain)
    with tempfile.TemporaryDirectory() as folder:
        other = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
        before = other(x)
        accelerate.disk_offload(other, folder, execution_device=torch.device("cpu"))
        disk = other(x)
    return whole, off, str(net[0].weight.device), twice - 2 * plain(x), before, disk


def accelerate_loop_with_options():
    from accelerate import Accelerator
    from accelerate.state import AcceleratorState
    from accelerate.utils import DataLoaderConfiguration, ProjectConfiguration

    AcceleratorState._reset_state(True)
    with tempfile.TemporaryDirectory() as folder:
        accelerator = Accelerator(
            cpu=True,
            mixed_precision="bf16",
            gradient_accumulation_steps=2,
            log_with=None,
            project_config=ProjectConfiguration(project_dir=folder, automatic_checkpoint_naming=True, total_limit=1),
            dataloader_config=DataLoaderConfiguration(split_batches=True, dispatch_batches=False),
        )
        model = nn.Sequential(nn.Linear(4, 8), nn.LayerNorm(8), nn.Linear(8, 2))
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.05)
        data = torch.utils.data.TensorDataset(torch.randn(22, 4), torch.randint(0, 2, (22,)))
        loader = torch.utils.data.DataLoader(data, batch_size=4, shuffle=True)
        scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=20)
        model, optimizer, loader, scheduler = accelerator.prepare(model, optimizer, loader, scheduler)
        accelerator.register_for_checkpointing(scheduler)
        losses = []
        for epoch in range(2):
            for x, y in loader:
                with accelerator.accumulate(model), accelerator.autocast():
                    loss = nn.functional.cross_entropy(model(x), y)
                    accelerator.backward(loss)
                    if accelerator.sync_gradients:
                        accelerator.clip_grad_value_(model.parameters(), 0.3)
                    optimizer.step()
                    scheduler.step()
                    optimizer.zero_grad()
                losses.append(loss.item())
            accelerator.save_state()
        rest = accelerator.skip_first_batches(loader, 3)
        accelerator.load_state(folder + "/checkpoints/checkpoint_1")
        gathered = accelerator.gather_for_metrics(torch.arange(3))
        padded = accelerator.pad_across_processes(torch.ones(2, 3), dim=1)
        accelerator.save_model(model, folder + "/model", max_shard_size="1KB")
        saved = sorted(p.name for p in pathlib.Path(folder, "model").iterdir())
        return (
            losses,
            len(list(rest)),
            gathered,
            padded,
            saved,
            accelerator.reduce(torch.ones(2), "mean"),
            str(accelerator.state)[:60],
        )
