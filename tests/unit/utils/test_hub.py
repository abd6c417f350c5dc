"""torch.hub: entry points of folders, what was downloaded before, files by address."""

import hashlib
import importlib
import io
import shutil

import pytest

import torchlite as torch

HUBCONF = '''
dependencies = ["math"]
import beside
import torchlite
def small(n=2):
    """A small model."""
    return torchlite.nn.Linear(beside.WIDTH, n)
def _hidden():
    pass
number = 3
'''


@pytest.fixture
def home(tmp_path, monkeypatch):
    (tmp_path / "repo").mkdir()
    (tmp_path / "repo" / "hubconf.py").write_text(HUBCONF)
    (tmp_path / "repo" / "beside.py").write_text("WIDTH = 3\n")
    monkeypatch.setattr(torch.hub, "_hub_dir", None)
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "home"))
    return tmp_path


def test_folders(home, monkeypatch):
    assert torch.hub.get_dir() == str(home / "home" / "hub")
    monkeypatch.delenv("TORCH_HOME")
    monkeypatch.setenv("XDG_CACHE_HOME", str(home))
    assert torch.hub.get_dir() == str(home / "torch" / "hub")
    torch.hub.set_dir(home / "mine")
    assert torch.hub.get_dir() == str(home / "mine")


def test_a_folder_with_entry_points(home):
    repo = str(home / "repo")
    assert torch.hub.load(repo, "small", 5, source="local").weight.shape == (5, 3)
    assert torch.hub.load(repo, "small", n=4, source="LOCAL").weight.shape == (4, 3)
    for call, error, text in [
        (lambda: torch.hub.load(repo, "nope", source="local"), RuntimeError, "Cannot find callable nope in hubconf"),
        (lambda: torch.hub.load(repo, "number", source="local"), RuntimeError, "Cannot find callable number"),
        (lambda: torch.hub.load(repo, 3, source="local"), ValueError, "model should be a string of function name"),
        (lambda: torch.hub.load(repo, "small", source="other"), ValueError, 'Unknown source: "other"'),
        (lambda: torch.hub.load(str(home / "no"), "small", source="local"), FileNotFoundError, "hubconf.py"),
    ]:
        with pytest.raises(error, match=text):
            call()
    (home / "repo" / "hubconf.py").write_text("dependencies = ['not_there_a', 'not_there_b']\ndef m(): pass\n")
    with pytest.raises(RuntimeError, match="Missing dependencies: not_there_a, not_there_b"):
        torch.hub.load(repo, "m", source="local")


def test_a_repository_that_was_downloaded_before(home, monkeypatch, capsys):
    shutil.copytree(home / "repo", home / "home" / "hub" / "me_repo_dev")
    assert torch.hub.list("me/repo:dev") == ["small"]
    assert torch.hub.help("me/repo:dev", "small") == "A small model."
    assert torch.hub.load("me/repo:dev", "small", 7, verbose=False).weight.shape == (7, 3)
    assert capsys.readouterr().err.count("Using cache found in ") == 2
    for answer, error in (("n", "Untrusted repository"), ("maybe", "Unrecognized response maybe")):
        monkeypatch.setattr("sys.stdin", io.StringIO(answer + "\n"))
        with pytest.raises(Exception, match=error):
            torch.hub.load("you/repo:dev", "small")


def test_the_bar_where_there_is_no_tqdm(home, monkeypatch, capsys):
    monkeypatch.setattr(torch.hub, "tqdm", torch.hub._Bar)
    torch.hub.download_url_to_file((home / "repo" / "beside.py").as_uri(), str(home / "x.py"))
    assert capsys.readouterr().err == "\r100.0%\n"


def test_weights_by_address(home, capsys):
    data = {"a": torch.arange(3.0)}
    torch.save(data, home / "w.pth")
    digest = hashlib.sha256((home / "w.pth").read_bytes()).hexdigest()
    address = (home / "w.pth").as_uri()
    for name, check in (("w.pth", False), ("w-%s.pth" % digest[:8], True), ("w-00000000.pth", False)):
        shutil.copy(home / "w.pth", home / name) if name != "w.pth" else None
        for _ in range(2):
            got = torch.hub.load_state_dict_from_url((home / name).as_uri(), check_hash=check, progress=False)
            assert got["a"].tolist() == [0, 1, 2]
    assert capsys.readouterr().out.count("Downloading: ") == 3  # each once
    with pytest.raises(RuntimeError, match='invalid hash value .expected "00000000", got "%s"' % digest):
        torch.hub.load_state_dict_from_url(
            (home / "w-00000000.pth").as_uri(), str(home / "other"), check_hash=True, progress=False
        )
    assert list((home / "other").iterdir()) == []
    torch.hub.download_url_to_file(address, str(home / "x.bin"), hash_prefix=digest[:4])
    assert (home / "x.bin").read_bytes() == (home / "w.pth").read_bytes()
    assert importlib.import_module("torchlite.utils.model_zoo").load_url is torch.hub.load_state_dict_from_url
