"""timm: models of files that `timm_models` leaves out, forwards and backwards."""

from .timm import _forward

SIZES = {  # of square images
    "beit_base_patch16_224": 224, "botnet26t_256": 256, "eca_halonext26ts": 256, "lambda_resnet26t": 256,
    "cpubone_nano": 64, "crossvit_9_240": 240, "csatv2": 64, "cspnext_tiny": 64,
}  # fmt: skip


def _case(name, size):
    def case():
        return _forward(name, size)

    case.__name__ = case.__qualname__ = name
    return case


for _name, _size in SIZES.items():
    globals()[_name] = _case(_name, _size)
