"""transformers: small random models of several kinds, as its documentation builds, trains, saves and runs them."""

import tempfile

import torch

from ._shared import hugging_face_options


def _small(name, **more):
    import transformers

    config = getattr(transformers, name + "Config")
    sizes = dict(vocab_size=97, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48)
    return transformers, config(**sizes, **more)


def _step(model, **inputs):
    model.train()
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    losses = []
    for _ in range(2):
        loss = model(**inputs).loss
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    return losses


def bert():
    transformers, config = _small("Bert")
    model = transformers.BertForMaskedLM(config)
    ids = torch.randint(0, 97, (2, 9))
    return _step(model, input_ids=ids, attention_mask=torch.ones_like(ids), labels=ids)


def bert_classifier():
    transformers, config = _small("Bert", num_labels=3)
    model = transformers.BertForSequenceClassification(config).eval()
    ids = torch.randint(0, 97, (2, 9))
    mask = torch.ones_like(ids)
    mask[1, 5:] = 0
    return model(input_ids=ids, attention_mask=mask, labels=torch.tensor([0, 2]))


def gpt2():
    import transformers

    config = transformers.GPT2Config(vocab_size=97, n_embd=32, n_layer=2, n_head=4, n_positions=64)
    model = transformers.GPT2LMHeadModel(config)
    ids = torch.randint(0, 97, (2, 9))
    losses = _step(model, input_ids=ids, labels=ids)
    model.eval()
    greedy = model.generate(ids[:1], max_new_tokens=6, do_sample=False, pad_token_id=0)
    torch.manual_seed(3)
    drawn = model.generate(ids[:1], max_new_tokens=6, do_sample=True, top_k=20, top_p=0.9, pad_token_id=0)
    beams = model.generate(ids[:1], max_new_tokens=6, num_beams=3, pad_token_id=0)
    return losses, greedy, drawn, beams


def llama():
    transformers, config = _small("Llama", num_key_value_heads=2)
    model = transformers.LlamaForCausalLM(config)
    ids = torch.randint(0, 97, (2, 9))
    losses = _step(model, input_ids=ids, labels=ids)
    return losses, model.eval().generate(ids, max_new_tokens=5, do_sample=False, pad_token_id=0)


def mixtral():
    transformers, config = _small("Mixtral", num_key_value_heads=2, num_local_experts=4)
    model = transformers.MixtralForCausalLM(config)
    ids = torch.randint(0, 97, (2, 9))
    return _step(model, input_ids=ids, labels=ids)


def qwen2():
    transformers, config = _small("Qwen2", num_key_value_heads=2)
    model = transformers.Qwen2ForCausalLM(config)
    ids = torch.randint(0, 97, (2, 9))
    return _step(model, input_ids=ids, labels=ids)


def t5():
    import transformers

    config = transformers.T5Config(vocab_size=97, d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4)
    config.decoder_start_token_id = 0
    model = transformers.T5ForConditionalGeneration(config)
    ids = torch.randint(1, 97, (2, 9))
    losses = _step(model, input_ids=ids, labels=ids[:, :5].contiguous())
    return losses, model.eval().generate(ids, max_new_tokens=5, do_sample=False)


def vit():
    transformers, _ = _small("Bert")
    config = transformers.ViTConfig(
        hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48, image_size=32, patch_size=8
    )
    model = transformers.ViTForImageClassification(config)
    return _step(model, pixel_values=torch.randn(2, 3, 32, 32), labels=torch.tensor([0, 1]))


def clip():
    import transformers

    sizes = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48)
    text = dict(sizes, vocab_size=97, eos_token_id=96, bos_token_id=95)
    config = transformers.CLIPConfig(text_config=text, vision_config=dict(sizes, image_size=32, patch_size=8))
    model = transformers.CLIPModel(config).eval()
    out = model(
        input_ids=torch.randint(0, 97, (2, 7)),
        pixel_values=torch.randn(2, 3, 32, 32),
        attention_mask=torch.ones(2, 7, dtype=torch.long),
    )
    return out.logits_per_image, out.text_embeds


def whisper():
    import transformers

    config = transformers.WhisperConfig(
        vocab_size=97, d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
        decoder_attention_heads=4, encoder_ffn_dim=48, decoder_ffn_dim=48, max_source_positions=20,
        max_target_positions=20, num_mel_bins=8, pad_token_id=0, bos_token_id=1, eos_token_id=2,
        decoder_start_token_id=1, suppress_tokens=None, begin_suppress_tokens=None,
    )  # fmt: skip
    model = transformers.WhisperForConditionalGeneration(config).eval()
    return model(input_features=torch.randn(1, 8, 40), decoder_input_ids=torch.tensor([[1, 5, 9]])).logits


def save_and_load():
    transformers, config = _small("Bert")
    model = transformers.BertModel(config).eval()
    ids = torch.randint(0, 97, (2, 9))
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        again = transformers.AutoModel.from_pretrained(folder).eval()
        half = transformers.AutoModel.from_pretrained(folder, dtype=torch.bfloat16)
    same = torch.equal(model(ids).last_hidden_state, again(ids).last_hidden_state)
    return same, again(ids).pooler_output, str(half.dtype)


class _Rows(torch.utils.data.Dataset):
    def __init__(self):
        self.ids = torch.randint(0, 97, (24, 8))

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, i):
        return {"input_ids": self.ids[i], "labels": self.ids[i]}


def trainer():
    import transformers

    config = transformers.GPT2Config(
        vocab_size=97, n_embd=16, n_layer=1, n_head=2, n_positions=16, resid_pdrop=0, embd_pdrop=0, attn_pdrop=0
    )
    model = transformers.GPT2LMHeadModel(config)
    with tempfile.TemporaryDirectory() as folder:
        options = dict(num_train_epochs=1, per_device_train_batch_size=8, save_strategy="epoch", seed=1)
        args = transformers.TrainingArguments(**hugging_face_options(folder, **options, learning_rate=1e-2))
        rows = _Rows()
        run = transformers.Trainer(model=model, args=args, train_dataset=rows, eval_dataset=rows)
        run.train()
        evaluated = run.evaluate()
        losses = [entry["loss"] for entry in run.state.log_history if "loss" in entry]
    return losses, evaluated["eval_loss"]


def pipeline():
    import tokenizers
    import transformers

    words = {w: i for i, w in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "good", "bad", "film", "a", "the"])}
    inner = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="[UNK]"))
    inner.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=inner, pad_token="[PAD]", unk_token="[UNK]")
    _, config = _small("Bert", num_labels=2)
    model = transformers.BertForSequenceClassification(config)
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        run = transformers.pipeline("text-classification", model=folder, device="cpu")
        return run(["a good film", "the bad film a a"])
