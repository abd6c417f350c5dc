"""timm: the smallest model of each of its files that `timm_models` leaves out, forwards and backwards."""

from .timm import _forward

SIZES = {  # of square images; those with an image size of their own get it
    "beit_base_patch16_224": 224, "botnet26t_256": 256, "eca_halonext26ts": 256, "lambda_resnet26t": 256,
    "cpubone_nano": 64, "crossvit_9_240": 240, "csatv2": 64, "cspnext_tiny": 64, "efficientformerv2_s0": 224,
    "efficientvim_m1": 224, "efficientvit_m0": 224, "fasternet_t0": 64, "focalnet_tiny_srf": 64, "gcvit_xxtiny": 224,
    "hgnetv2_b0": 64, "hiera_tiny_224": 224, "hieradet_small": 64, "iformer_t": 64, "inception_v3": 96,
    "lcnetv2_small": 64, "lowformer_b0": 64, "mambaout_femto": 64, "coatnet_nano_rw_224": 224,
    "maxvit_pico_rw_256": 256, "mvitv2_tiny": 64, "nextvit_small": 64, "rdnet_tiny": 64, "repvit_m0_9": 64,
    "legacy_seresnet18": 64, "sequencer2d_s": 224, "shvit_s1": 64, "swiftformer_xs": 64,
    "swin_s3_tiny_224": 224, "swinv2_tiny_window8_256": 256, "tnt_s_patch16_224": 224, "tresnet_m": 64,
    "vit_small_r26_s32_224": 224, "test_vit_relpos": 160, "volo_d1_224": 224, "xception41": 96, "test_vit": 160,
    "vit_pwee_patch16_reg1_gap_256": 256, "test_vit3": 160, "test_byobnet": 64, "test_nfnet": 64,
}  # fmt: skip


def _case(name, size):
    def case():
        return _forward(name, size)

    case.__name__ = case.__qualname__ = name
    return case


for _name, _size in SIZES.items():
    globals()[_name] = _case(_name, _size)
