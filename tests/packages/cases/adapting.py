"""peft, diffusers and sentence-transformers: more adapters, pipelines, models and losses."""

import tempfile

import torch
from torch import nn

from ._shared import losses_of_language_model


def _llama(**more):
    import transformers

    torch.manual_seed(1)
    config = transformers.LlamaConfig(
        vocab_size=97,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        intermediate_size=48,
        pad_token_id=0,
        **more,
    )
    return transformers.LlamaForCausalLM(config)


def many_adapters():
    import peft

    where = ["q_proj", "v_proj"]
    found = {}
    for config in (
        peft.LoraConfig(r=4, target_modules="all-linear", use_rslora=True, lora_dropout=0.0, bias="all"),
        peft.LoraConfig(r=4, target_modules=where, init_lora_weights="pissa"),
        peft.LoraConfig(r=4, target_modules=where, init_lora_weights="olora"),
        peft.LoraConfig(r=4, target_modules=where, init_lora_weights="orthogonal"),
        peft.LoraConfig(r=4, target_modules=["embed_tokens", "q_proj"], rank_pattern={"q_proj": 2}),
        peft.LoraConfig(r=4, target_modules=where, modules_to_save=["lm_head"], layers_to_transform=[1]),
        peft.LoraConfig(r=4, target_modules=where, trainable_token_indices=[3, 4]),
        peft.AdaLoraConfig(target_modules=where, init_r=4, target_r=2, total_step=20, tinit=1, tfinal=5),
        peft.LoKrConfig(r=4, target_modules=where),
        peft.OFTConfig(r=0, oft_block_size=8, target_modules=where),
        peft.BOFTConfig(boft_block_size=4, target_modules=where),
        peft.VeraConfig(r=4, target_modules=["q_proj"], projection_prng_key=3),
        peft.FourierFTConfig(n_frequency=20, target_modules=where),
        peft.HRAConfig(r=4, target_modules=where),
        peft.LNTuningConfig(target_modules=["input_layernorm"]),
        peft.VBLoRAConfig(r=2, num_vectors=8, vector_length=8, topk=2, target_modules=where),
        peft.MissConfig(r=4, target_modules=where),
        peft.RandLoraConfig(r=4, target_modules=["q_proj"]),
        peft.PrefixTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=3),
        peft.PromptEncoderConfig(task_type="CAUSAL_LM", num_virtual_tokens=3, encoder_hidden_size=16),
        peft.AdaptionPromptConfig(task_type="CAUSAL_LM", adapter_len=3, adapter_layers=1),
    ):
        name = "%s %s" % (type(config).__name__, getattr(config, "init_lora_weights", ""))
        try:
            model = peft.get_peft_model(_llama(), config)
            found[name + str(len(found))] = losses_of_language_model(model), model.get_nb_trainable_parameters()
        except (TypeError, ValueError, AttributeError, ImportError, IndexError) as error:
            found[name + str(len(found))] = "%s: %s" % (type(error).__name__, str(error)[:120])
    return found


def several_adapters_in_one_model():
    import peft

    base = _llama()
    model = peft.get_peft_model(base, peft.LoraConfig(r=4, target_modules=["q_proj"]), adapter_name="a")
    model.add_adapter("b", peft.LoraConfig(r=2, target_modules=["q_proj"]))
    for p in model.parameters():
        if p.shape[0] in (2, 4) or p.shape[-1] in (2, 4):
            p.data.normal_(std=0.1)
    model.add_weighted_adapter(["a", "b"], [0.7, 0.3], "cat", combination_type="cat")
    model.add_weighted_adapter(["a", "b"], [0.7, 0.3], "svd", combination_type="svd", svd_rank=3)
    ids = torch.arange(6).view(1, 6)
    found = []
    for name in ("a", "b", "cat", "svd"):
        model.set_adapter(name)
        found.append(model(ids).logits)
    with model.disable_adapter():
        found.append(model(ids).logits)
    model.set_adapter("a")
    model.merge_adapter()
    found.append(model(ids).logits)
    model.unmerge_adapter()
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder, selected_adapters=["a"])
        again = peft.PeftModel.from_pretrained(_llama(), folder + "/a")
        found.append(again(ids).logits)
    model.eval()
    mixed = model(torch.arange(12).view(2, 6), adapter_names=["a", "b"]).logits
    model.delete_adapter("b")
    status = peft.get_model_status(model)
    return found, mixed, status.active_adapters, status.trainable_params


