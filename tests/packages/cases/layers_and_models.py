"""Layers, networks and flows of smaller packages."""

import random

import numpy as np
import torch
from torch import nn


def byol_pytorch():
    import torchvision
    from byol_pytorch import BYOL

    random.seed(0)  # its augmentations draw there too
    learner = BYOL(torchvision.models.resnet18(), image_size=32, hidden_layer="avgpool")
    loss = learner(torch.rand(2, 3, 32, 32))
    loss.backward()
    learner.update_moving_average()
    return loss.item() > 0


def conformer():
    from conformer import ConformerBlock

    return ConformerBlock(dim=16, dim_head=8, heads=2)(torch.randn(1, 8, 16))


def deepctr_torch():
    from deepctr_torch.inputs import DenseFeat, SparseFeat
    from deepctr_torch.models import DCN, AutoInt, DeepFM, xDeepFM

    columns = [SparseFeat("a", 5, 4), SparseFeat("b", 4, 4), DenseFeat("d", 1)]
    draw = np.random.RandomState(0)
    x = {"a": draw.randint(0, 5, 32), "b": draw.randint(0, 4, 32), "d": draw.rand(32)}
    y, out = draw.randint(0, 2, 32), []
    for kind in (DeepFM, xDeepFM, DCN, AutoInt):
        model = kind(columns, columns, task="binary", device="cpu")
        model.compile("adam", "binary_crossentropy", metrics=["auc"])
        history = model.fit(x, y, batch_size=16, epochs=2, verbose=0)
        out += [list(map(float, history.history["loss"])), float(model.predict(x).sum())]
    return out


def effdet():
    from effdet import EfficientDet, get_efficientdet_config

    config = get_efficientdet_config("tf_efficientdet_d0")
    config.image_size = (128, 128)
    return EfficientDet(config, pretrained_backbone=False).eval()(torch.randn(1, 3, 128, 128))


def efficientnet_pytorch():
    from efficientnet_pytorch import EfficientNet

    net = EfficientNet.from_name("efficientnet-b0").eval()
    x = torch.randn(1, 3, 64, 64)
    return net(x), {k: v.shape for k, v in net.extract_endpoints(x).items()}


def linformer():
    from linformer import Linformer

    return Linformer(dim=16, seq_len=8, depth=1, heads=2, k=4)(torch.randn(1, 8, 16))


def normflows():
    import normflows

    flows = []
    for _ in range(2):
        flows += [normflows.flows.AutoregressiveRationalQuadraticSpline(2, 1, 8), normflows.flows.LULinearPermute(2)]
    model = normflows.NormalizingFlow(normflows.distributions.DiagGaussian(2, trainable=False), flows)
    loss = model.forward_kld(torch.randn(4, 2))
    loss.backward()
    return loss, *model.sample(3)


def nystrom_attention():
    from nystrom_attention import NystromAttention, Nystromformer

    sizes = {"dim": 16, "dim_head": 4, "heads": 2, "num_landmarks": 4}
    return NystromAttention(**sizes)(torch.randn(1, 12, 16)), Nystromformer(depth=1, **sizes)(torch.randn(1, 8, 16))


def perceiver_pytorch():
    from perceiver_pytorch import Perceiver, PerceiverIO

    heads = {"cross_heads": 1, "latent_heads": 1, "cross_dim_head": 4, "latent_dim_head": 4}
    sizes = {"depth": 1, "num_latents": 4, "latent_dim": 8}
    images = {"input_channels": 3, "input_axis": 2, "num_freq_bands": 2, "max_freq": 4.0, "num_classes": 3}
    io = PerceiverIO(dim=8, queries_dim=6, logits_dim=3, **sizes)
    return (
        Perceiver(**images, **heads, **sizes)(torch.randn(1, 6, 6, 3)),
        io(torch.randn(1, 5, 8), queries=torch.randn(2, 6)),
    )


def product_key_memory():
    from product_key_memory import PKM

    return PKM(dim=16, heads=2, num_keys=8, topk=4, dim_head=8)(torch.randn(1, 6, 16))


def pytorch_crf():
    from torchcrf import CRF

    crf = CRF(5)
    emissions, tags = torch.randn(3, 2, 5), torch.tensor([[0, 1], [2, 4], [3, 1]])
    likelihood = crf(emissions, tags)
    likelihood.backward()
    return likelihood, crf.decode(emissions), crf.transitions.grad


def pytorch_tabnet():
    from pytorch_tabnet.tab_model import TabNetClassifier

    x = np.random.RandomState(0).randn(64, 5).astype("float32")
    y = (x[:, 0] > 0).astype(int)
    model = TabNetClassifier(verbose=0, seed=0)
    model.fit(x, y, max_epochs=3, batch_size=32, virtual_batch_size=16, eval_set=[(x, y)])
    return float(model.predict_proba(x).sum()), list(map(float, model.history["loss"])), model.explain(x)[0].shape


def reformer_pytorch():
    from reformer_pytorch import ReformerLM

    model = ReformerLM(20, 16, 1, max_seq_len=32, heads=2, bucket_size=4, n_hashes=2, causal=True)
    out = model(torch.randint(0, 20, (1, 32)))
    out.sum().backward()
    return out


