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


def _sum_of_products(a, b, summed):
    """The sum of a * b over the dims `summed`; both have all dims, size 1 where a label is absent.

    The result's dims lie in memory as PyTorch's: those of both, then those of a and of b. Those of b come first if the
    result is contiguous then."""
    if not summed:
        return a * b
    batch: list[int] = []
    left: list[int] = []
    inner: list[int] = []
    right: list[int] = []
    n = a.dim()
    for d in range(n):
        in_a, in_b = a.shape[d] != 1, b.shape[d] != 1
        if d in summed:
            inner.append(d)
            if in_a and not in_b:
                a = a.sum(d, keepdim=True)
            elif in_b and not in_a:
                b = b.sum(d, keepdim=True)
        elif in_a and in_b:
            batch.append(d)
        else:
            (left if in_a else right).append(d)
    if left and right and right[-1] < left[0]:
        a, b, left, right = b, a, right, left
    size = lambda t, dims: math.prod(t.shape[d] for d in dims)
    x = a.permute(batch + left + inner + right).reshape(size(a, batch), size(a, left), size(a, inner))
    y = b.permute(batch + inner + right + left).reshape(size(b, batch), size(b, inner), size(b, right))
    order = batch + left + inner + right
    shape = [a.shape[d] for d in batch + left] + [1] * len(inner) + [b.shape[d] for d in right]
    return torch.bmm(x, y).view(shape).permute([order.index(d) for d in range(n)])


def _contract(operands, kept):
    """The products of all operands from the left; a dim behind the first `kept` is summed as soon as no later operand
    has it."""
    result, n = operands[0], operands[0].dim()
    counts = [sum(t.shape[d] != 1 for t in operands) for d in range(n)]
    for other in operands[1:]:
        summed: list[int] = []
        of_result: list[int] = []
        of_other: list[int] = []
        for d in range(kept, n):
            in_result, in_other = result.shape[d] != 1, other.shape[d] != 1
            if in_result and in_other:
                counts[d] -= 1
                if counts[d] == 1:
                    summed.append(d)
                    counts[d] = 0
            elif counts[d] == 1 and (in_result or in_other):
                (of_result if in_result else of_other).append(d)
                counts[d] = 0
        if of_result:
            result = result.sum(of_result, keepdim=True)
        if of_other:
            other = other.sum(of_other, keepdim=True)
        result = _sum_of_products(result, other, summed)
    if kept == n:
        return result
    return result.view(result.shape[:kept]) if len(operands) > 1 else result.sum(list(range(kept, n)))


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
    for label in [*out, ".", *sorted(k for g in groups for k in g if k != ".")]:
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
        for name in order:
            if name not in names:
                names.append(name)
                x = x.unsqueeze(-1)
        full.append(x.permute([names.index(k) for k in order]))
    return _contract(full, kept)


def _handed_on(args):
    """Arguments as PyTorch hands them to a __torch_function__: the equation, then each operand."""
    if len(args) == 2 and isinstance(args[1], (list, tuple)):
        return (args[0], *args[1])
    return args


einsum._tl_arguments = _handed_on  # type: ignore[attr-defined]
