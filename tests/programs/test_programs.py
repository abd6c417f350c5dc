"""Whole programs, as people write them for PyTorch: run unmodified, they print what they print under PyTorch."""

import json
import os
import pathlib
import subprocess
import sys

import pytest
from compare import difference

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
GOLDENS = json.loads((HERE / "goldens.json").read_text())
# what others show as well
SLOW = set(
    """annotated_transformer cellular_automaton classic_ml contrastive_simclr d2l_from_scratch fast_neural_style
    forward_forward gaussian_process graph_attention lora_finetuning mixed_precision mixture_of_experts mnist_digits
    model_ensembling name_classification natural_language_inference nerf neural_ode parametrizations_pruning ppo
    real_nvp reinforce selective_scan siamese_network text_embedding_bag time_sequence_prediction transfer_learning
    translation_beam vision_transformer vq_vae wasserstein_gan word_language_model""".split()
)


def run(name):
    program = HERE / f"{name}.py"
    if sys.platform == "emscripten":  # no processes there: run in this one
        import contextlib
        import io
        import runpy

        import torchlite as torch
        from torchlite.compat import alias

        alias.install()
        out = io.StringIO()
        default = torch.get_default_dtype()
        try:
            with contextlib.redirect_stdout(out):
                runpy.run_path(str(program), run_name="__main__")
        finally:
            alias.uninstall()
            torch.set_default_dtype(default)
            torch.use_deterministic_algorithms(False)
        return out.getvalue()
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-m", "torchlite", str(program)], capture_output=True, text=True, env=env, timeout=300
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] * (n in SLOW)) for n in sorted(GOLDENS)])
def test_program(name):
    why = difference(run(name), "\n".join(GOLDENS[name]))
    assert why is None, why


def test_comparison():
    assert difference("a 1.00001 b 3", "a 1.00002 b 3") is None
    assert "instead of" in difference("a 1.001 b 3", "a 1.0000 b 3")
    assert "instead of" in difference("a 1.0 b 4", "a 1.0 b 3")
    assert "text" in difference("b 1.0", "a 1.0")
    assert "lines" in difference("a", "a\nb")
