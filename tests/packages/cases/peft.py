"""peft: adapters on a small GPT-2."""

import tempfile

import torch

from ._shared import losses_of_language_model


def _base():
    import transformers

    torch.manual_seed(1)
    config = transformers.GPT2Config(vocab_size=97, n_embd=32, n_layer=2, n_head=4, n_positions=64)
    return transformers.GPT2LMHeadModel(config)


def lora():
    import peft

    model = peft.get_peft_model(_base(), peft.LoraConfig(r=4, lora_alpha=8, target_modules=["c_attn"]))
    losses = losses_of_language_model(model)
    ids = torch.arange(6).view(1, 6)
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        again = peft.PeftModel.from_pretrained(_base(), folder).eval()
    merged = model.merge_and_unload()
    return losses, again(ids).logits, merged(ids).logits


def dora():
    import peft

    return losses_of_language_model(
        peft.get_peft_model(_base(), peft.LoraConfig(r=4, use_dora=True, target_modules=["c_attn"]))
    )


def ia3():
    import peft

    config = peft.IA3Config(target_modules=["c_attn", "mlp.c_proj"], feedforward_modules=["mlp.c_proj"])
    return losses_of_language_model(peft.get_peft_model(_base(), config))


def prompt_tuning():
    import peft

    return losses_of_language_model(
        peft.get_peft_model(_base(), peft.PromptTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=4))
    )


def loha():
    import peft

    return losses_of_language_model(peft.get_peft_model(_base(), peft.LoHaConfig(r=4, target_modules=["lm_head"])))
