"""transformers: more architectures, each by its configuration: two training steps, and `generate` where it has it."""

import torch

from .transformers import _step

_SIZES = {
    "vocab_size": 97, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48,
    "max_position_embeddings": 64, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
}  # fmt: skip
_ENCODER = {
    "d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4, "decoder_attention_heads": 4,
    "encoder_ffn_dim": 48, "decoder_ffn_dim": 48, "vocab_size": 97, "max_position_embeddings": 64, "pad_token_id": 0,
    "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1, "forced_eos_token_id": None,
}  # fmt: skip
_VISION = {
    "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48, "image_size": 32,
    "patch_size": 8, "num_labels": 3,
}  # fmt: skip
_AUDIO = {
    "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48, "vocab_size": 20,
    "conv_dim": (16, 16), "conv_stride": (4, 2), "conv_kernel": (8, 4), "num_feat_extract_layers": 2,
    "num_conv_pos_embeddings": 8, "num_conv_pos_embedding_groups": 4, "apply_spec_augment": False, "pad_token_id": 0,
    "mask_time_prob": 0.0, "layerdrop": 0.0,
}  # fmt: skip
_GROUPED = {"num_key_value_heads": 2}
_CAUSAL = {
    "opt": ("OPT", {"ffn_dim": 48, "word_embed_proj_dim": 32}),
    "bloom": ("Bloom", {"n_layer": 2, "n_head": 4}),
    "falcon": ("Falcon", {"multi_query": True}),
    "gpt_neox": ("GPTNeoX", {}),
    "gptj": ("GPTJ", {"n_embd": 32, "n_layer": 2, "n_head": 4, "rotary_dim": 4, "n_positions": 64}),
    "mistral": ("Mistral", {**_GROUPED, "sliding_window": 4}),
    "gemma": ("Gemma", {**_GROUPED, "head_dim": 8}),
    "gemma2": ("Gemma2", {**_GROUPED, "head_dim": 8, "sliding_window": 4}),
    "phi": ("Phi", {}),
    "phi3": ("Phi3", _GROUPED),
    "qwen3": ("Qwen3", {**_GROUPED, "head_dim": 8}),
    "olmo": ("Olmo", {}),
    "stablelm": ("StableLm", {"num_key_value_heads": 4}),
    "cohere": ("Cohere", _GROUPED),
    "starcoder2": ("Starcoder2", _GROUPED),
    "mamba": ("Mamba", {"state_size": 4}),
}
_MASKED = {
    "distilbert": ("DistilBert", {"dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 48}),
    "roberta": ("Roberta", {}),
    "electra": ("Electra", {"embedding_size": 16}),
    "albert": ("Albert", {"embedding_size": 16}),
    "deberta_v2": ("DebertaV2", {"relative_attention": True, "pos_att_type": ["c2p", "p2c"]}),
    "camembert": ("Camembert", {}),
    "mpnet": ("MPNet", {}),
    "fnet": ("FNet", {}),
}
_IMAGES = {
    "deit": ("DeiT", _VISION), "beit": ("Beit", _VISION), "dinov2": ("Dinov2", {**_VISION, "mlp_ratio": 2}),
    "convnext": ("ConvNext", {"hidden_sizes": [8, 16], "depths": [1, 1], "num_stages": 2, "num_labels": 3}),
    "resnet": ("ResNet", {"embedding_size": 8, "hidden_sizes": [8, 16], "depths": [1, 1], "num_labels": 3}),
    "swin": ("Swin", {"image_size": 32, "patch_size": 4, "embed_dim": 8, "depths": [1, 1], "num_heads": [2, 2],
                      "window_size": 4, "num_labels": 3}),
    "mobilevit": ("MobileViT", {"image_size": 32, "hidden_sizes": [16, 24, 32], "num_labels": 3,
                                "neck_hidden_sizes": [8, 8, 16, 16, 24, 24, 32]}),
}  # fmt: skip


def _make(kind, name, head, sizes):
    import transformers

    config = getattr(transformers, name + "Config")(**sizes)
    return kind, getattr(transformers, name + head)(config)


def _causal(name, more):
    _, model = _make("causal", name, "ForCausalLM", {**_SIZES, **more})
    ids = torch.randint(3, 97, (2, 9))
    losses = _step(model, input_ids=ids, labels=ids)
    return losses, model.eval().generate(ids, max_new_tokens=5, do_sample=False, eos_token_id=None)


def _masked(name, more):
    _, model = _make("masked", name, "ForMaskedLM", {**_SIZES, **more})
    ids = torch.randint(3, 97, (2, 9))
    return _step(model, input_ids=ids, labels=ids)


def _image(name, sizes):
    _, model = _make("image", name, "ForImageClassification", sizes)
    size = sizes.get("image_size", 32)
    return _step(model, pixel_values=torch.randn(2, 3, size, size), labels=torch.tensor([0, 2]))


def _case(title, run, *args):
    def case():
        return run(*args)

    case.__name__ = case.__qualname__ = title
    return case


for _run, _table in ((_causal, _CAUSAL), (_masked, _MASKED), (_image, _IMAGES)):
    for _title, _args in _table.items():
        globals()[_title] = _case(_title, _run, *_args)


def _seq2seq(name, **more):
    _, model = _make("seq2seq", name, "ForConditionalGeneration", {**_ENCODER, **more})
    ids = torch.randint(3, 97, (2, 9))
    losses = _step(model, input_ids=ids, labels=ids[:, :5].contiguous())
    return losses, model.eval().generate(ids, max_new_tokens=5, num_beams=2)


def bart():
    return _seq2seq("Bart")


def pegasus():
    return _seq2seq("Pegasus")


def marian():
    import transformers

    model = transformers.MarianMTModel(transformers.MarianConfig(**_ENCODER))
    ids = torch.randint(3, 97, (2, 9))
    return _step(model, input_ids=ids, labels=ids)


def _ctc(name):
    _, model = _make("audio", name, "ForCTC", _AUDIO)
    return _step(model, input_values=torch.randn(2, 400), labels=torch.randint(1, 20, (2, 4)))


def wav2vec2():
    return _ctc("Wav2Vec2")


def hubert():
    return _ctc("Hubert")


def siglip():
    import transformers

    text = {k: _SIZES[k] for k in list(_SIZES)[:6]}
    vision = {k: v for k, v in _VISION.items() if k != "num_labels"}
    model = transformers.SiglipModel(transformers.SiglipConfig(text_config=text, vision_config=vision)).eval()
    out = model(input_ids=torch.randint(3, 97, (2, 7)), pixel_values=torch.randn(2, 3, 32, 32), return_loss=True)
    return out.loss, out.logits_per_image


def image_processors():
    import numpy
    from PIL import Image
    import transformers

    image = Image.fromarray(numpy.arange(40 * 60 * 3, dtype=numpy.uint8).reshape(40, 60, 3))
    found = {}
    for name in ("ViT", "Beit", "Siglip", "DeiT", "DPT", "Segformer"):
        processor = getattr(transformers, name + "ImageProcessor")(size={"height": 32, "width": 32})
        found[name] = processor(image, return_tensors="pt")["pixel_values"]
    return found


def feature_extractors():
    import numpy
    import transformers

    wave = numpy.sin(numpy.arange(3200) / 20).astype("float32")
    mel = transformers.WhisperFeatureExtractor(feature_size=8)(wave, sampling_rate=16000, return_tensors="pt")
    raw = transformers.Wav2Vec2FeatureExtractor()(
        [wave, wave[:2000]], sampling_rate=16000, padding=True, return_tensors="pt"
    )
    return mel.input_features[:, :, :24], raw.input_values


def generation_options():
    import transformers

    _, model = _make("causal", "Llama", "ForCausalLM", {**_SIZES, **_GROUPED})
    model.eval()
    ids = torch.randint(3, 97, (1, 6))
    found = []
    for options in (
        {"do_sample": True, "temperature": 0.7, "top_k": 10},
        {"do_sample": True, "min_p": 0.05, "repetition_penalty": 1.3},
        {"num_beams": 4, "num_return_sequences": 2, "no_repeat_ngram_size": 2, "length_penalty": 0.5},
        {"num_beams": 2, "do_sample": True, "typical_p": 0.9},
        {"do_sample": False, "use_cache": False, "bad_words_ids": [[5], [7, 9]], "min_new_tokens": 3},
        {"do_sample": False, "cache_implementation": "static"},
    ):
        torch.manual_seed(4)
        found.append(model.generate(ids, max_new_tokens=6, pad_token_id=0, **options))
    kept = model.generate(ids, max_new_tokens=4, return_dict_in_generate=True, output_scores=True, pad_token_id=0)
    scores = model.compute_transition_scores(kept.sequences, kept.scores, normalize_logits=True)
    streamer = transformers.TextStreamer
    return found, scores, streamer.__name__
