"""Makes torchlite a part of the JupyterLite sites that `jupyter lite build` builds where this package is installed.

In their notebooks `import torch` works as it stands, and `%pip install torchlite` (or torch, or a package that requires
torch) finds these wheels, not the unrelated package of that name on the public index.
"""

from __future__ import annotations

import pathlib

from jupyterlite_core.constants import JUPYTERLITE_JSON
from jupyterlite_pyodide_kernel import constants
from jupyterlite_pyodide_kernel.addons._base import _BaseAddon

WHEELS = pathlib.Path(__file__).parent / "wheels"
# the kernel's worker, in extensions/@jupyterlite/pyodide-kernel-extension/static, resolves addresses from where it is
FROM_WORKER = "../../../../"


class TorchliteAddon(_BaseAddon):
    __all__ = ["build", "post_build"]

    def wheels(self) -> list[pathlib.Path]:
        """Those for the kernel's Pyodide: JupyterLite's index holds one wheel of a name."""
        abi = {"3.14": "2026_0", "3.13": "2025_0"}.get(constants.PYODIDE_PYTHON_VERSION)
        found = [*WHEELS.glob(f"torchlite-*pyemscripten_{abi}_*.whl"), *WHEELS.glob("torch-*.whl")]
        if len(found) != 2:
            raise RuntimeError(
                f"torchlite has no wheel for Python {constants.PYODIDE_PYTHON_VERSION} of this JupyterLite"
            )
        return found

    def build(self, manager):
        """The wheels go to the site's other ones, of which the kernel's own addon makes an index."""
        for wheel in self.wheels():
            target = manager.output_dir / constants.PYPI_WHEELS / wheel.name
            yield self.task(
                name=f"copy:{wheel.name}",
                file_dep=[wheel],
                targets=[target],
                actions=[(self.copy_one, [wheel, target])],
            )

    def post_build(self, manager):
        """Each kernel loads torchlite as it starts."""
        config = manager.output_dir / JUPYTERLITE_JSON
        yield self.task(name="packages", file_dep=[config], actions=[(self.load_at_start, [config])])

    def load_at_start(self, config: pathlib.Path) -> None:
        settings = self.get_pyodide_settings(config)
        options = settings.setdefault(constants.LOAD_PYODIDE_OPTIONS, {})
        others = [p for p in options.get(constants.OPTION_PACKAGES, []) if "/torchlite-" not in p]
        address = f"{FROM_WORKER}{constants.PYPI_WHEELS}/{self.wheels()[0].name}"
        options[constants.OPTION_PACKAGES] = [*others, address]
        self.set_pyodide_settings(config, settings)
