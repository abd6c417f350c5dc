"""Writes libraries.json: what the compiled operators of torchvision and torchaudio compute.

    python tests/goldens/make_libraries.py

Run with real torch, and with torchvision and torchaudio whose own libraries load (the wheels of the public index want
CUDA's). Every case is (expression, values). tests/unit/libraries evaluates the expression with torchlite's stand-ins.
"""

import json
import pathlib

SETUP = """
def wave(*shape, step=0.7):
    n = 1
    for s in shape:
        n *= s
    return torch.arange(n, dtype=torch.float32).mul(step).sin().view(shape)

boxes = torch.cat([wave(24, 2, step=1.3) * 9 + 10, wave(24, 2, step=1.3) * 9 + 16 + 5 * wave(24, 2, step=0.9)], 1)
scores = wave(24, step=2.1)
turned = torch.cat([wave(9, 2) * 4, wave(9, 2, step=1.9) * 2 + 4, wave(9, 1) * 90], 1)
image = wave(2, 12, 9, 11)
rois = torch.tensor([[0, 1, 1, 7, 6], [1, -2, 0, 4, 12], [0, 3, 3, 3, 3], [1, 2.5, 1.5, 9.7, 8.2]])
grad = wave(4, 12, 2, 3, step=0.4)
grad2 = wave(4, 2, 2, 3, step=0.4)
conv = (wave(1, 4, 6, 5), wave(6, 2, 3, 2, step=0.9), wave(1, 24, 4, 4, step=1.7), wave(1, 12, 4, 4), wave(6))
where = (1, 1, 0, 0, 1, 1, 2, 2, True)
path = wave(1, 12, 5, step=2.3).log_softmax(-1)
lengths = torch.tensor([12]), torch.tensor([3])
grid = wave(2, 5, 4, 6, step=1.1)
ints = [torch.tensor(v, dtype=torch.int32) for v in ([[1, 2, 3], [4, 4, 1]], [5, 4], [3, 2])]
signal = wave(2, 2, 300, step=0.11)
poles = torch.tensor([[0.2, -0.9, 1.0], [0.0, 0.5, 1.0]])
"""

CASES = """
vision.nms(boxes, scores, 0.3)
vision.nms(boxes.double(), scores.double(), 0.1)
vision.box_iou_rotated(turned, turned)
vision.roi_align(image, rois, 1.0, 2, 3, -1, False)
vision.roi_align(image, rois, 0.5, 2, 3, 2, True)
vision._roi_align_backward(grad, rois, 1.0, 2, 3, 2, 12, 9, 11, 0, True)
vision.roi_pool(image, rois, 1.0, 2, 3)
vision._roi_pool_backward(grad, rois, vision.roi_pool(image, rois, 0.5, 2, 3)[1], 0.5, 2, 3, 2, 12, 9, 11)
vision.ps_roi_align(image, rois, 1.0, 2, 3, 2)
vision._ps_roi_align_backward(grad2, rois, vision.ps_roi_align(image, rois, 1., 2, 3, 2)[1], 1., 2, 3, 2, 2, 12, 9, 11)
vision.ps_roi_pool(image, rois, 1.0, 2, 3)
vision._ps_roi_pool_backward(grad2, rois, vision.ps_roi_pool(image, rois, 1., 2, 3)[1], 1., 2, 3, 2, 12, 9, 11)
vision.deform_conv2d(*conv, *where)
vision._deform_conv2d_backward(wave(1, 6, 4, 4, step=0.3), *conv, *where)
audio._lfilter_core_loop(signal, poles, torch.zeros(2, 2, 302))
audio._overdrive_core_loop(signal[0], signal[1], torch.zeros(2), torch.zeros(2), torch.zeros(2, 300))
audio.forced_align(path, torch.tensor([[1, 1, 3]]), *lengths, 0)
audio.forced_align(path[:, :4], torch.tensor([[1, 1, 3]]), torch.tensor([4]), torch.tensor([3]), 0)
audio.rnnt_loss_forward(grid, *ints, 0, -1.0, True)
audio.rnnt_loss_forward(grid.log_softmax(-1), *ints, 5, 0.1, False)
""".strip().splitlines()


def plain(value):
    if isinstance(value, (tuple, list)):
        return [plain(v) for v in value]
    return [list(value.shape), [float("%.6g" % v) for v in value.double().flatten().tolist()]]


def main():
    import torch
    import torchaudio  # noqa: F401  # loads its operators
    import torchvision  # noqa: F401

    names = {"torch": torch, "vision": torch.ops.torchvision, "audio": torch.ops.torchaudio}
    exec(SETUP, names)
    rows = [[case, plain(eval(case, names))] for case in CASES]
    path = pathlib.Path(__file__).with_name("libraries.json")
    path.write_text("[\n" + ",\n".join(json.dumps(row, separators=(",", ":")) for row in rows) + "\n]\n")


if __name__ == "__main__":
    main()
