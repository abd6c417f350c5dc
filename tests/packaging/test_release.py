"""wheels/release.py: what keeps a version from being released, what a release holds; the workflow's commands."""

import hashlib
import json
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "native"), str(ROOT / "wheels")]
import backend
import recipe
import release

LOG = "# Changes\n\n## 1.2.3\n\n- more\n"


@pytest.mark.parametrize(
    "given, said",
    [
        (("v1.2.3", "1.2.3", LOG, ""), []),
        (("1.2.3", "1.2.3", LOG, ""), ["the tag is 1.2.3"]),
        (("v1.2.4", "1.2.3", LOG, ""), ["the tag is v1.2.4, and pyproject.toml has version 1.2.3"]),
        (("v1.2.3", "1.2.3", "# Changes\n", ""), ["no heading for 1.2.3"]),
        (
            ("v1.2.3", "1.2.3", LOG.replace("1.2.3", "1.2.3 (not released)"), ""),
            ["still says: ## 1.2.3 (not released)"],
        ),
        (("v1.2.3", "1.2.3", LOG, " M README.md\n"), ["not committed"]),
    ],
)
def test_obstacles(given, said):
    found = release.obstacles(*given)
    assert len(found) == len(said) and all(part in text for part, text in zip(said, found))


def test_wheels_index_and_locks(tmp_path, monkeypatch):
    """Each supported Pyodide gets a lock file whose torchlite is the wheel that fits it, beside it."""
    made = tmp_path / "made"
    made.mkdir()
    files = {"torchlite/__init__.py": b"", "torch/__init__.py": b""}
    wheels = [backend.write_wheel(made, target.tags, dict(files)) for target in recipe.TARGETS.values()]
    wheels.append(recipe.make_torch_stub(made))
    abi = {"314.0.7": "2026_0", "0.29.5": "2025_0", "0.28.3": "2025_0"}
    entry = {"depends": [], "file_name": "a-1-py3-none-any.whl", "imports": ["a"], "name": "a", "version": "1"}
    monkeypatch.setattr(
        release, "pyodide_lock", lambda v: {"info": {"abi_version": abi[v]}, "packages": {"a": dict(entry)}}
    )
    folder = tmp_path / "wheels"
    release.wheels_folder(folder, wheels)
    for version in release.PYODIDES:
        packages = json.loads((folder / f"pyodide-lock-{version}.json").read_text())["packages"]
        assert abi[version] in packages["torchlite"]["file_name"]
        for name in ("torch", "torchlite"):
            data = (folder / packages[name]["file_name"]).read_bytes()
            assert hashlib.sha256(data).hexdigest() == packages[name]["sha256"]
        assert packages["a"]["file_name"].endswith(f"/v{version}/full/a-1-py3-none-any.whl")
    assert (folder / "simple" / "torchlite" / "index.html").read_text().count(".whl") == 4  # name and address of two


def test_archives_and_checksums(tmp_path):
    folder = tmp_path / "site"
    (folder / "a").mkdir(parents=True)
    (folder / "a" / "b.txt").write_text("x")
    assets = tmp_path / "assets"
    assets.mkdir()
    for name in ("1.tar.gz", "2.tar.gz"):
        release.archive(folder, assets / name)
        (folder / "a" / "b.txt").touch()
    (assets / "SHA256SUMS").write_text(release.checksums(assets))
    assert (assets / "1.tar.gz").read_bytes() == (assets / "2.tar.gz").read_bytes()
    assert len((assets / "SHA256SUMS").read_text().splitlines()) == 2
    subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=assets, check=True)


def test_the_workflows_commands():
    yaml = pytest.importorskip("yaml", reason="comes with mkdocs")
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text())["jobs"]
    steps = [step for job in jobs.values() for step in job["steps"]]
    commands = [step["run"] for step in steps if "run" in step]
    named = re.findall(r"(?:[\w.]+/)*\w+\.py|\.ci/run", "\n".join(commands))
    assert named == [".ci/run", "wheels/release.py"] and all((ROOT / name).exists() for name in named)
    # all jobs but the first need it, and each says what it may do
    assert all(job.get("needs") == "build" for name, job in jobs.items() if name != "build")
    assert all("permissions" in job for job in jobs.values())
    done = subprocess.run([sys.executable, "wheels/release.py", "--help"], cwd=ROOT, capture_output=True, check=False)
    assert done.returncode == 0


@pytest.mark.slow
def test_dry_run(tmp_path):
    """With what is built here; Pyodide's own lock files come from its npm packages."""
    out = tmp_path / "release"
    command = [sys.executable, "wheels/release.py", "--tag", "v0.0.0", "--out", str(out), "--built"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "the tag is v0.0.0" in done.stderr and not out.exists()
    done = subprocess.run([*command, "--dry-run"], cwd=ROOT, capture_output=True, text=True, check=False)
    if "is missing" in done.stderr:
        pytest.skip(done.stderr)
    assert done.returncode == 0, done.stderr
    subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=out / "assets", check=True)
    # the site's lock file works as it is published: from its own folder
    packages = json.loads((out / "site" / "wheels" / "pyodide-lock-314.0.7.json").read_text())["packages"]
    assert (out / "site" / "wheels" / packages["torchlite"]["file_name"]).exists()
    assert packages["micropip"]["file_name"].startswith("https://")
