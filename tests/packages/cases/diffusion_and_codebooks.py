"""denoising-diffusion-pytorch, vector-quantize-pytorch and lpips: the examples of their READMEs, at a small size."""

import torch
from torch import nn


def _gradients(net):
    return sum(p.grad.double().abs().sum() for p in net.parameters() if p.grad is not None)


def one_dimension():
    from denoising_diffusion_pytorch import GaussianDiffusion1D, Unet1D

    net = Unet1D(dim=8, dim_mults=(1, 2), channels=4)
    process = GaussianDiffusion1D(net, seq_length=16, timesteps=10, objective="pred_v", auto_normalize=False)
    loss = process(torch.rand(2, 4, 16))
    loss.backward()
    torch.manual_seed(1)
    return loss, _gradients(net), process.sample(batch_size=2)


def objectives_and_schedules():
    from denoising_diffusion_pytorch import GaussianDiffusion, Unet

    out = []
    for objective in ("pred_noise", "pred_x0", "pred_v"):
        for schedule in ("linear", "cosine", "sigmoid"):
            torch.manual_seed(0)
            net = Unet(dim=8, dim_mults=(1, 2), self_condition=objective == "pred_x0", flash_attn=False)
            process = GaussianDiffusion(
                net, image_size=8, timesteps=12, objective=objective, beta_schedule=schedule, min_snr_loss_weight=True,
                offset_noise_strength=0.1, sampling_timesteps=4, ddim_sampling_eta=0.3,
            )  # fmt: skip
            loss = process(torch.rand(2, 3, 8, 8))
            loss.backward()
            torch.manual_seed(2)
            out.append((loss, _gradients(net), process.sample(batch_size=1)))
    torch.manual_seed(4)
    mixed = process.interpolate(torch.rand(1, 3, 8, 8), torch.rand(1, 3, 8, 8), t=5, lam=0.3)
    return out, mixed, process.sample(batch_size=1, return_all_timesteps=True).shape


def continuous_and_learned():
    from denoising_diffusion_pytorch import ContinuousTimeGaussianDiffusion, ElucidatedDiffusion, Unet
    from denoising_diffusion_pytorch import LearnedGaussianDiffusion
    from denoising_diffusion_pytorch.karras_unet import KarrasUnet
    from denoising_diffusion_pytorch.v_param_continuous_time_gaussian_diffusion import (
        VParamContinuousTimeGaussianDiffusion,
    )

    out = []
    for kind, unet, options in (
        (ContinuousTimeGaussianDiffusion, {"random_fourier_features": True}, {"num_sample_steps": 4}),
        (VParamContinuousTimeGaussianDiffusion, {"random_fourier_features": True}, {"num_sample_steps": 4}),
        (ElucidatedDiffusion, {"random_fourier_features": True}, {"num_sample_steps": 4}),
        (LearnedGaussianDiffusion, {"learned_variance": True}, {"timesteps": 8}),
    ):
        torch.manual_seed(0)
        net = Unet(dim=8, dim_mults=(1, 2), flash_attn=False, **unet)
        process = kind(net, image_size=8, **options)
        loss = process(torch.rand(2, 3, 8, 8))
        loss.backward()
        torch.manual_seed(1)
        out.append((loss, _gradients(net), process.sample(batch_size=1)))
    torch.manual_seed(0)
    karras = KarrasUnet(
        image_size=16, dim=8, dim_max=16, num_downsamples=1, num_blocks_per_stage=1, attn_res=(8,), attn_dim_head=4
    )
    return out, karras(torch.randn(1, 4, 16, 16), time=torch.ones(1))


def guided_by_classes():
    from denoising_diffusion_pytorch.classifier_free_guidance import GaussianDiffusion, Unet

    net = Unet(dim=8, dim_mults=(1, 2), num_classes=4, cond_drop_prob=0.5, attn_dim_head=4, attn_heads=2)
    process = GaussianDiffusion(net, image_size=8, timesteps=8, sampling_timesteps=3)
    loss = process(torch.rand(2, 3, 8, 8), classes=torch.tensor([1, 3]))
    loss.backward()
    torch.manual_seed(1)
    return loss, _gradients(net), process.sample(classes=torch.tensor([0, 2]), cond_scale=3.0)


def trainer_of_images():
    import tempfile

    from denoising_diffusion_pytorch import GaussianDiffusion, Trainer, Unet
    from PIL import Image

    with tempfile.TemporaryDirectory() as folder:
        for i in range(101):  # it wants more than a hundred
            Image.new("RGB", (9, 9), (i * 2, 255 - i, 30)).save(f"{folder}/{i}.png")
        process = GaussianDiffusion(Unet(dim=8, dim_mults=(1, 2)), image_size=8, timesteps=6, sampling_timesteps=2)
        trainer = Trainer(
            process, folder, train_batch_size=8, train_lr=1e-3, train_num_steps=2, gradient_accumulate_every=2,
            ema_decay=0.9, save_and_sample_every=2, num_samples=1, results_folder=folder + "/out", calculate_fid=False,
            num_fid_samples=1, amp=False,
        )  # fmt: skip
        before = [p.detach().clone() for p in process.parameters()]
        trainer.train()
        trainer.load(1)
        moved = [not torch.equal(a, b) for a, b in zip(before, process.parameters())]
    return trainer.step, sum(moved) > len(moved) // 2, [p.shape for p in trainer.ema.ema_model.parameters()]


