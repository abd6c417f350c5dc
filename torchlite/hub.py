"""torch.hub: models by the entry points of a repository's hubconf.py, and weights by their address.

Downloads go through urllib; in a page through the browser's fetch, and stay in its storage (_files/browser.py).
Functions whose name ends in _async are for pages in which Python cannot wait.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib
import json
import os
import re
import shutil
import sys
import uuid
import warnings
import zipfile
from typing import TYPE_CHECKING, Any
from urllib.parse import urlparse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = [
    "download_url_to_file",
    "download_url_to_file_async",
    "downloads",
    "downloads_async",
    "get_dir",
    "help",
    "list",
    "load",
    "load_state_dict_from_url",
    "load_state_dict_from_url_async",
    "remove_download",
    "remove_download_async",
    "set_dir",
]
HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")
READ_DATA_CHUNK = 128 * 1024
_TRUSTED = "facebookresearch facebookincubator pytorch fairinternal".split()
MODULE_HUBCONF = "hubconf.py"
ENV_TORCH_HOME, ENV_XDG_CACHE_HOME, DEFAULT_CACHE_DIR = "TORCH_HOME", "XDG_CACHE_HOME", "~/.cache"
_hub_dir: str | None = None


# ---- folders ---------------------------------------------------------------------------------------------------------
def _get_torch_home() -> str:
    cache = os.getenv(ENV_XDG_CACHE_HOME, DEFAULT_CACHE_DIR)
    return os.path.expanduser(os.getenv(ENV_TORCH_HOME, os.path.join(cache, "torch")))


def get_dir() -> str:
    """The folder of downloads: what set_dir set, else hub in $TORCH_HOME, $XDG_CACHE_HOME/torch or ~/.cache/torch."""
    if os.getenv("TORCH_HUB"):
        warnings.warn("TORCH_HUB is deprecated, please use env TORCH_HOME instead", stacklevel=2)
    return _hub_dir if _hub_dir is not None else os.path.join(_get_torch_home(), "hub")


def set_dir(d: str | os.PathLike[str]) -> None:
    """Sets the folder of downloads."""
    global _hub_dir
    _hub_dir = os.path.expanduser(d)


# ---- repositories ----------------------------------------------------------------------------------------------------
def _open(url: str) -> Any:
    from urllib.request import Request, urlopen

    return urlopen(Request(url, headers={"User-Agent": "torch.hub"}))


def _parse_repo_info(github: str) -> tuple[str, str, str]:
    """owner/name[:ref] -> (owner, name, ref). Without a ref it is main, or master where there is no main."""
    from urllib.error import HTTPError, URLError

    repo, _, ref = github.partition(":")
    owner, name = repo.split("/")
    if ref:
        return owner, name, ref
    try:
        with _open("https://github.com/%s/%s/tree/main/" % (owner, name)):
            return owner, name, "main"
    except HTTPError as e:
        if e.code == 404:
            return owner, name, "master"
        raise
    except URLError as e:  # no network: what was downloaded before
        for ref in ("main", "master"):
            if os.path.exists("%s/%s_%s_%s" % (get_dir(), owner, name, ref)):
                return owner, name, ref
        raise RuntimeError(
            "It looks like there is no internet connection and the repo could not be found in the cache (%s)"
            % get_dir()
        ) from e


def _validate_ref(owner: str, name: str, ref: str) -> None:
    """Raises where a ref is of a fork, not of the repository itself."""
    for kind in ("branches", "tags"):
        page = 0
        while True:
            page += 1
            url = "https://api.github.com/repos/%s/%s/%s?per_page=100&page=%d" % (owner, name, kind, page)
            with _open(url) as answer:
                found = json.loads(answer.read().decode())
            if not found:
                break
            if any(entry["name"] == ref or entry["commit"]["sha"].startswith(ref) for entry in found):
                return
    raise ValueError(
        "Cannot find %s in https://github.com/%s/%s. If it's a commit from a forked repo, please call hub.load() with "
        "forked repo directly." % (ref, owner, name)
    )


def _check_repo_is_trusted(owner: str, name: str, folder: str, trust_repo: Any) -> None:
    """Asks the user before code of a repository runs for the first time. Those that may are in trusted_list."""
    path = os.path.join(get_dir(), "trusted_list")
    here = "%s_%s" % (owner, name)
    with open(path, "a+") as f:
        f.seek(0)
        trusted = here in f.read().split() or owner in _TRUSTED or os.path.isdir(folder)
    if trust_repo is False or trust_repo == "check" and not trusted:
        answer = input(
            "The repository %s does not belong to the list of trusted repositories and as such cannot be downloaded. "
            "Do you trust this repository and wish to add it to the trusted list of repositories (y/N)?" % here
        )
        if answer.lower() in ("", "n", "no"):
            raise Exception("Untrusted repository.")
        if answer.lower() not in ("y", "yes"):
            raise ValueError("Unrecognized response %s." % answer)
        if trusted:
            print("The repository is already trusted.")
    if not trusted:
        with open(path, "a") as f:
            f.write(here + "\n")


def _get_cache_or_reload(
    github: str,
    force_reload: bool,
    trust_repo: bool | str | None,
    verbose: bool = True,
    skip_validation: bool = False,
) -> str:
    """The folder of a repository; it is downloaded and unpacked where it is not there."""
    from urllib.error import HTTPError

    home = get_dir()
    os.makedirs(home, exist_ok=True)
    owner, name, ref = _parse_repo_info(github)
    folder = os.path.join(home, "_".join([owner, name, ref.replace("/", "_")]))
    _check_repo_is_trusted(owner, name, folder, trust_repo)
    if not force_reload and os.path.exists(folder):
        if verbose:
            sys.stderr.write("Using cache found in %s\n" % folder)
        return folder
    if not skip_validation:
        _validate_ref(owner, name, ref)
    packed = os.path.join(home, ref.replace("/", "_") + ".zip")
    with contextlib.suppress(FileNotFoundError):
        os.remove(packed)
    url = "https://github.com/%s/%s/zipball/%s" % (owner, name, ref)
    if verbose:
        sys.stdout.write('Downloading: "%s" to %s\n' % (url, packed))
    try:
        download_url_to_file(url, packed, progress=False)
    except HTTPError as e:
        if e.code != 300:
            raise
        warnings.warn(
            "The ref %s is ambiguous. Perhaps it is both a tag and a branch in the repo? Torchhub will now assume that "
            "it's a branch." % ref,
            stacklevel=3,
        )
        download_url_to_file(url.removesuffix(ref) + "refs/heads/" + ref, packed, progress=False)
    with zipfile.ZipFile(packed) as z:
        unpacked = os.path.join(home, z.infolist()[0].filename)
        shutil.rmtree(unpacked, ignore_errors=True)
        z.extractall(home)
    os.remove(packed)
    shutil.rmtree(folder, ignore_errors=True)
    shutil.move(unpacked, folder)
    return folder


# ---- entry points ----------------------------------------------------------------------------------------------------
@contextlib.contextmanager
def _hubconf(folder: str) -> Iterator[Any]:
    """The module of a folder's hubconf.py; while it is in use, it imports from its folder first."""
    from importlib import util

    sys.path.insert(0, folder)
    try:
        spec = util.spec_from_file_location(MODULE_HUBCONF, os.path.join(folder, MODULE_HUBCONF))
        if spec is None or spec.loader is None:
            raise AssertionError("failed to load spec from %s" % folder)
        module = util.module_from_spec(spec)
        spec.loader.exec_module(module)
        yield module
    finally:
        sys.path.remove(folder)