def _unet(**more):
    from diffusers import UNet2DConditionModel

    torch.manual_seed(0)
    return UNet2DConditionModel(
        sample_size=8,
        block_out_channels=(8, 16),
        layers_per_block=1,
        norm_num_groups=4,
        cross_attention_dim=12,
        attention_head_dim=4,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
        **more,
    )


def latent_pipeline():
    import diffusers
    import tokenizers
    import transformers

    words = {w: i for i, w in enumerate(["<|startoftext|>", "<|endoftext|>", "a", "cat", "red"])}
    inner = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="<|endoftext|>"))
    inner.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=inner,
        pad_token="<|endoftext|>",
        eos_token="<|endoftext|>",
        unk_token="<|endoftext|>",
        model_max_length=8,
    )
    torch.manual_seed(0)
    text = transformers.CLIPTextModel(
        transformers.CLIPTextConfig(
            vocab_size=5,
            hidden_size=12,
            intermediate_size=16,
            num_hidden_layers=1,
            num_attention_heads=2,
            max_position_embeddings=8,
            bos_token_id=0,
            eos_token_id=1,
            pad_token_id=1,
        )
    )
    vae = diffusers.AutoencoderKL(
        block_out_channels=(8, 16),
        norm_num_groups=4,
        layers_per_block=1,
        sample_size=16,
        latent_channels=4,
        down_block_types=("DownEncoderBlock2D",) * 2,
        up_block_types=("UpDecoderBlock2D",) * 2,
    )
    found = []
    for kind in (diffusers.StableDiffusionPipeline, diffusers.StableDiffusionImg2ImgPipeline):
        pipe = kind(
            vae=vae,
            text_encoder=text,
            tokenizer=tokenizer,
            unet=_unet(),
            scheduler=diffusers.DDIMScheduler(),
            safety_checker=None,
            feature_extractor=None,
            requires_safety_checker=False,
        )
        pipe.set_progress_bar_config(disable=True)
        more = {"height": 16, "width": 16}
        if "Img2Img" in kind.__name__:
            more = {"image": torch.rand(1, 3, 16, 16, generator=torch.Generator().manual_seed(2)), "strength": 0.6}
        out = pipe(
            "a red cat",
            negative_prompt="a",
            num_inference_steps=4,
            guidance_scale=5.0,
            output_type="pt",
            generator=torch.Generator().manual_seed(1),
            **more,
        )
        found.append(out.images)
    pipe.enable_attention_slicing()
    pipe.vae.enable_tiling()
    pipe.vae.enable_slicing()
    out = pipe("a cat", num_inference_steps=3, output_type="pt", generator=torch.Generator().manual_seed(1), **more)
    return found, out.images


def controlled_unet():
    import diffusers

    unet = _unet()
    control = diffusers.ControlNetModel.from_unet(unet)
    x, text, hint = torch.randn(1, 4, 8, 8), torch.randn(1, 5, 12), torch.rand(1, 3, 64, 64)
    down, mid = control(x, 5, text, hint, return_dict=False)
    out = unet(x, 5, text, down_block_additional_residuals=down, mid_block_additional_residual=mid).sample
    unet.enable_gradient_checkpointing()
    unet.train()
    unet(x, 5, text).sample.square().mean().backward()
    return out, unet.conv_in.weight.grad, [d.shape for d in down]


