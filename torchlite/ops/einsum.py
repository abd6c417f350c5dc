"""Einstein summation: a parser for equations and a left-to-right contraction by batched matrix products."""

import math

import torchlite as torch

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"  # position in a sublist is the letter's index


def _operands(args):
    """(equation, operands) from either calling style."""
    if len(args) < 2:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, or at least one operand and its "
            "subscripts list"
        )
    if isinstance(args[0], torch.Tensor):

        def text(subs):
            out = []
            for s in subs:
                if s is Ellipsis:
                    out.append("...")
                elif isinstance(s, int) and 0 <= s < 52:
                    out.append(_LETTERS[s])
                elif isinstance(s, int):
                    raise ValueError("einsum(): subscript in subscript list is not within the valid range [0, 52)")
                else:
                    raise ValueError("einsum(): expected subscript to be int or Ellipsis")
            return "".join(out)

        equation = ",".join(text(s) for s in args[1::2][: len(args) // 2])
        operands = list(args[0 : len(args) // 2 * 2 : 2])
        if len(args) % 2:
            equation += "->" + text(args[-1])
        return equation, operands
    if not isinstance(args[0], str):
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, or at least one operand and its "
            "subscripts list"
        )
    operands = args[1:]
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        return args[0], list(operands[0])
    return args[0], list(operands)


def _subscripts(equation):
    """Labels of each operand ('.' for the ellipsis), and of the output or None."""
    arrow = equation.find("->")
    left = equation if arrow < 0 else equation[:arrow]
    groups: list[list[str]] = [[]]
    dots, i = False, 0
    while i < len(left):
        ch = left[i]
        if ch == " ":
            pass
        elif ch == ",":
            groups.append([])
            dots = False
        elif ch == ".":
            if dots:
                raise RuntimeError(
                    f"einsum(): found '.' for operand {len(groups) - 1} for which an ellipsis was already found"
                )
            if left[i : i + 3] != "...":
                raise RuntimeError(
                    f"einsum(): found '.' for operand {len(groups) - 1} that is not part of any ellipsis"
                )
            dots = True
            groups[-1].append(".")
            i += 2
        elif ch in _LETTERS:
            groups[-1].append(ch)
        else:
            raise RuntimeError(
                f"einsum(): invalid subscript given at index {i} in the equation string, subscripts must be in [a-zA-Z]"
            )
        i += 1
    if arrow < 0:
        return groups, None
    out, i = [], arrow + 2
    while i < len(equation):
        ch = equation[i]
        if ch == " ":
            pass
        elif ch == ".":
            if "." in out:
                raise RuntimeError("einsum(): found '.' for output but an ellipsis (...) was already found")
            if equation[i : i + 3] != "...":
                raise RuntimeError("einsum(): found '.' for output that is not part of any ellipsis (...)")
            out.append(".")
            i += 2
        elif ch in _LETTERS:
            if ch in out:
                raise RuntimeError(f"einsum(): output subscript {ch} appears more than once in the output")
            if not any(ch in g for g in groups):
                raise RuntimeError(
                    f"einsum(): output subscript {ch} does not appear in the equation for any input operand"
                )
            out.append(ch)
        else:
            raise RuntimeError(
                f"einsum(): invalid subscript given at index {i} in the equation string, subscripts must be in [a-zA-Z]"
            )
        i += 1
    return groups, out


def _contract(a, b, summed):
    """Sum over `summed` of a * b; both have all dims, size 1 where a label is absent."""
    n = a.dim()
    sums_a = [d for d in summed if a.shape[d] != 1 and b.shape[d] == 1]
    sums_b = [d for d in summed if b.shape[d] != 1 and a.shape[d] == 1]
    a = a.sum(sums_a, keepdim=True) if sums_a else a
    b = b.sum(sums_b, keepdim=True) if sums_b else b
    inner = [d for d in summed if a.shape[d] != 1 or b.shape[d] != 1]
    rest = [d for d in range(n) if d not in summed]
    batch = [d for d in rest if a.shape[d] != 1 and b.shape[d] != 1]
    left = [d for d in rest if a.shape[d] != 1 and b.shape[d] == 1]
    right = [d for d in rest if a.shape[d] == 1]
    if not inner and not (left and right):
        out = a * b
        return out
    size = lambda t, dims: math.prod(t.shape[d] for d in dims)
    gone = [d for d in summed if d not in inner]
    x = a.permute(batch + left + inner + right + gone).reshape(size(a, batch), size(a, left), size(a, inner))
    y = b.permute(batch + inner + right + left + gone).reshape(size(b, batch), size(b, inner), size(b, right))
    out = torch.bmm(x, y)
    order = batch + left + right
    out = out.reshape([a.shape[d] for d in batch + left] + [b.shape[d] for d in right] + [1] * len(summed))
    order = order + list(summed)
    return out.permute([order.index(d) for d in range(n)])


def einsum(*args):
    """Sums of products named by letters: `einsum("ij,jk->ik", a, b)`; also `einsum(a, [0, 1], b, [1, 2], [0, 2])`."""
    equation, operands = _operands(args)
    groups, out = _subscripts(equation)
    if len(operands) < len(groups):
        raise RuntimeError("einsum(): fewer operands were provided than specified in the equation")
    if len(operands) > len(groups):
        raise RuntimeError("einsum(): more operands were provided than specified in the equation")
    # dims covered by the ellipsis
    dots = 0
    for i, (x, labels) in enumerate(zip(operands, groups)):
        named = len(labels) - labels.count(".")
        if "." in labels:
            if x.dim() < named:
                raise RuntimeError(
                    f"einsum(): the number of subscripts in the equation ({named}) is more than the number of "
                    f"dimensions ({x.dim()}) for operand {i}"
                )
            dots = max(dots, x.dim() - named)
        elif x.dim() != named:
            raise RuntimeError(
                f"einsum(): the number of subscripts in the equation ({named}) does not match the number of dimensions "
                f"({x.dim()}) for operand {i} and no ellipsis was given"
            )
    if out is None:
        counts: dict[str, int] = {}
        for g in groups:
            for label in g:
                counts[label] = counts.get(label, 0) + 1
        out = (["."] if "." in counts else []) + sorted(k for k, v in counts.items() if v == 1 and k != ".")
    # order of all dims: output, then those summed over
    order = []
    for label in out + [k for g in groups for k in g]:
        names = [("...", j) for j in range(dots)] if label == "." else [label]
        order += [k for k in names if k not in order]
    kept = sum(dots if label == "." else 1 for label in out)
    sizes: dict[object, int] = {}
    full = []
    for i, (x, labels) in enumerate(zip(operands, groups)):
        extra = x.dim() - (len(labels) - labels.count("."))
        names = []
        for label in labels:
            names += [("...", dots - extra + j) for j in range(extra)] if label == "." else [label]
        d = 0
        while d < len(names):  # repeated labels: the diagonal
            first = names.index(names[d])
            if first != d:
                if x.shape[first] != x.shape[d]:
                    raise RuntimeError(
                        f"einsum(): subscript {names[d]} is repeated for operand {i} but the sizes don't match, "
                        f"{x.shape[d]} != {x.shape[first]}"
                    )
                x = x.diagonal(0, first, d).movedim(-1, first)
                del names[d]
            else:
                d += 1
        for name, n in zip(names, x.shape):
            have = sizes.get(name, 1)
            if have != 1 and n != 1 and have != n:
                if isinstance(name, tuple):
                    raise RuntimeError(
                        f"einsum(): dimension {name[1]} covered by ellipsis in operand {i}has size {n} which does not "
                        f"broadcast with previously seen ellipsis with size {have} for the respective dimension"
                    )
                raise RuntimeError(
                    f"einsum(): subscript {name} has size {n} for operand {i} which does not broadcast with previously "
                    f"seen size {have}"
                )
            sizes[name] = n if have == 1 else have
        present = [k for k in order if k in names]
        x = x.permute([names.index(k) for k in present])
        full.append(x.reshape([x.shape[present.index(k)] if k in names else 1 for k in order]))
    # contract from the left; a dim is summed as soon as no later operand has it
    result = full[0]
    n = len(order)
    for i in range(1, len(full)):
        later = full[i + 1 :]
        summed = [
            d
            for d in range(kept, n)
            if (result.shape[d] != 1 or full[i].shape[d] != 1) and all(t.shape[d] == 1 for t in later)
        ]
        result = _contract(result, full[i], summed)
    left = [d for d in range(kept, n) if result.shape[d] != 1]
    if left and result.dtype == torch.bool:
        result = result.any(dim=left[0], keepdim=True) if len(left) == 1 else result.sum(left, keepdim=True)
    elif left:
        result = result.sum(left, keepdim=True)
    return result.reshape(result.shape[:kept])


def _handed_on(args):
    """Arguments as PyTorch hands them to a __torch_function__: the equation, then each operand."""
    if len(args) == 2 and isinstance(args[1], (list, tuple)):
        return (args[0], *args[1])
    return args


einsum._tl_arguments = _handed_on  # type: ignore[attr-defined]
