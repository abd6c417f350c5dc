"""timm: sixty architectures by name, forwards and backwards at a small size."""

import torch

from .timm import _forward

NAMES = """resnet10t resnet26d resnext26ts seresnet18 resnetv2_18 resnetblur18 gcresnext26ts ecaresnet26t
    res2net50_14w_8s skresnet18 resnest14d regnetx_002 regnety_002 regnetz_005 densenet121 dpn48b vgg11 vgg11_bn
    mobilenetv1_100 mobilenetv2_035 mobilenetv3_large_075 mobilenetv4_conv_small_035 mnasnet_small fbnetc_100
    spnasnet_100 tinynet_e lcnet_035 ghostnet_050 ghostnetv2_100 hardcorenas_a mixnet_s efficientnet_lite0
    efficientnet_es efficientnetv2_rw_t rexnetr_100 rexnet_100 semnasnet_050 convnext_femto convnextv2_atto
    convmixer_768_32 edgenext_xx_small repvgg_a0 repghostnet_050 mobileone_s0 fastvit_t8 starnet_s1
    inception_next_atto poolformerv2_s12 caformer_s18 selecsls42 dla34 hrnet_w18_small ese_vovnet19b_slim
    darknet17 cspresnet50 cs3darknet_s nf_regnet_b0 dm_nfnet_f0 deit_tiny_patch16_224 xcit_nano_12_p16_224
    cait_xxs24_224 convit_tiny levit_128s mixer_s32_224 resmlp_12_224 gmlp_ti16_224 pit_ti_224 mobilevit_xxs
    mobilevitv2_050 efficientformer_l1 efficientvit_b0 tiny_vit_5m_224 swinv2_cr_tiny_ns_224 pvt_v2_b0
    twins_svt_small coat_lite_tiny visformer_tiny nest_tiny eva02_tiny_patch14_224 davit_tiny""".split()
_FIXED = {  # what has a size of its own
    **dict.fromkeys("levit_128s resmlp_12_224 gmlp_ti16_224 pit_ti_224 mixer_s32_224 efficientformer_l1".split(), 224),
    **dict.fromkeys(
        "swinv2_cr_tiny_ns_224 nest_tiny cait_xxs24_224 convit_tiny twins_svt_small visformer_tiny".split(), 224
    ),
    **dict.fromkeys("deit_tiny_patch16_224 eva02_tiny_patch14_224 coat_lite_tiny tiny_vit_5m_224".split(), 224),
    "hrnet_w18_small": 64,
}


_DOUBLE = {"visformer_tiny"}  # whose gradients differ by 0.4 % with the order of float32 sums


def _case(name):
    def case():
        return _forward(name, _FIXED.get(name, 64), torch.float64 if name in _DOUBLE else torch.float32)

    case.__name__ = case.__qualname__ = name
    return case


for _name in NAMES:
    globals()[_name] = _case(_name)
