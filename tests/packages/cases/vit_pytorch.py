"""vit-pytorch: the examples of its README, at a small size."""

import torch

BASE = dict(image_size=32, patch_size=8, num_classes=5, dim=16, depth=2, heads=2, mlp_dim=32)
CONTEXT = dict(BASE, dim_head=8)


def _trained(net, *inputs, **options):
    out = net(*inputs, **options)
    out = out[0] if isinstance(out, tuple) else out
    loss = out.square().mean()
    loss.backward()
    return out, loss, sum(p.grad.abs().sum() for p in net.parameters() if p.grad is not None)


def _images(count=2, size=32, channels=3):
    return torch.randn(count, channels, size, size)


def variants_of_vit():
    from vit_pytorch.deepvit import DeepViT
    from vit_pytorch.efficient import ViT as Efficient
    from vit_pytorch.learnable_memory_vit import Adapter, ViT as Memory
    from vit_pytorch.normalized_vit import nViT
    from vit_pytorch.parallel_vit import ViT as Parallel
    from vit_pytorch.rvt import RvT
    from vit_pytorch.vit_for_small_dataset import ViT as Small
    from vit_pytorch.vit_with_patch_dropout import ViT as Dropped
    from vit_pytorch.vit_with_patch_merger import ViT as Merged

    x, out = _images(), []
    for kind, more in (
        (DeepViT, {}), (Parallel, {"num_parallel_branches": 2}), (RvT, {}), (Small, {}),
        (Merged, {"patch_merge_layer": 1, "patch_merge_num_tokens": 4}), (Dropped, {"patch_dropout": 0.25}),
    ):  # fmt: skip
        out.append(_trained(kind(**BASE, **more), x))
    out.append(_trained(nViT(**BASE, dim_head=8), x))
    encoder = torch.nn.TransformerEncoder(torch.nn.TransformerEncoderLayer(16, 2, 32, 0.0, batch_first=True), 1)
    options = {k: BASE[k] for k in ("image_size", "patch_size", "num_classes", "dim")}
    out.append(_trained(Efficient(**options, transformer=encoder), x))
    memory = Memory(**BASE)
    out.append((_trained(memory, x), Adapter(vit=memory, num_classes=2, num_memories_per_layer=3)(x)))
    return out


def simple_vits():
    import importlib

    x, out = _images(), []
    for name in (
        "simple_vit", "simple_flash_attn_vit", "simple_vit_with_patch_dropout", "simple_vit_with_register_tokens",
        "simple_vit_with_qk_norm", "simple_vit_with_fft", "simple_vit_with_value_residual", "simple_uvit",
        "simple_vit_with_hyper_connections", "simple_vit_orthog_residual_update",
    ):  # fmt: skip
        torch.manual_seed(0)
        module = importlib.import_module("vit_pytorch." + name)
        options = dict(BASE)
        if name == "simple_vit_with_fft":
            options["freq_patch_size"] = 8
        if name == "simple_vit_with_hyper_connections":
            options["num_residual_streams"] = 2
        out.append(_trained(getattr(module, "SimpleUViT" if name == "simple_uvit" else "SimpleViT")(**options), x))
    return out


def hierarchical():
    from vit_pytorch.cct import CCT
    from vit_pytorch.cross_vit import CrossViT
    from vit_pytorch.crossformer import CrossFormer
    from vit_pytorch.cvt import CvT
    from vit_pytorch.levit import LeViT
    from vit_pytorch.max_vit import MaxViT
    from vit_pytorch.mobile_vit import MobileViT
    from vit_pytorch.nest import NesT
    from vit_pytorch.pit import PiT
    from vit_pytorch.regionvit import RegionViT
    from vit_pytorch.sep_vit import SepViT
    from vit_pytorch.t2t import T2TViT
    from vit_pytorch.twins_svt import TwinsSVT
    from vit_pytorch.xcit import XCiT

    out = []
    for make, size in (
        (lambda: CCT(img_size=32, embedding_dim=16, n_conv_layers=1, num_layers=1, num_heads=2, mlp_ratio=2,
                     num_classes=5, positional_embedding="learnable", stochastic_depth_rate=0.0), 32),
        (lambda: CrossViT(image_size=32, num_classes=5, depth=1, sm_dim=8, sm_patch_size=8, sm_enc_depth=1,
                          sm_enc_heads=2, sm_enc_mlp_dim=16, lg_dim=16, lg_patch_size=16, lg_enc_depth=1,
                          lg_enc_heads=2, lg_enc_mlp_dim=16, cross_attn_depth=1, cross_attn_heads=2), 32),
        (lambda: CrossFormer(num_classes=5, dim=(32, 32, 32, 32), depth=(1, 1, 1, 1), global_window_size=(4, 2, 2, 1),
                             local_window_size=2), 64),
        (lambda: CvT(num_classes=5, s1_emb_dim=8, s1_heads=1, s1_depth=1, s2_emb_dim=8, s2_heads=1, s2_depth=1,
                     s3_emb_dim=16, s3_heads=2, s3_depth=1), 64),
        (lambda: LeViT(image_size=64, num_classes=5, stages=2, dim=(16, 16), depth=1, heads=(2, 2), mlp_mult=2), 64),
        (lambda: MaxViT(num_classes=5, dim_conv_stem=8, dim=8, dim_head=8, depth=(1, 1), window_size=4), 64),
        (lambda: MobileViT(image_size=(64, 64), dims=[16, 16, 16], num_classes=5,
                           channels=[8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 16]), 64),
        (lambda: NesT(image_size=32, patch_size=4, dim=8, heads=1, num_hierarchies=2, block_repeats=(1, 1),
                      num_classes=5), 32),
        (lambda: PiT(image_size=32, patch_size=8, dim=16, num_classes=5, depth=(1, 1), heads=2, mlp_dim=16), 32),
        (lambda: RegionViT(dim=(8, 8, 16, 16), depth=(1, 1, 1, 1), window_size=4, num_classes=5), 128),
        (lambda: SepViT(num_classes=5, dim=8, dim_head=8, heads=(1, 1), depth=(1, 1), window_size=7), 56),
        (lambda: T2TViT(dim=16, image_size=32, depth=1, heads=2, mlp_dim=16, num_classes=5,
                        t2t_layers=((7, 4), (3, 2))), 32),
        (lambda: TwinsSVT(num_classes=5, s1_emb_dim=8, s1_patch_size=4, s1_local_patch_size=4, s1_global_k=4,
                          s2_emb_dim=8, s2_patch_size=2, s2_local_patch_size=4, s2_global_k=4, s3_emb_dim=8,
                          s3_patch_size=2, s3_local_patch_size=2, s3_global_k=2, s3_depth=1, s4_emb_dim=8,
                          s4_patch_size=2, s4_local_patch_size=1, s4_global_k=1, s4_depth=1, peg_kernel_size=3), 64),
        (lambda: XCiT(**BASE, cls_depth=1), 32),
    ):  # fmt: skip
        torch.manual_seed(0)
        out.append(_trained(make(), torch.randn(2, 3, size, size)))
    return out


