"""Wheels leave out the definitions that only tests call; inside Pyodide they come from the project's folder."""

import importlib.util
import pathlib
import sys

NAME = "torchlite.ops._reference"
if sys.platform == "emscripten" and importlib.util.find_spec(NAME) is None:
    path = pathlib.Path(__file__).resolve().parents[2] / (NAME.replace(".", "/") + ".py")
    spec = importlib.util.spec_from_file_location(NAME, path)
    sys.modules[NAME] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules[NAME])
