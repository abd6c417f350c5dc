"""Makes all that a release publishes, in one folder: `release/assets` and `release/site`.

    python wheels/release.py --tag v0.3.0 [--out release] [--dry-run] [--built] [--weights]

assets: the wheels, the npm package's archive, the package for JupyterLite and the site as an archive, with SHA256SUMS
over them. site: the demos and docs; in its folder `wheels` the wheels again with a package index over them (simple/),
and for each supported release of Pyodide a lock file that knows torchlite by name.

The tag must be the version of pyproject.toml, the changelog must have it as released, and nothing may be uncommitted;
--dry-run says what of this is not so and goes on. --built takes wheels, npm package and site as they are.
.github/workflows/release.yml runs this and publishes.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import pathlib
import shutil
import subprocess
import sys
import tarfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "native"), str(HERE.parent)]
import backend
import make
import runtime

from torchlite import lock

ROOT = HERE.parent
DIST = HERE / "dist"
SITE = ROOT / "demos" / "_site"
PYODIDES = ("314.0.7", "0.29.5", "0.28.3")  # what lock files are made for
PACKAGES = "https://cdn.jsdelivr.net/pyodide/v{}/full/"  # where Pyodide publishes its own packages


def obstacles(tag: str, version: str, changelog: str, changed: str) -> list[str]:
    """Why this must not be released under the tag."""
    found = []
    if tag != f"v{version}":
        found.append(f"the tag is {tag}, and pyproject.toml has version {version}")
    heading = next((line for line in changelog.splitlines() if line.startswith(f"## {version}")), None)
    if heading is None:
        found.append(f"CHANGELOG.md has no heading for {version}")
    elif "not released" in heading:
        found.append(f"CHANGELOG.md still says: {heading}")
    if changed:
        found.append("there are changes that are not committed")
    return found


def build(weights: bool) -> None:
    """Wheels, npm package and site from the sources."""
    site = ["demos/build.py", "--tfjs", *(["--weights"] if weights else [])]
    for command in (["wheels/make.py"], ["wheels/npm.py"], ["wheels/lite.py"], site):
        subprocess.run([sys.executable, *command], cwd=ROOT, check=True)


def pyodide_lock(version: str) -> lock.Lock:
    """The lock file of a release of Pyodide, from its npm package; kept in .cache/pyodide-locks."""
    kept = ROOT / ".cache" / "pyodide-locks" / f"{version}.json"
    if not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        command = ["npm", "pack", "--silent", f"pyodide@{version}", "--pack-destination", str(kept.parent)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=runtime.environment())
        archive = kept.parent / f"pyodide-{version}.tgz"
        with tarfile.open(archive) as tar:
            member = tar.extractfile("package/pyodide-lock.json")
            assert member is not None
            kept.write_bytes(member.read())
        archive.unlink()
    return dict(json.loads(kept.read_text()))


def wheels_folder(folder: pathlib.Path, wheels: list[pathlib.Path]) -> None:
    """The wheels, an index over them, and the lock files."""
    folder.mkdir(parents=True)
    for wheel in wheels:
        shutil.copy(wheel, folder)
    make.write_index(folder)
    for version in PYODIDES:
        made = lock.extend(pyodide_lock(version), [str(w) for w in wheels], PACKAGES.format(version))
        (folder / f"pyodide-lock-{version}.json").write_text(json.dumps(made))


def archive(folder: pathlib.Path, target: pathlib.Path) -> None:
    """A .tar.gz of a folder; the same files give the same bytes."""

    def plain(info: tarfile.TarInfo) -> tarfile.TarInfo:
        info.mtime, info.uid, info.gid, info.uname, info.gname = 0, 0, 0, "", ""
        info.mode = 0o755 if info.isdir() else 0o644
        return info

    with open(target, "wb") as raw, gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as packed:
        with tarfile.open(fileobj=packed, mode="w") as tar:
            for path in sorted(folder.rglob("*")):
                tar.add(path, path.relative_to(folder), recursive=False, filter=plain)


def checksums(folder: pathlib.Path) -> str:
    """Lines for `sha256sum --check`."""
    return "".join(
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n"
        for path in sorted(folder.iterdir())
        if path.name != "SHA256SUMS"
    )


def collect(out: pathlib.Path, version: str) -> None:
    """Puts what was built into the folder of the release."""
    name = backend.name_version()
    wheels = sorted([*DIST.glob(f"{name}-*.whl"), *DIST.glob(f"torch-*+torchlite.{version}-*.whl")])
    packed = DIST / "npm" / f"torchlite-{version}.tgz"
    notebooks = DIST / "jupyterlite" / f"torchlite_jupyterlite-{version}-py3-none-any.whl"
    for needed in (*wheels, packed, notebooks, SITE / "index.html", SITE / "docs" / "index.html"):
        if not needed.exists():
            raise SystemExit(f"{needed.relative_to(ROOT)} is missing")
    if len(wheels) != 3:
        raise SystemExit(f"three wheels are wanted: {[w.name for w in wheels]}")
    shutil.rmtree(out, ignore_errors=True)
    assets = out / "assets"
    assets.mkdir(parents=True)
    for file in (*wheels, packed, notebooks):
        shutil.copy(file, assets)
    shutil.copytree(SITE, out / "site")
    wheels_folder(out / "site" / "wheels", wheels)
    (out / "site" / ".nojekyll").touch()  # folders whose names begin with _ are served as well
    archive(out / "site", assets / f"torchlite-site-{version}.tar.gz")
    (assets / "SHA256SUMS").write_text(checksums(assets))


def main(argv: list[str] | None = None) -> int:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--tag", required=True)
    p.add_argument("--out", type=pathlib.Path, default=ROOT / "release")
    p.add_argument("--dry-run", action="store_true")
    p.add_argument("--built", action="store_true")
    p.add_argument("--weights", action="store_true", help="the site has the published weights of demos")
    a = p.parse_args(argv)
    version = backend.name_version().rpartition("-")[2]
    changed = subprocess.run(["git", "status", "--porcelain"], cwd=ROOT, capture_output=True, text=True, check=False)
    found = obstacles(a.tag, version, (ROOT / "CHANGELOG.md").read_text(), changed.stdout)
    for text in found:
        print(f"release: {text}", file=sys.stderr)
    if found and not a.dry_run:
        return 1
    if not a.built:
        build(a.weights)
    collect(a.out, version)
    for path in sorted((a.out / "assets").iterdir()):
        print(f"{path.stat().st_size:>12,}  {path.name}")
    files = [path for path in (a.out / "site").rglob("*") if path.is_file()]
    print(f"{sum(path.stat().st_size for path in files):>12,}  site, {len(files)} files")
    return 0


if __name__ == "__main__":
    sys.exit(main())