def more_models_of_diffusers():
    import diffusers

    x = torch.randn(1, 4, 8, 8)
    dit = diffusers.DiTTransformer2DModel(
        num_attention_heads=2,
        attention_head_dim=4,
        in_channels=4,
        num_layers=1,
        sample_size=8,
        patch_size=2,
        num_embeds_ada_norm=10,
        norm_num_groups=4,
        out_channels=4,
    )
    sd3 = diffusers.SD3Transformer2DModel(
        sample_size=8,
        patch_size=2,
        in_channels=4,
        num_layers=1,
        attention_head_dim=4,
        num_attention_heads=2,
        joint_attention_dim=12,
        caption_projection_dim=8,
        pooled_projection_dim=6,
        out_channels=4,
        pos_embed_max_size=8,
    )
    flux = diffusers.FluxTransformer2DModel(
        patch_size=1,
        in_channels=4,
        num_layers=1,
        num_single_layers=1,
        attention_head_dim=8,
        num_attention_heads=2,
        joint_attention_dim=12,
        pooled_projection_dim=6,
        guidance_embeds=True,
        axes_dims_rope=(2, 2, 4),
    )
    vq = diffusers.VQModel(block_out_channels=(8,), norm_num_groups=4, num_vq_embeddings=12, sample_size=8)
    tiny = diffusers.AutoencoderTiny(
        encoder_block_out_channels=(8, 8),
        decoder_block_out_channels=(8, 8),
        num_encoder_blocks=(1, 1),
        num_decoder_blocks=(1, 1),
        latent_channels=4,
    )
    image = torch.randn(1, 3, 8, 8)
    prior = diffusers.PriorTransformer(
        num_attention_heads=2,
        attention_head_dim=4,
        num_layers=1,
        embedding_dim=8,
        num_embeddings=5,
        additional_embeddings=4,
    )
    return (
        dit(x, torch.tensor([3]), torch.tensor([2])).sample,
        sd3(x, torch.randn(1, 5, 12), torch.randn(1, 6), torch.tensor([7])).sample,
        flux(
            torch.randn(1, 9, 4),
            torch.randn(1, 5, 12),
            torch.randn(1, 6),
            torch.tensor([0.5]),
            torch.zeros(9, 3),
            torch.zeros(5, 3),
            torch.ones(1),
        ).sample,
        vq(image).sample,
        tiny(image).sample,
        prior(torch.randn(1, 8), torch.tensor([3]), torch.randn(1, 8), torch.randn(1, 5, 8)).predicted_image_embedding,
    )


def schedulers_and_training():
    import diffusers
    from diffusers.optimization import get_scheduler
    from diffusers.training_utils import EMAModel, compute_snr

    out = []
    for name, options in (
        (
            "DDIM",
            {
                "clip_sample": False,
                "prediction_type": "v_prediction",
                "rescale_betas_zero_snr": True,
                "timestep_spacing": "trailing",
            },
        ),
        ("DPMSolverMultistep", {"use_karras_sigmas": True, "algorithm_type": "sde-dpmsolver++"}),
        ("DPMSolverSinglestep", {}),
        ("EDMEuler", {}),
        ("KDPM2Discrete", {"beta_schedule": "scaled_linear"}),
        ("KDPM2AncestralDiscrete", {}),
        ("DEISMultistep", {}),
        ("EulerDiscrete", {"use_karras_sigmas": True}),
        ("LCM", {}),
        ("TCD", {}),
        ("DDPM", {"beta_schedule": "squaredcos_cap_v2", "variance_type": "fixed_large", "thresholding": True}),
        ("SASolver", {}),
        ("UniPCMultistep", {"use_exponential_sigmas": True}),
        ("HeunDiscrete", {"use_karras_sigmas": True}),
        ("FlowMatchHeunDiscrete", {}),
    ):
        torch.manual_seed(0)
        scheduler = getattr(diffusers, name + "Scheduler")(**options)
        scheduler.set_timesteps(6)
        x = torch.linspace(-1, 1, 16).view(1, 1, 4, 4)
        for t in scheduler.timesteps[:4]:
            scaled = scheduler.scale_model_input(x, t) if hasattr(scheduler, "scale_model_input") else x
            x = scheduler.step(scaled * 0.1, t, x).prev_sample
        out.append(x)
    ddpm = diffusers.DDPMScheduler()
    times = torch.tensor([3, 700])
    noisy = ddpm.add_noise(torch.ones(2, 3), torch.full((2, 3), 0.5), times)
    net = nn.Linear(3, 3)
    ema = EMAModel(net.parameters(), decay=0.9, use_ema_warmup=True)
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.1)
    plan = get_scheduler("cosine_with_restarts", optimizer, num_warmup_steps=2, num_training_steps=8, num_cycles=2)
    rates = []
    for _ in range(6):
        loss = (net(noisy) - ddpm.get_velocity(noisy, noisy * 0.1, times)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        plan.step()
        ema.step(net.parameters())
        rates.append(plan.get_last_lr()[0])
    ema.copy_to(net.parameters())
    return out, noisy, rates, net.weight, compute_snr(ddpm, times)


def _sentences(pooling="mean", normalize=False):
    import tokenizers
    import transformers
    from sentence_transformers import SentenceTransformer, models

    words = {w: i for i, w in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *"good bad film a the was very".split()])}
    inner = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="[UNK]"))
    inner.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=inner, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]"
    )
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=11,
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        hidden_dropout_prob=0,
        attention_probs_dropout_prob=0,
    )
    with tempfile.TemporaryDirectory() as folder:
        transformers.BertModel(config).save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        word = models.Transformer(folder, max_seq_length=16)
    parts = [word, models.Pooling(16, pooling), models.Dense(16, 8)]
    return SentenceTransformer(modules=[*parts, models.Normalize()] if normalize else parts, device="cpu")


