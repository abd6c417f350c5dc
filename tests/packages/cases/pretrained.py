"""Packages that bring their weights: faces, pitch, speakers, voice activity."""

import pathlib
import sys
import types

import torch


def _tone(seconds=0.5, rate=16000, pitch=220.0):
    t = torch.arange(int(seconds * rate)) / rate
    return (0.6 * torch.sin(2 * torch.pi * pitch * t) + 0.2 * torch.sin(4 * torch.pi * pitch * t)).unsqueeze(0)


def facenet_detector():
    from facenet_pytorch import MTCNN
    from facenet_pytorch.models.mtcnn import ONet, PNet, RNet

    torch.manual_seed(0)
    x = torch.randn(2, 3, 48, 48)
    with torch.no_grad():
        return PNet()(x[:, :, :24, :24]), RNet()(x[:, :, :24, :24]), ONet()(x), MTCNN(keep_all=True).thresholds


def facenet_detect():
    import numpy
    from facenet_pytorch import MTCNN
    from PIL import Image

    y, x = numpy.mgrid[:120, :120]
    face = numpy.full((120, 120, 3), 90, "uint8")
    face[((x - 60) / 32) ** 2 + ((y - 60) / 42) ** 2 < 1] = (220, 180, 150)
    for cx in (46, 74):
        face[(x - cx) ** 2 + (y - 50) ** 2 < 25] = (40, 30, 30)
    face[(abs(x - 60) < 14) & (abs(y - 82) < 3)] = (150, 60, 60)
    boxes, probability = MTCNN(keep_all=True, thresholds=[0.3, 0.3, 0.3], min_face_size=30).detect(
        Image.fromarray(face)
    )
    return None if boxes is None else (boxes.tolist(), probability.tolist())


def facenet_embedding():
    from facenet_pytorch import InceptionResnetV1

    net = InceptionResnetV1(classify=False, pretrained=None).eval()
    with torch.no_grad():
        return net(torch.randn(1, 3, 80, 80))


def torchcrepe_pitch():
    import torchcrepe

    pitch, periodicity = torchcrepe.predict(
        _tone(), 16000, 160, 50, 550, "tiny", return_periodicity=True, batch_size=64, device="cpu"
    )
    return pitch, periodicity, torchcrepe.filter.median(periodicity, 3)


def torchcrepe_embedding():
    import torchcrepe

    return torchcrepe.embed(_tone(0.2), 16000, 320, "tiny", device="cpu")


def resemblyzer_voices():
    sys.modules.setdefault("webrtcvad", types.ModuleType("webrtcvad"))  # only trims silence of files
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
