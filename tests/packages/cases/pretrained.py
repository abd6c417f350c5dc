"""Packages that bring their weights: faces, pitch, speakers, voice activity."""

import pathlib
import sys
import types

import torch


def _tone(seconds=0.5, rate=16000, pitch=220.0):
    t = torch.arange(int(seconds * rate)) / rate
    return (0.6 * torch.sin(2 * torch.pi * pitch * t) + 0.2 * torch.sin(4 * torch.pi * pitch * t)).unsqueeze(0)


def _absent(name):
    """For a package that only reads files with it: its native library may not fit the PyTorch beside it."""
    sys.modules[name] = types.ModuleType(name)


def facenet_detector():
    from facenet_pytorch import MTCNN
    from facenet_pytorch.models.mtcnn import ONet, PNet, RNet

    torch.manual_seed(0)
    x = torch.randn(2, 3, 48, 48)
    with torch.no_grad():
        return PNet()(x[:, :, :24, :24]), RNet()(x[:, :, :24, :24]), ONet()(x), MTCNN(keep_all=True).thresholds


def facenet_embedding():
    from facenet_pytorch import InceptionResnetV1

    net = InceptionResnetV1(classify=False, pretrained=None).eval()
    with torch.no_grad():
        return net(torch.randn(1, 3, 80, 80))


def torchcrepe_pitch():
    _absent("torchaudio")
    import numpy
    import torchcrepe

    numpy.random.seed(0)  # for its dithering
    pitch, periodicity = torchcrepe.predict(
        _tone(), 16000, 160, 50, 550, "tiny", return_periodicity=True, batch_size=64, device="cpu"
    )
    return pitch, periodicity, torchcrepe.filter.median(periodicity, 3)


def torchcrepe_embedding():
    _absent("torchaudio")
    import torchcrepe

    return torchcrepe.embed(_tone(0.2), 16000, 320, "tiny", device="cpu")


def resemblyzer_voices():
    _absent("webrtcvad")
    from resemblyzer import VoiceEncoder

    encoder = VoiceEncoder("cpu", verbose=False)
    waves = [_tone(1.7, pitch=p)[0].numpy() for p in (120.0, 300.0)]
    first, second = (encoder.embed_utterance(w) for w in waves)
    return first.tolist()[:8], float(first @ second)


def silero_weights():
    import safetensors.torch
    import silero_vad

    path = pathlib.Path(silero_vad.__file__).parent / "data" / "silero_vad_16k.safetensors"
    weights = safetensors.torch.load_file(path)
    x = torch.nn.functional.pad(_tone(0.1), (0, 64), mode="reflect")
    basis = weights["stft_conv.weight"] if "stft_conv.weight" in weights else next(iter(weights.values()))
    out = torch.nn.functional.conv1d(x.unsqueeze(1), basis, stride=128) if basis.dim() == 3 else basis
    return {k: (list(v.shape), v.float().sum()) for k, v in sorted(weights.items())}, out