def poolings_and_files():
    from sentence_transformers import SentenceTransformer, util

    texts = ["a good film", "the film was very bad", "bad", "a film"]
    found = [
        _sentences(p).encode(texts, convert_to_tensor=True) for p in ("mean", "max", "cls", "lasttoken", "weightedmean")
    ]
    model = _sentences(normalize=True)
    with tempfile.TemporaryDirectory() as folder:
        model.save(folder)
        again = SentenceTransformer(folder, device="cpu")
    rows = again.encode(texts, convert_to_tensor=True, batch_size=2, normalize_embeddings=True)
    small = again.encode(texts, truncate_dim=4)
    tokens = again.encode(texts, output_value=None)[0]["token_embeddings"]
    return (
        found,
        rows,
        torch.from_numpy(small),
        tokens,
        util.semantic_search(rows[:2], rows, top_k=2),
        util.community_detection(rows, threshold=0.1, min_community_size=1),
        util.paraphrase_mining_embeddings(rows),
        util.pairwise_cos_sim(rows, rows.flip(0)),
        util.dot_score(rows, rows),
        util.euclidean_sim(rows, rows),
    )


def losses_of_sentences():
    from sentence_transformers import losses

    texts = ["a good film", "the film was very bad", "bad", "a film"]
    found = {}
    for name, columns, label in (
        ("MultipleNegativesRankingLoss", 2, None),
        ("MultipleNegativesSymmetricRankingLoss", 2, None),
        ("TripletLoss", 3, None),
        ("CoSENTLoss", 2, torch.tensor([0.1, 0.5, 0.9, 0.2])),
        ("AnglELoss", 2, torch.tensor([0.1, 0.5, 0.9, 0.2])),
        ("ContrastiveLoss", 2, torch.tensor([0, 1, 1, 0])),
        ("OnlineContrastiveLoss", 2, torch.tensor([0, 1, 1, 0])),
        ("SoftmaxLoss", 2, torch.tensor([0, 1, 2, 0])),
        ("BatchAllTripletLoss", 1, torch.tensor([0, 1, 1, 0])),
        ("BatchHardSoftMarginTripletLoss", 1, torch.tensor([0, 1, 1, 0])),
        ("MSELoss", 1, torch.zeros(4, 8)),
        ("MegaBatchMarginLoss", 2, None),
        ("CachedMultipleNegativesRankingLoss", 2, None),
        ("GISTEmbedLoss", 2, None),
        ("DenoisingAutoEncoderLoss", 2, None),
    ):
        model = _sentences()
        more = {"SoftmaxLoss": (8, 3), "GISTEmbedLoss": (_sentences("cls"),)}.get(name, ())
        try:
            loss = getattr(losses, name)(model, *more)
            features = [model.tokenize(texts[i:] + texts[:i]) for i in range(columns)]
            value = loss(features, label)
            value.backward()
            norm = sum(p.grad.double().square().sum() for p in model.parameters() if p.grad is not None)
            found[name] = value, norm
        except (TypeError, ValueError, ImportError, OSError) as error:
            found[name] = str(error)[:60]
    matryoshka = losses.MatryoshkaLoss(model, losses.CoSENTLoss(model), [8, 4])
    found["m"] = matryoshka([model.tokenize(texts), model.tokenize(texts[::-1])], torch.rand(4))
    return found


def cross_encoder_and_sparse():
    import transformers
    from sentence_transformers import CrossEncoder

    base = _sentences()
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=11, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16, num_labels=1
    )
    with tempfile.TemporaryDirectory() as folder:
        transformers.BertForSequenceClassification(config).save_pretrained(folder)
        base.tokenizer.save_pretrained(folder)
        model = CrossEncoder(folder, device="cpu", max_length=12)
    pairs = [("a good film", "the film"), ("bad", "a film was very bad")]
    return (
        torch.from_numpy(model.predict(pairs)),
        [dict(r, score=float(r["score"])) for r in model.rank("a film", ["the good film", "bad", "was"])],
    )
