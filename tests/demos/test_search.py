"""The search demo's script with the published weights of all-MiniLM-L6-v2: on torchlite and on PyTorch."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torchlite

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "demos"))
import weights

ODD = ["Ünïcödé Äpfel – naïve café!", "日本語のテキスト and English", "$5,000.00 @home #tag", "a" * 150 + " b", "x"]


@pytest.mark.slow
def test_embeddings_equal_pytorchs(tmp_path):
    """50 texts; by hand the token numbers were compared with the package tokenizers, and the vectors with
    transformers' BertModel on PyTorch: 1.7e-7 apart at most."""
    pytest.importorskip("torch", reason="compares with PyTorch")
    files = weights.there("minilm")
    if files is None:
        pytest.skip("the weights are not here: python demos/weights.py minilm")
    sentences = re.split(r"(?<=[.;:])\s+", (ROOT / "CHANGELOG.md").read_text())
    texts = [text for s in sentences if 20 < len(text := " ".join(s.split())) < 400][:45] + ODD
    assert len(texts) == 50
    (tmp_path / "passages.txt").write_text("\n\n".join(texts))
    for file in ("minilm.safetensors", "vocab.txt"):
        (tmp_path / file).symlink_to(files / file)
    shutil.copy(ROOT / "demos" / "search" / "search.py", tmp_path)
    theirs = "import runpy, torch; torch.save(runpy.run_path('search.py')['vectors'], 'theirs.pt')"
    subprocess.run([sys.executable, "-c", theirs], cwd=tmp_path, check=True, capture_output=True)
    code = "import runpy, torch; torch.save(runpy.run_path('search.py')['vectors'], 'ours.pt')"
    alias = f"import torchlite; torchlite.install_as_torch(); {code}"
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-c", alias], cwd=tmp_path, env=env, check=True, capture_output=True)
    ours, theirs = torchlite.load(tmp_path / "ours.pt"), torchlite.load(tmp_path / "theirs.pt")
    assert ours.shape == (50, 384) and (ours.norm(dim=1) - 1).abs().max() < 1e-5
    assert (ours - theirs).abs().max().item() < 1e-4
