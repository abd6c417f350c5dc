"""Names of PyTorch that third-party packages ask for (tests/packages/asked.txt): each is there, or known not to be."""

import pathlib
import sys
import warnings

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "packages"))
import answers

# what is not there, by its path or the beginning of it, and why
LACKING = {
    "torch.distributed.": "more than one process: a world of one has no shards, stores and meshes",
    "torch._dynamo.exc": "there is no compiler that could raise it",
    "torch._inductor": "there is no compiler to configure",
    "torch.ao.": "quantized tensors",
    "torch.ops.quantized_decomposed": "quantized tensors",
    "torch._subclasses.": "functional tensors and converters of the compiler",
    "torch.nested._internal.ops": "nested tensors on another device, by hand",
    "torch._C._set_math_sdp_allow_fp16_bf16_reduction": "attention has one way here",
    "torch.export.": "no program is traced",
    "torch.onnx.": "no program is traced",
    "torch.utils._sympy": "symbolic sizes",
    "torch.ops.aten.": "symbolic sizes, and a product into another dtype on CUDA",
    "torch.cpu._is_avx2_supported": "no kernel is chosen by it",
}


def _reason(name):
    return next((start for start in LACKING if name.startswith(start)), None)


@pytest.fixture(scope="module")
def lacking():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [name for name in answers.asked() if answers.answer(name) == answers.LACKS]


def test_each_name_is_there_or_known_not_to_be(lacking):
    assert [name for name in lacking if _reason(name) is None] == []


def test_no_reason_is_left_over(lacking):
    assert set(LACKING) - {_reason(name) for name in lacking} == set()


def test_the_list_is_one_of_names_and_packages():
    rows = answers.asked()
    assert len(rows) > 1500 and {"torch.nn.Linear", "torch._C._log_api_usage_once"} <= set(rows)
    assert {"transformers", "timm", "lightning"} <= {package for row in rows.values() for package in row}


def test_answers_tell_what_stands_in_from_what_is_there():
    assert answers.answer("torch.nn.functional.gelu") == answers.answer("torch.fx.Graph") == answers.HAS
    for name in (
        "torch.onnx.export",
        "torch.onnx",
        "torch.SymFloat",
        "torch.Tensor.dequantize",
        "torch.jit.CompilationUnit",
    ):
        assert answers.answer(name) == answers.REFUSES, name
    assert answers.answer("torch.no_such_name") == answers.answer("torch.no.such_name") == answers.LACKS