def codebooks_of_vectors():
    import vector_quantize_pytorch as v

    x, out = torch.randn(2, 24, 16), []
    for options in (
        {"codebook_dim": 4}, {"use_cosine_sim": True}, {"threshold_ema_dead_code": 2}, {"kmeans_init": True},
        {"heads": 2, "separate_codebook_per_head": True, "codebook_dim": 8}, {"orthogonal_reg_weight": 10.0},
        {"accept_image_fmap": True}, {"learnable_codebook": True, "ema_update": False}, {"rotation_trick": False},
        {"stochastic_sample_codes": True, "sample_codebook_temp": 0.1},
        {"codebook_diversity_loss_weight": 0.5},
        {"directional_reparam": True, "rotation_trick": False, "threshold_ema_dead_code": 1},
    ):  # fmt: skip
        torch.manual_seed(0)
        net = v.VectorQuantize(dim=16, codebook_size=12, **options)
        given = x.view(2, 4, 6, 16).permute(0, 3, 1, 2) if "accept_image_fmap" in options else x
        for _ in range(2):
            quantized, indices, loss = net(given.clone().requires_grad_())
        quantized.sum().backward()
        out.append((quantized, indices, loss, net.codebook if "heads" not in options else 0))
    mask = torch.arange(24).expand(2, 24) < torch.tensor([[24], [10]])
    return out, net(x, mask=mask)[0]


def residual_codebooks():
    import vector_quantize_pytorch as v

    x, out = torch.randn(2, 24, 16), []
    for make in (
        lambda: v.ResidualVQ(dim=16, codebook_size=12, num_quantizers=4, stochastic_sample_codes=True,
                             sample_codebook_temp=0.1, shared_codebook=True),
        lambda: v.ResidualVQ(dim=16, codebook_size=12, num_quantizers=4, kmeans_init=True, kmeans_iters=3),
        lambda: v.ResidualVQ(dim=16, codebook_size=12, num_quantizers=4, quantize_dropout=True,
                             quantize_dropout_cutoff_index=1),
        lambda: v.ResidualVQ(dim=16, codebook_size=(8, 6), num_quantizers=2, implicit_neural_codebook=True),
        lambda: v.GroupedResidualVQ(dim=16, num_quantizers=2, groups=2, codebook_size=12),
        lambda: v.ResidualFSQ(dim=16, levels=[8, 5, 5, 3], num_quantizers=3),
        lambda: v.GroupedResidualFSQ(dim=16, levels=[4, 4], groups=2, num_quantizers=2),
        lambda: v.ResidualLFQ(dim=16, codebook_size=16, num_quantizers=2).eval(),
        lambda: v.SimVQ(dim=16, codebook_size=12, rotation_trick=True),
        lambda: v.ResidualSimVQ(dim=16, num_quantizers=2, codebook_size=12, rotation_trick=True),
        lambda: v.RandomProjectionQuantizer(dim=16, num_codebooks=3, codebook_dim=8, codebook_size=12),
        lambda: v.LFQ(dim=16, codebook_size=16, entropy_loss_weight=0.1, diversity_gamma=1.0),
        lambda: v.FSQ([8, 5, 5, 5], dim=16, preserve_symmetry=True),
    ):  # fmt: skip
        torch.manual_seed(0)
        net = make()
        out.append(net(x))
    latent = v.LatentQuantize(levels=[5, 5, 8], dim=16, commitment_loss_weight=0.1, quantization_loss_weight=0.1)
    return out, net.indices_to_codes(out[-1][1]), latent(x.transpose(1, 2))


def an_autoencoder_of_codes():
    from vector_quantize_pytorch import VectorQuantize

    net = nn.ModuleList([
        nn.Conv2d(1, 8, 3, stride=2, padding=1), nn.GELU(),
        VectorQuantize(dim=8, codebook_size=16, accept_image_fmap=True), nn.Upsample(scale_factor=2),
        nn.Conv2d(8, 1, 3, padding=1),
    ])  # fmt: skip
    optimizer, losses = torch.optim.AdamW(net.parameters(), lr=3e-3), []
    for _ in range(5):
        x, commitment = torch.rand(4, 1, 8, 8), 0.0
        y = x
        for layer in net:
            if isinstance(layer, VectorQuantize):
                y, indices, commitment = layer(y)
            else:
                y = layer(y)
        loss = (y.clamp(-1, 1) - x).abs().mean() + 10 * commitment
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, indices.unique().numel()


def perceptual_distances():
    import lpips

    a, b = torch.rand(2, 3, 64, 64) * 2 - 1, torch.rand(2, 3, 64, 64, requires_grad=True)
    out = []
    for net in ("alex", "vgg", "squeeze"):
        torch.manual_seed(0)
        made = lpips.LPIPS(net=net, pretrained=False, pnet_rand=True, verbose=False, spatial=net == "alex").eval()
        distance, layers = made(a, b, retPerLayer=True, normalize=net == "vgg")
        distance.mean().backward()
        out.append((distance, layers, b.grad.clone()))
    return out, lpips.normalize_tensor(a)
