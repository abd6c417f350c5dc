"""diffusers: a small U-Net, an autoencoder, schedulers and a pipeline."""

import tempfile

import torch


def _unet():
    from diffusers import UNet2DModel

    return UNet2DModel(
        sample_size=8, in_channels=3, out_channels=3, layers_per_block=1, block_out_channels=(8, 16), norm_num_groups=4,
        attention_head_dim=4, down_block_types=("DownBlock2D", "AttnDownBlock2D"),
        up_block_types=("AttnUpBlock2D", "UpBlock2D"),
    )  # fmt: skip


def unet():
    model = _unet()
    loss = model(torch.randn(2, 3, 8, 8), torch.tensor([3, 40])).sample.square().mean()
    loss.backward()
    return loss, model.conv_in.weight.grad


def conditional_unet():
    from diffusers import UNet2DConditionModel

    model = UNet2DConditionModel(
        sample_size=8, block_out_channels=(8, 16), layers_per_block=1, norm_num_groups=4, cross_attention_dim=12,
        attention_head_dim=4, down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
    )  # fmt: skip
    return model(torch.randn(1, 4, 8, 8), 7, torch.randn(1, 5, 12)).sample


def autoencoder():
    from diffusers import AutoencoderKL

    model = AutoencoderKL(
        block_out_channels=(8, 16), norm_num_groups=4, layers_per_block=1, sample_size=16,
        down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2,
    )  # fmt: skip
    latent = model.encode(torch.randn(1, 3, 16, 16)).latent_dist
    return latent.mean, model.decode(latent.mode()).sample, latent.kl()


def schedulers():
    import diffusers

    out = []
    for name in ("DDPM", "DDIM", "PNDM", "EulerDiscrete", "EulerAncestralDiscrete", "DPMSolverMultistep", "LMSDiscrete",
                 "HeunDiscrete", "UniPCMultistep", "FlowMatchEulerDiscrete"):  # fmt: skip
        scheduler = getattr(diffusers, name + "Scheduler")()
        scheduler.set_timesteps(5)
        x = torch.ones(1, 1, 2, 2)
        generator = torch.Generator().manual_seed(0)
        for t in scheduler.timesteps[:3]:
            kwargs = {"generator": generator} if name in ("DDPM", "EulerAncestralDiscrete") else {}
            scaled = scheduler.scale_model_input(x, t) if hasattr(scheduler, "scale_model_input") else x
            x = scheduler.step(scaled * 0.1, t, x, **kwargs).prev_sample
        out.append(x)
    return out


def pipeline():
    import diffusers

    pipe = diffusers.DDPMPipeline(_unet(), diffusers.DDPMScheduler(num_train_timesteps=10))
    pipe.set_progress_bar_config(disable=True)
    with tempfile.TemporaryDirectory() as folder:
        pipe.save_pretrained(folder)
        pipe = diffusers.DDPMPipeline.from_pretrained(folder)
    pipe.set_progress_bar_config(disable=True)
    out = pipe(generator=torch.Generator().manual_seed(1), num_inference_steps=3, output_type="np")
    return torch.from_numpy(out.images)