def rotary_embedding_torch():
    from rotary_embedding_torch import RotaryEmbedding, apply_rotary_emb

    axial = RotaryEmbedding(dim=8, freqs_for="pixel", max_freq=10).get_axial_freqs(4, 4)
    turned = RotaryEmbedding(dim=8).rotate_queries_or_keys(torch.randn(1, 2, 6, 16))
    return turned, apply_rotary_emb(axial, torch.randn(1, 4, 4, 32))


def rtdl():
    import rtdl_num_embeddings
    import rtdl_revisiting_models

    x = torch.randn(2, 3)
    bins = rtdl_num_embeddings.compute_bins(torch.randn(50, 3), n_bins=4)
    sizes = {"n_cont_features": 3, "cat_cardinalities": [4], "d_out": 2, "n_blocks": 1, "d_block": 8}
    rates = {"attention_dropout": 0.0, "ffn_dropout": 0.0, "residual_dropout": 0.0}
    net = rtdl_revisiting_models.FTTransformer(**sizes, **rates, attention_n_heads=2, ffn_d_hidden_multiplier=1.0)
    return (
        rtdl_num_embeddings.PeriodicEmbeddings(3, 4, lite=False)(x),
        rtdl_num_embeddings.PiecewiseLinearEmbeddings(bins, 4, activation=False, version="B")(x),
        net(x, torch.randint(0, 4, (2, 1))),
    )


def unfoldNd():
    from unfoldNd import FoldNd, UnfoldNd

    cube = UnfoldNd((2, 2, 2))(torch.randn(1, 2, 4, 4, 4))
    return UnfoldNd(3, padding=1)(torch.randn(1, 2, 5)), cube, FoldNd((4,), 2)(torch.randn(1, 4, 3))


def x_clip():
    from x_clip import CLIP

    text = {"dim_text": 16, "num_text_tokens": 20, "text_enc_depth": 1, "text_seq_len": 8, "text_heads": 2}
    image = {"dim_image": 16, "visual_enc_depth": 1, "visual_image_size": 16, "visual_patch_size": 8, "visual_heads": 2}
    clip = CLIP(**text, **image, dim_latent=8, use_all_token_embeds=True, decoupled_contrastive_learning=True)
    loss = clip(torch.randint(0, 20, (2, 8)), torch.randn(2, 3, 16, 16), return_loss=True)
    loss.backward()
    return loss


def zuko():
    from zuko import flows

    out, hidden = [], {"hidden_features": (8,)}
    for flow in (
        flows.MAF(2, 3, transforms=2, **hidden), flows.NSF(2, 3, transforms=2, **hidden), flows.NICE(2, 3, **hidden),
        flows.NAF(2, 3, **hidden), flows.GMM(2, 3), flows.BPF(2, 3, **hidden), flows.SOSPF(2, 3, **hidden),
    ):  # fmt: skip
        loss = -flow(torch.randn(3)).log_prob(torch.randn(4, 2)).mean()
        loss.backward()
        out += [loss, flow(torch.randn(3)).sample((2,))]
    return out


def pytorch_revgrad():
    from pytorch_revgrad import RevGrad

    x = torch.ones(2, requires_grad=True)
    RevGrad(alpha=2.0)(x).sum().backward()
    return x.grad


def torchlibrosa():
    from torchlibrosa import LogmelFilterBank, Spectrogram

    mel = LogmelFilterBank(sr=8000, n_fft=256, n_mels=16)
    return Spectrogram(n_fft=256, hop_length=64)(torch.randn(1, 2000)), mel(torch.rand(1, 1, 5, 129))


def asteroid_filterbanks():
    from asteroid_filterbanks import make_enc_dec

    x = torch.randn(1, 1, 640)
    encoder, decoder = make_enc_dec("stft", n_filters=64, kernel_size=64, stride=32)
    sinc, _ = make_enc_dec("param_sinc", n_filters=64, kernel_size=65, stride=32)
    analytic, _ = make_enc_dec("analytic_free", n_filters=64, kernel_size=64)
    return decoder(encoder(x)), sinc(x), analytic(x)


def fft_conv_pytorch():
    from fft_conv_pytorch import FFTConv1d, fft_conv

    x = torch.randn(1, 2, 32)
    return fft_conv(x, torch.randn(3, 2, 5), bias=torch.randn(3)), FFTConv1d(2, 2, 5, bias=True)(x)


def sparsemax():
    from sparsemax import Sparsemax

    x = torch.randn(3, 4, requires_grad=True)
    y = Sparsemax(-1)(x)
    y.square().sum().backward()
    return y, x.grad


def pytorch_wavelets():
    from pytorch_wavelets import DWTForward, DWTInverse

    low, high = DWTForward(J=2, wave="db2")(torch.randn(1, 1, 16, 16))
    return low, high, DWTInverse(wave="db2")((low, high))


def ttach():
    import ttach

    both = ttach.Compose([ttach.HorizontalFlip(), ttach.Rotate90([0, 90]), ttach.Scale([1, 2])])
    x = torch.randn(1, 3, 4, 4)
    classifier = nn.Sequential(nn.Flatten(), nn.Linear(48, 2))
    return (
        ttach.SegmentationTTAWrapper(nn.Conv2d(3, 2, 1), both)(x),
        ttach.ClassificationTTAWrapper(classifier, ttach.aliases.flip_transform())(x),
    )