def _entry(module: Any, model: str) -> Any:
    if not isinstance(model, str):
        raise ValueError("Invalid input: model should be a string of function name")
    needs = getattr(module, "dependencies", None) or []
    missing = [name for name in needs if not importlib.util.find_spec(name)]
    if missing:
        raise RuntimeError("Missing dependencies: %s" % ", ".join(missing))
    found = getattr(module, model, None)
    if found is None or not callable(found):
        raise RuntimeError("Cannot find callable %s in hubconf" % model)
    return found


def list(
    github: str,
    force_reload: bool = False,
    skip_validation: bool = False,
    trust_repo: bool | str | None = "check",
    verbose: bool = True,
) -> Any:
    """The names of the entry points of a repository owner/name[:ref]."""
    folder = _get_cache_or_reload(github, force_reload, trust_repo, verbose, skip_validation)
    with _hubconf(folder) as module:
        return [name for name in dir(module) if callable(getattr(module, name)) and not name.startswith("_")]


def help(
    github: str,
    model: str,
    force_reload: bool = False,
    skip_validation: bool = False,
    trust_repo: bool | str | None = "check",
) -> str | None:
    """The docstring of an entry point."""
    folder = _get_cache_or_reload(github, force_reload, trust_repo, True, skip_validation)
    with _hubconf(folder) as module:
        return _entry(module, model).__doc__


