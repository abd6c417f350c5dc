"""What the page shows of a value: HTML for tensors, modules and whatever has a `_repr_html_`; text for the rest."""

import html
import sys

from . import picture
from .display import emit

TEXT = 20_000  # characters of a text
PICTURES = 16
LARGE = 4_000_000  # elements beyond which a tensor's statistics are left out


def html_of(value):
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.nn.Module) and not _own(value, torch.nn.Module):
        return module_tree(value)
    if torch is not None and isinstance(value, torch.Tensor) and not _own(value, torch.Tensor):
        return tensor_card(value)
    for name, wrap in _FORMS:
        form = getattr(value, name, None)
        if callable(form) and not isinstance(value, type):
            shown = form()
            if shown is not None:
                return wrap(shown)
    return pre(repr(value))


def safe_html_of(value):
    """html_of() for the page itself: a value that cannot be drawn is shown as text."""
    try:
        return html_of(value)
    except Exception as error:
        return pre(f"{value!r}\n(no picture of it: {type(error).__name__}: {error})")


def _own(value, base):
    """Whether the class brings its own picture, and does not inherit one."""
    return getattr(type(value), "_repr_html_", None) is not getattr(base, "_repr_html_", None)


def _png(data):
    return f'<img alt="" src="{picture.data_url(data)}">'


_FORMS = [("_repr_html_", str), ("_repr_svg_", str), ("_repr_png_", _png), ("_repr_markdown_", lambda text: pre(text))]


def pre(text):
    if len(text) > TEXT:
        text = f"{text[:TEXT]}\n… {len(text) - TEXT:,} characters left out"
    return f"<pre>{html.escape(text)}</pre>"


def number(value):
    if isinstance(value, complex):
        return f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"


def shape_text(shape):
    return "×".join(map(str, shape)) if len(shape) else "()"


def facts(pairs):
    """(name, value) pairs in a row."""
    cells = "".join(f"<div><dt>{html.escape(k)}</dt><dd>{html.escape(str(v))}</dd></div>" for k, v in pairs)
    return f'<dl class="facts">{cells}</dl>'


def tensor_card(tensor):
    """Shape, dtype, device, statistics, a histogram, the pictures of what looks like pictures, and the values."""
    import torch

    with torch.no_grad():
        plain = tensor.detach()
        kind = "Parameter" if isinstance(tensor, torch.nn.Parameter) else type(tensor).__name__
        pairs = [("shape", shape_text(plain.shape)), ("dtype", str(plain.dtype)), ("device", str(plain.device))]
        if tensor.requires_grad:
            pairs.append(("gradient", type(tensor.grad_fn).__name__ if tensor.grad_fn is not None else "leaf"))
        drawn = ""
        dense = plain.layout == torch.strided and not plain.is_quantized
        if dense and 1 < plain.numel() <= LARGE and not plain.is_complex():
            pairs += statistics(plain)
            drawn = pictures(plain) or histogram(plain)
    card = f"<b>{html.escape(kind)}</b>{facts(pairs)}{drawn}"
    return f'<div class="tensor">{card}<details><summary>Values</summary>{pre(repr(tensor))}</details></div>'


def statistics(tensor):
    import torch

    if tensor.dtype == torch.bool:
        return [("true", f"{int(tensor.sum()):,} of {tensor.numel():,}")]
    real = tensor.double() if tensor.device.type == "cpu" else tensor.float()
    good = real[torch.isfinite(real)]
    pairs = []
    if good.numel():
        whole = not tensor.is_floating_point()
        low, high = good.min().item(), good.max().item()
        pairs += [("min", number(int(low) if whole else low)), ("max", number(int(high) if whole else high))]
        pairs += [("mean", number(good.mean().item()))]
        if good.numel() > 1:
            pairs += [("std", number(good.std().item()))]
    odd = tensor.numel() - good.numel()
    if odd:
        nans = int(torch.isnan(real).sum())
        pairs += [("NaN", f"{nans:,}"), ("infinite", f"{odd - nans:,}")]
    return pairs


def histogram(tensor, bins=32):
    """How the values are spread: an SVG picture of counts."""
    import torch

    if not tensor.is_floating_point() or tensor.numel() < 32:
        return ""
    values = tensor.float().cpu()
    values = values[torch.isfinite(values)]
    if values.numel() < 32 or values.min() == values.max():
        return ""
    low, high = values.min().item(), values.max().item()
    counts = torch.histc(values, bins=bins, min=low, max=high).tolist()
    top = max(counts)
    parts = "".join(
        f'<rect x="{4 * i}" y="{40 - 38 * n / top:.1f}" width="3.4" height="{38 * n / top:.1f}"></rect>'
        for i, n in enumerate(counts)
    )
    label = f"Histogram from {number(low)} to {number(high)}"
    return (
        f'<svg class="histogram" viewBox="0 0 {4 * bins} 40" role="img" aria-label="{label}"><g class="fill">{parts}'
        f'</g></svg><div class="ends"><span>{number(low)}</span><span>{number(high)}</span></div>'
    )


