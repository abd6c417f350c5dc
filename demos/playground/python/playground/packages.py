"""Which modules a script imports that are not here, and what can be done about each."""

import importlib.util
import os
import sys

# Distributions that are named otherwise than their module, and that Pyodide's own list does not have.
NAMES = {
    "dotenv": "python-dotenv",
    "hydra": "hydra-core",
    "pytorch_lightning": "pytorch-lightning",
    "sentence_transformers": "sentence-transformers",
    "umap": "umap-learn",
}

# Asked for with PyTorch, and built for desktops only.
NATIVE = {
    "bitsandbytes": "It needs CUDA.",
    "cupy": "It needs CUDA; torch tensors on the page's GPU do its work here.",
    "flash_attn": "It needs CUDA; torch.nn.functional.scaled_dot_product_attention is here.",
    "jax": "It needs jaxlib, which has no build for WebAssembly.",
    "jaxlib": "It has no build for WebAssembly.",
    "llvmlite": "It has no build for WebAssembly.",
    "numba": "It needs llvmlite, which has no build for WebAssembly.",
    "onnxruntime": "Its build for browsers is a JavaScript package; torch.onnx and torch.export are here.",
    "tensorflow": "It has no build for WebAssembly.",
    "triton": "It needs a GPU compiler of the desktop.",
    "xformers": "It needs CUDA; torch.nn.functional.scaled_dot_product_attention is here.",
}

problems = {}  # module: why it could not be had when the script was run


def missing(source, folder):
    """The top-level modules that a script, and the files beside it that it imports, ask for and that are not here."""
    from pyodide.code import find_imports

    found, seen, queue = [], set(), [source]
    while queue:
        try:
            names = find_imports(queue.pop())
        except (SyntaxError, ValueError):
            continue
        for name in names:
            name = name.partition(".")[0]
            if name in seen or not name.isidentifier():
                continue
            seen.add(name)
            beside = os.path.join(folder, f"{name}.py")
            if os.path.exists(beside):
                with open(beside, encoding="utf-8", errors="replace") as file:
                    queue.append(file.read())
            elif not available(name):
                found.append(name)
    return found


def available(name):
    if name in sys.modules:
        return True
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError, AttributeError):
        return False


async def fetch(name):
    """Installs one module from the Python Package Index; returns None, or why it can't be had."""
    if name in NATIVE:
        return f"{name} can't be had in a browser. {NATIVE[name]}"
    import micropip

    wanted = NAMES.get(name, name)
    problems.pop(name, None)
    try:
        await micropip.install(wanted)
    except Exception as error:
        return reason(wanted, f"{type(error).__name__}: {error}")
    importlib.invalidate_caches()
    return None if available(name) else f"The package {wanted} was installed, but it has no module {name}."


def reason(wanted, text):
    """micropip's error in one sentence: what is missing, and whether trying again helps."""
    if wanted in ("torchvision", "torchaudio"):
        return (
            f"{wanted} on the Python Package Index is native, which a browser can't load. Its Python part runs on "
            "torchlite: the documentation says under Packages how to put it into an index of your own."
        )
    if "pure Python 3 wheel" in text:
        return (
            f"{wanted} needs a native wheel: the index has none for Pyodide and no pure Python one. "
            "It can't be had in a browser."
        )
    if any(word in text for word in ("fetch", "No known package", "NetworkError", "OSError", "Request for", "404")):
        return (
            f"{wanted} was not found on the Python Package Index, or the index did not answer; Run tries again. "
            "Is it a file of yours? Drop it onto the page."
        )
    return f"{wanted} could not be installed. {text.strip().splitlines()[-1][:300]}"