def load(
    repo_or_dir: Any,
    model: str,
    *args: Any,
    source: str = "github",
    trust_repo: bool | str | None = "check",
    force_reload: bool = False,
    verbose: bool = True,
    skip_validation: bool = False,
    **kwargs: Any,
) -> Any:
    """What an entry point returns, called with *args and **kwargs.

    The repository is owner/name[:ref] of GitHub, or with source="local" a folder with a hubconf.py.
    """
    source = source.lower()
    if source not in ("github", "local"):
        raise ValueError('Unknown source: "%s". Allowed values: "github" | "local".' % source)
    if source == "github":
        repo_or_dir = _get_cache_or_reload(repo_or_dir, force_reload, trust_repo, verbose, skip_validation)
    return _load_local(repo_or_dir, model, *args, **kwargs)


def _load_local(hubconf_dir: Any, model: str, *args: Any, **kwargs: Any) -> Any:
    with _hubconf(hubconf_dir) as module:
        return _entry(module, model)(*args, **kwargs)


# ---- files by address ------------------------------------------------------------------------------------------------
class _Bar:
    """A progress bar on stderr, in the place of tqdm's."""

    def __init__(
        self, total: int | None = None, disable: bool = False, unit: str | None = None, *args: Any, **kwargs: Any
    ) -> None:
        self.total, self.disable, self.n, self.shown = total, disable, 0, ""

    def __enter__(self) -> _Bar:
        return self

    def __exit__(self, *args: Any) -> None:
        self.close()

    def set_description(self, *args: Any, **kwargs: Any) -> None:
        """No text is shown."""

    def update(self, n: int) -> None:
        """n bytes more have come."""
        self.n += n
        text = "%.1f%%" % (100 * self.n / self.total) if self.total else "%.1f bytes" % self.n
        if not self.disable and text != self.shown:
            self.shown = text
            sys.stderr.write("\r" + text)
            sys.stderr.flush()

    def close(self) -> None:
        """Ends the line."""
        if not self.disable:
            sys.stderr.write("\n")
        self.disable = True


tqdm: Any = _Bar
with contextlib.suppress(ImportError):
    tqdm = importlib.import_module("tqdm.auto").tqdm


class _Told(_Bar):
    """A bar that calls a function with the bytes so far, and the number of all or None."""

    def __init__(self, tell: Callable[[int, int | None], object], total: int | None) -> None:
        super().__init__(total, disable=True)
        self.tell = tell

    def update(self, n: int) -> None:
        """n bytes more have come."""
        self.n += n
        self.tell(self.n, self.total)


def _bar(progress: Any) -> Callable[[int | None], Any]:
    if callable(progress):
        return functools.partial(_Told, progress)
    return lambda total: tqdm(total=total, disable=not progress, unit="B", unit_scale=True, unit_divisor=1024)


def _by_fetch(url: str) -> bool:
    return sys.platform == "emscripten" and urlparse(url).scheme in ("", "http", "https")


def download_url_to_file(url: str, dst: str, hash_prefix: str | None = None, progress: Any = True) -> None:
    """Downloads to a file, which is there only when it is whole and its SHA256 begins with `hash_prefix`.

    progress: whether to show a bar, or a function of the bytes so far and the number of all (None if not known).
    In a page the file stays in the browser's storage: the next download of it needs no network, and one that broke
    off goes on from there."""
    if _by_fetch(url):
        from ._files import browser

        return browser.wait(download_url_to_file_async(url, dst, hash_prefix, progress))
    dst = os.path.expanduser(dst)
    partial = "%s.%s.partial" % (dst, uuid.uuid4().hex)
    digest = hashlib.sha256()
    with _open(url) as source:
        length = source.headers.get("Content-Length")
        try:
            with open(partial, "xb") as f, _bar(progress)(int(length) if length else None) as bar:
                while chunk := source.read(READ_DATA_CHUNK):
                    f.write(chunk)
                    digest.update(chunk)
                    bar.update(len(chunk))
            if hash_prefix is not None and not digest.hexdigest().startswith(hash_prefix):
                raise RuntimeError('invalid hash value (expected "%s", got "%s")' % (hash_prefix, digest.hexdigest()))
            shutil.move(partial, dst)
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.remove(partial)


async def download_url_to_file_async(url: str, dst: str, hash_prefix: str | None = None, progress: Any = True) -> None:
    """download_url_to_file for pages in which Python cannot wait."""
    if not _by_fetch(url):
        return download_url_to_file(url, dst, hash_prefix, progress)
    from ._files import browser

    await browser.download(url, os.path.expanduser(dst), hash_prefix, _bar(progress))