def pictures(tensor):
    layout = picture.images_in(tensor.shape, tensor.is_floating_point())
    if layout is None:
        return ""
    count, channels, height, width = layout
    images = tensor.reshape(layout)
    shown = min(count, PICTURES)
    parts = []
    for index in range(shown):
        url, low, high = picture.encode(images[index])
        size = max(height, width)
        scale = min(max(1, (160 if count == 1 else 72) // size), 320 / size)
        parts.append(
            f'<img class="pixels" src="{url}" width="{round(width * scale)}" height="{round(height * scale)}" '
            f'alt="Picture {index + 1} of {count}, {width} by {height}, from {number(low)} to {number(high)}">'
        )
    more = f'<p class="soft">{count - shown:,} more are left out.</p>' if count > shown else ""
    return f'<div class="pictures">{"".join(parts)}</div>{more}'


def bytes_text(size):
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000 or unit == "GB":
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return None


def summary(model, *inputs, **named):
    """Shows the module tree; with inputs, also the shape of what each module returns for them."""
    emit(module_tree(model, _shapes(model, inputs, named) if inputs or named else {}))


def _shapes(model, inputs, named):
    """What each module returned in one call, as text; modes and random numbers stay as they were."""
    import torch

    shapes = {}

    def note(module, args, output):
        shapes[module] = _shape_of(output)

    hooks = [module.register_forward_hook(note) for module in model.modules()]
    modes = [(module, module.training) for module in model.modules()]
    try:
        with torch.no_grad(), torch.random.fork_rng(devices=[]):
            model.eval()
            model(*inputs, **named)
    finally:
        for module, training in modes:
            module.training = training
        for hook in hooks:
            hook.remove()
    return shapes


def _shape_of(output):
    import torch

    if isinstance(output, torch.Tensor):
        return shape_text(output.shape)
    if isinstance(output, (list, tuple)):
        return ", ".join(_shape_of(part) for part in output[:4])
    if isinstance(output, dict):
        return ", ".join(f"{key}: {_shape_of(part)}" for key, part in list(output.items())[:4])
    return type(output).__name__


def module_tree(model, shapes=None):
    """The tree of modules: parameters, their shapes and their number; what was made by a call, where it is known."""
    counted = {id(p): p for p in model.parameters() if not _unshaped(p)}
    total = sum(p.numel() for p in counted.values())
    trained = sum(p.numel() for p in counted.values() if p.requires_grad)
    buffers = [b for b in model.buffers() if not _unshaped(b)]
    size = sum(t.numel() * t.element_size() for t in [*counted.values(), *buffers])
    places = ", ".join(sorted({str(p.device) for p in counted.values()})) or "none"
    types = ", ".join(sorted({str(p.dtype) for p in counted.values()})) or "none"
    head = [("parameters", f"{total:,}"), ("trained", f"{trained:,}"), ("memory", bytes_text(size))]
    head += [("dtype", types), ("device", places)]
    rows = "".join(_rows("", model, 0, shapes or {}))
    output = "<th>Output</th>" if shapes else ""
    return (
        f'<div class="module">{facts(head)}<table><thead><tr><th>Module</th>{output}<th>Parameter shapes</th>'
        f'<th class="count">Parameters</th></tr></thead><tbody>{rows}</tbody></table></div>'
    )


def _rows(name, module, depth, shapes):
    own = [(key, p) for key, p in module.named_parameters(recurse=False)]
    count = sum(p.numel() for p in module.parameters() if not _unshaped(p))
    inner = list(module.named_children())
    text = type(module).__name__
    if not inner:
        text += f"({module.extra_repr()})"
    label = f"<b>{html.escape(name)}</b> {html.escape(text)}" if name else html.escape(text)
    marks = "".join(
        f'<span class="shape">{html.escape(key)} {_parameter_shape(p)}{"" if p.requires_grad else " frozen"}</span> '
        for key, p in own
    )
    output = f"<td>{html.escape(shapes.get(module, ''))}</td>" if shapes else ""
    yield (
        f'<tr><td style="padding-left: {0.4 + 1.1 * depth:.1f}em">{label}</td>{output}<td>{marks}</td>'
        f'<td class="count">{count:,}</td></tr>'
    )
    for key, child in inner:
        yield from _rows(key, child, depth + 1, shapes)


def _unshaped(parameter):
    """Whether the first input is still to give the parameter its shape."""
    import torch

    return torch.nn.parameter.is_lazy(parameter)


def _parameter_shape(parameter):
    return "not shaped yet" if _unshaped(parameter) else shape_text(parameter.shape)