def adaptive_and_other_shapes():
    from vit_pytorch.ats_vit import ViT as Adaptive
    from vit_pytorch.cait import CaiT
    from vit_pytorch.scalable_vit import ScalableViT
    from vit_pytorch.vit_1d import ViT as Sequence
    from vit_pytorch.vit_3d import ViT as Volume
    from vit_pytorch.vivit import ViViT as Video

    video = dict(image_size=16, image_patch_size=8, frames=4, frame_patch_size=2, num_classes=5, dim=16, heads=2)
    return (
        Adaptive(**BASE, max_tokens_per_depth=(12, 8)).eval()(_images()).shape,
        _trained(CaiT(**BASE, cls_depth=1), _images()),
        _trained(Sequence(seq_len=32, patch_size=8, num_classes=5, dim=16, depth=1, heads=2, mlp_dim=16),
                 torch.randn(2, 3, 32)),
        _trained(Volume(**video, depth=1, mlp_dim=16), torch.randn(2, 3, 4, 16, 16)),
        _trained(Video(**video, spatial_depth=1, temporal_depth=1, mlp_dim=16), torch.randn(2, 3, 4, 16, 16)),
        _trained(ScalableViT(num_classes=5, dim=8, heads=(1, 1), depth=(1, 1), ssa_dim_key=(8, 8),
                             reduction_factor=(2, 1), window_size=(4, None)), _images(size=64)),
    )  # fmt: skip


def images_of_any_size():
    from vit_pytorch.na_vit import NaViT
    from vit_pytorch.na_vit_nested_tensor import NaViT as Nested

    options = dict(BASE, token_dropout_prob=0.0)
    images = [[_images(1, s)[0] for s in (16, 32)], [torch.randn(3, 16, 24)]]
    net = NaViT(**options)
    nested = Nested(**options)
    flat = [image for group in images for image in group]
    return _trained(net, images), net(flat, group_images=True, group_max_seq_len=16), _trained(nested, flat)


def learning_without_labels():
    from vit_pytorch import Dino, ViT
    from vit_pytorch.distill import DistillableViT, DistillWrapper

    x = _images()
    v = ViT(**BASE)
    dino = Dino(v, image_size=32, hidden_layer="to_latent", projection_hidden_size=16, projection_layers=2,
                num_classes_K=20, student_temp=0.9, teacher_temp=0.04, local_upper_crop_scale=0.4,
                global_lower_crop_scale=0.5, moving_average_decay=0.9, center_moving_average_decay=0.9)  # fmt: skip
    loss = dino(x)
    loss.backward()
    dino.update_moving_average()
    teacher = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3 * 32 * 32, 5))
    student = DistillableViT(**BASE)
    taught = DistillWrapper(student=student, teacher=teacher, temperature=3, alpha=0.5, hard=False)
    distilled = taught(x, torch.randint(0, 5, (2,)))
    distilled.backward()
    return loss.shape, v.mlp_head.weight.shape, distilled, taught.distill_mlp[-1].weight.grad


def attention_maps_and_features():
    from vit_pytorch import ViT
    from vit_pytorch.extractor import Extractor
    from vit_pytorch.recorder import Recorder

    v = ViT(**BASE)
    recorder = Recorder(v)
    preds, attentions = recorder(_images(1))
    v = recorder.eject()
    extractor = Extractor(v)
    logits, embeddings = extractor(_images(1))
    return preds, attentions, logits, embeddings