def downloads() -> Any:
    """What load_state_dict_from_url has downloaded: dicts of url, bytes, total and sha256.

    In a page, what is in the browser's storage: a file is whole where bytes is total. Elsewhere the files in
    checkpoints in the folder of downloads, where url is the path."""
    if sys.platform == "emscripten":
        from ._files import browser

        return browser.wait(browser.stored_files())
    folder = os.path.join(get_dir(), "checkpoints")
    paths = [os.path.join(folder, name) for name in sorted(os.listdir(folder))] if os.path.isdir(folder) else []
    sizes = [(path, os.path.getsize(path)) for path in paths if os.path.isfile(path)]
    return [{"url": path, "bytes": size, "total": size, "sha256": None} for path, size in sizes]


async def downloads_async() -> Any:
    """downloads for pages in which Python cannot wait."""
    if sys.platform != "emscripten":
        return downloads()
    from ._files import browser

    return await browser.stored_files()


def remove_download(url: str) -> None:
    """Deletes what load_state_dict_from_url keeps of an address, or a path of downloads()."""
    if sys.platform == "emscripten":
        from ._files import browser

        return browser.wait(remove_download_async(url))
    with contextlib.suppress(FileNotFoundError):
        os.remove(os.path.join(get_dir(), "checkpoints", os.path.basename(urlparse(url).path)))


async def remove_download_async(url: str) -> None:
    """remove_download for pages in which Python cannot wait."""
    if sys.platform != "emscripten":
        return remove_download(url)
    from ._files import browser

    with contextlib.suppress(FileNotFoundError):
        os.remove(os.path.join(get_dir(), "checkpoints", os.path.basename(urlparse(url).path)))
    await browser.remove(url)


def _is_legacy_zip_format(filename: str) -> bool:
    """A zip archive around one file of the format of torch.save."""
    if not zipfile.is_zipfile(filename):
        return False
    with zipfile.ZipFile(filename) as z:
        names = z.infolist()
        return len(names) == 1 and not names[0].is_dir()


def _place(url: str, model_dir: str | None, file_name: str | None, check_hash: bool) -> tuple[str, str | None]:
    """The path of a file of weights, and the beginning of its hash; makes the folder, and says what is downloaded."""
    if os.getenv("TORCH_MODEL_ZOO"):
        warnings.warn("TORCH_MODEL_ZOO is deprecated, please use env TORCH_HOME instead", stacklevel=3)
    if model_dir is None:
        model_dir = os.path.join(get_dir(), "checkpoints")
    os.makedirs(model_dir, exist_ok=True)
    filename = os.path.basename(urlparse(url).path) if file_name is None else file_name
    cached = os.path.join(model_dir, filename)
    if not os.path.exists(cached):
        sys.stdout.write('Downloading: "%s" to %s\n' % (url, cached))
    found = HASH_REGEX.search(filename) if check_hash else None
    return cached, found.group(1) if found else None


def load_state_dict_from_url(
    url: str,
    model_dir: str | None = None,
    map_location: Any = None,
    progress: Any = True,
    check_hash: bool = False,
    file_name: str | None = None,
    weights_only: bool = False,
) -> dict[str, Any]:
    """torch.load of a file by its address. It is downloaded once, to model_dir or to checkpoints in the folder of
    downloads. check_hash compares its SHA256 with the name: name-<hash>.ext. In a page it stays in the browser's
    storage: downloads() lists it and remove_download(url) deletes it."""
    cached, digest = _place(url, model_dir, file_name, check_hash)
    if not os.path.exists(cached):
        download_url_to_file(url, cached, digest, progress)
    return _load_file(cached, map_location, weights_only)


async def load_state_dict_from_url_async(
    url: str,
    model_dir: str | None = None,
    map_location: Any = None,
    progress: Any = True,
    check_hash: bool = False,
    file_name: str | None = None,
    weights_only: bool = False,
) -> dict[str, Any]:
    """load_state_dict_from_url for pages in which Python cannot wait."""
    cached, digest = _place(url, model_dir, file_name, check_hash)
    if not os.path.exists(cached):
        await download_url_to_file_async(url, cached, digest, progress)
    return _load_file(cached, map_location, weights_only)


def _load_file(cached: str, map_location: Any, weights_only: bool) -> dict[str, Any]:
    import torchlite as torch

    if not _is_legacy_zip_format(cached):
        return torch.load(cached, map_location=map_location, weights_only=weights_only)
    warnings.warn(
        "Falling back to the old format < 1.6. This support will be deprecated in favor of default zipfile format "
        "introduced in 1.6. Please redo torch.save() to save it in the new zipfile format.",
        FutureWarning,
        stacklevel=3,
    )
    folder = os.path.dirname(cached)
    with zipfile.ZipFile(cached) as z:
        z.extractall(folder)
        inner = os.path.join(folder, z.infolist()[0].filename)
    return torch.load(inner, map_location=map_location, weights_only=weights_only)
