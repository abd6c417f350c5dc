"""Arguments that fit badly: wrong types, awkward tensors, huge and negative numbers;
and right calls made slightly wrong."""

from __future__ import annotations

INTS = [
    -3,
    -2,
    -1,
    0,
    1,
    2,
    3,
    5,
    7,
    64,
    65,
    10**30,
    *(sign * 2**n + d for n in (31, 32, 61, 62, 63) for d in (-1, 0, 1) for sign in (1, -1)),
]
FLOATS = [0.0, -0.0, 0.5, -1.5, 1e-40, 1e38, 1e300, float("nan"), float("inf"), -float("inf")]
STRINGS = [
    "",
    "mean",
    "sum",
    "none",
    "floor",
    "trunc",
    "reflect",
    "replicate",
    "circular",
    "constant",
    "linear",
    "nearest",
    "left",
    "right",
    "fro",
    "nuc",
    "ij",
    "ij,jk->ik",
    "max",
    "amin",
    "prod",
    "tanh",
    "\0",
    "x" * 300,
    "reduced",
    "complete",
    "gelsd",
]


class Odd:
    """Lies about everything."""

    def __index__(self):
        raise ZeroDivisionError("index")

    def __float__(self):
        raise ZeroDivisionError("float")

    def __len__(self):
        return 10**9

    def __getitem__(self, i):
        raise ZeroDivisionError("getitem")


class Feeder:
    """Random arguments for a parameter."""

    def __init__(self, torch, rng):
        self.torch, self.rng = torch, rng
        self.dtypes = [
            torch.bool,
            torch.uint8,
            torch.int8,
            torch.int16,
            torch.int32,
            torch.int64,
            torch.float16,
            torch.bfloat16,
            torch.float32,
            torch.float64,
            torch.complex64,
            torch.complex128,
        ]

        class Sub(torch.Tensor):
            pass

        self.Sub = Sub

    def tensor(self):
        torch, rng = self.torch, self.rng
        dtype = (
            rng.choice(self.dtypes) if rng.random() < 0.4 else rng.choice([torch.float32, torch.float32, torch.int64])
        )
        shape = [
            rng.choice([0, 1, 2, 2, 3, 4]) if rng.random() < 0.3 else rng.choice([1, 2, 3, 4])
            for _ in range(rng.choice([0, 1, 1, 2, 2, 2, 3, 3, 4, 5, 7]))
        ]
        if rng.random() < 0.3:
            shape = [3] * len(shape)
        n = 1
        for s in shape:
            n *= s
        if dtype.is_floating_point or dtype.is_complex:
            pool = [0.0, 1.0, -1.0, 0.5, 2.0, 3.7, -2.25] + (FLOATS if rng.random() < 0.2 else [])
        else:
            pool = [0, 1, 2, 1, 3] + ([-1, 100, -128] if rng.random() < 0.3 else [])
            if not dtype.is_signed:
                pool = [abs(v) for v in pool]
            if dtype is torch.int64 and rng.random() < 0.2:
                pool += [2**63 - 1, -(2**63), 2**31]
        t = torch.tensor([rng.choice(pool) for _ in range(n)], dtype=dtype).reshape(shape)
        how = rng.random()
        if how < 0.1 and t.dim():
            t = t.transpose(rng.randrange(t.dim()), rng.randrange(t.dim()))
        elif how < 0.2 and t.dim():
            d = rng.randrange(t.dim())
            t = t.narrow(d, min(1, t.size(d)), max(0, t.size(d) - 1))
        elif how < 0.27:
            t = t.unsqueeze(0).expand(2, *t.shape)
        elif how < 0.33 and t.dim():
            t = t[..., ::2]
        elif how < 0.36:
            t = t.as_subclass(self.Sub)
        elif how < 0.38:
            t = torch.nn.Parameter(t.float())
        elif how < 0.40 and t.numel():
            raw = bytearray(1 + t.numel() * t.element_size())
            t = torch.frombuffer(raw, dtype=dtype, count=t.numel(), offset=1).reshape(shape)
        elif how < 0.42:
            t = t.reshape([1] * (rng.choice([8, 9, 12, 25, 26, 64]) - t.dim()) + list(t.shape))
        elif how < 0.44:
            t = self.stale(t)
        elif how < 0.46 and t.numel():
            t = self.thin(t)
        if rng.random() < 0.15 and (t.dtype.is_floating_point or t.dtype.is_complex) and t.is_leaf:
            t = t.requires_grad_()
            if rng.random() < 0.5:
                t = t.clone()
        return t

    def stale(self, t):
        """A tensor whose sizes are older than its storage."""
        rng = self.rng
        t = t.detach().clone()
        nbytes = t.untyped_storage().nbytes()
        how = rng.randrange(4)
        if how == 0:
            t.untyped_storage().resize_(rng.choice([0, nbytes // 2, max(0, nbytes - 1), nbytes + 3]))
        elif how == 1:
            view = t[..., :]
            t.resize_([rng.choice([0, 1, 2, 3, 9]) for _ in t.shape])
            return rng.choice([t, view])
        elif how == 2:
            other = t.new_zeros(rng.choice([0, 1, 7]))
            view = t.view(-1)
            t.set_(other)
            return rng.choice([t, view])
        else:
            t.untyped_storage().resize_(0)
            t.untyped_storage().resize_(nbytes)
        return t

    def thin(self, t):
        """As many elements as t has dims for, all of them in one place, or in few."""
        rng = self.rng
        flat = t.detach().reshape(-1)
        strides = [0] * t.dim() if rng.random() < 0.5 else [rng.choice([0, 0, 1]) for _ in t.shape]
        return (
            flat.as_strided(list(t.shape), strides)
            if sum((n - 1) * k for n, k in zip(t.shape, strides)) < flat.numel()
            else t
        )

    def int(self):
        return self.rng.choice([-1, 0, 1, 2, 3]) if self.rng.random() < 0.7 else self.rng.choice(INTS)

    def junk(self):
        rng = self.rng
        return rng.choice(
            [
                None,
                True,
                3,
                -1,
                2**70,
                1.5,
                float("nan"),
                1j,
                "sum",
                "",
                b"x",
                (),
                [],
                [1, 2],
                (1.5, "x"),
                [None],
                {},
                {1: 2},
                object(),
                Odd(),
                int,
                float,
                slice(None),
                Ellipsis,
                self.torch.float32,
                self.torch.device("cpu"),
                self.torch.device("meta"),
                "cuda",
                range(3),
                [[1, 2], [3]],
                self.tensor,
                lambda: 0,
                memoryview(b"abc"),
                self.tensor(),
                [self.tensor(), None],
                type("T", (int,), {})(2),
            ]
        )

    def value(self, p):
        rng, torch = self.rng, self.torch
        if rng.random() < 0.06:
            return self.junk()
        if p.nullable and rng.random() < 0.3:
            return None
        kind = p.type
        if kind == "Tensor":
            return self.tensor() if rng.random() < 0.95 else rng.choice([2, 1.5, True])
        if kind in ("Tensor[]", "Tensor?[]"):
            if rng.random() < 0.4:
                t = self.tensor()
                return [t] * rng.randrange(4)
            return [
                None if kind == "Tensor?[]" and rng.random() < 0.3 else self.tensor() for _ in range(rng.randrange(4))
            ]
        if kind == "Scalar":
            return rng.choice(
                [self.int, lambda: rng.choice(FLOATS), lambda: True, lambda: 1 + 2j, lambda: torch.tensor(2.0)]
            )()
        if kind == "int":
            return self.int() if rng.random() < 0.97 else torch.tensor(1)
        if kind == "int[]":
            n = p.size if p.size and rng.random() < 0.6 else rng.choice([0, 1, 1, 2, 2, 3, 4, 65])
            one = self.int()
            if rng.random() < 0.15:
                return one
            if rng.random() < 0.7:
                return [self.int() for _ in range(n)]
            return [one] * n
        if kind == "float":
            return rng.choice(FLOATS) if rng.random() < 0.5 else rng.random()
        if kind == "bool":
            return rng.random() < 0.5
        if kind == "str":
            return rng.choice(STRINGS)
        if kind == "ScalarType":
            return rng.choice([*self.dtypes, float, int, bool])
        if kind == "Device":
            return rng.choice(["cpu", "meta", "cuda", "", 0, torch.device("cpu")])
        if kind in ("float[]", "Scalar[]"):
            return [rng.choice(FLOATS) for _ in range(rng.randrange(4))]
        if kind == "bool[]":
            return [rng.random() < 0.5 for _ in range(rng.randrange(4))]
        return p.default if p.default is not NotImplemented else None

    def call(self, params):
        rng = self.rng
        args, kwargs, positional = [], {}, True
        for p in params:
            if p.default is not NotImplemented and rng.random() < 0.5:
                positional = False
                continue
            v = self.value(p)
            if p.kwonly or not positional or rng.random() < 0.1:
                positional = False
                kwargs[p.name] = v
            else:
                args.append(v)
        if rng.random() < 0.02:
            args.append(self.junk())
        if rng.random() < 0.02:
            kwargs["nonsense"] = 1
        return args, kwargs


class Evil:
    """An int that does something to a tensor when it is asked for its value."""

    def __init__(self, value, tensor, how, items=None):
        self.value, self.tensor, self.how, self.items = value, tensor, how, items

    def __index__(self):
        if self.items is not None:
            del self.items[:]
        t = self.tensor
        if t is not None:
            try:
                if self.how == 0:
                    t.detach().resize_(0)
                elif self.how == 1:
                    t.untyped_storage().resize_(0)
                elif self.how == 2:
                    t.data = t.new_zeros(1)
                elif self.how == 3:
                    t.resize_(100)
                else:
                    t.transpose_(0, -1)
            except (RuntimeError, TypeError, IndexError):
                pass
        return self.value

    def __repr__(self):
        return "Evil(%r, %d%s)" % (self.value, self.how, "" if self.items is None else ", list")


SIDES = [0, 1, 2, 3, 5, 7, 13, 64, 97]


def tensors_in(args):
    for a in args:
        if hasattr(a, "storage_offset"):
            yield a
        elif isinstance(a, (list, tuple)):
            yield from tensors_in(a)


class Mutator(Feeder):
    """Takes a call that is right and changes a thing or two;
    `parts`: the op makes a tensor of each element along a dim."""

    parts = False

    def out(self, args, count):
        """For out=: some of the arguments, views that cover a part of them, tensors of any kind,
        one of each or another number."""
        rng, torch = self.rng, self.torch
        inputs = [t for t in tensors_in(args)]

        def one():
            r = rng.random()
            if not inputs or r < 0.3:
                return self.tensor() if r < 0.27 else self.junk()
            t = rng.choice(inputs)
            if r < 0.5:
                return t
            if r < 0.6:
                return self.bend(t, args)
            if r < 0.7:
                return torch.empty(0, dtype=rng.choice([t.dtype, *self.dtypes]))
            flat = t.detach().reshape(-1)
            n = max(0, flat.numel() - 1)
            if r < 0.85:
                part = flat[1:]
            elif r < 0.95:
                part = flat[:n]
            else:
                part = flat.flip(0)[:n]
            return part.reshape([1] * (t.dim() - 1) + [n]) if t.dim() and rng.random() < 0.5 else part

        if count == 1 and rng.random() < 0.95:
            return one()
        if count > 1 and rng.random() < 0.1:
            return one()
        outs = [one() for _ in range(count if rng.random() < 0.85 else rng.randrange(5))]
        if len(outs) > 1 and rng.random() < 0.15:
            outs[1] = outs[0]
        return tuple(outs) if rng.random() < 0.8 else outs

    def side(self, n):
        r = self.rng.random()
        if r < 0.5:
            return max(0, n + self.rng.choice([-1, 1]))
        if r < 0.6:
            return n * 2
        return self.rng.choice(SIDES)

    def like(self, t, shape, dtype=None):
        """A tensor of another shape with values of the same kind."""
        torch = self.torch
        n = 1
        for s in shape:
            n *= s
        if n > 20000:
            shape, n = [1], 1
        dtype = dtype or t.dtype
        flat = t.detach().reshape(-1)
        try:
            if flat.numel() and n:
                return flat.repeat(n // flat.numel() + 1)[:n].to(dtype).reshape(shape)
        except (RuntimeError, TypeError, NotImplementedError):
            pass
        return torch.zeros(n, dtype=dtype).reshape(shape)

    def bend(self, t, args):
        """Another tensor in t's place."""
        torch, rng = self.torch, self.rng
        shape, how = list(t.shape), rng.randrange(20)
        if how == 0 and shape:
            d = rng.randrange(len(shape))
            shape[d] = self.side(shape[d])
            return self.like(t, shape)
        if how == 1:
            shape.insert(rng.randrange(len(shape) + 1), rng.choice([0, 1, 1, 2, 3]))
            return self.like(t, shape)
        if how == 2 and shape:
            del shape[rng.randrange(len(shape))]
            return self.like(t, shape)
        if how == 3 and len(shape) > 1:
            return t.transpose(rng.randrange(len(shape)), rng.randrange(len(shape)))
        if how == 4:
            return self.like(t, shape, rng.choice(self.dtypes))
        if how == 5 and shape:  # zero strides
            d = rng.randrange(len(shape))
            return t.narrow(d, 0, min(1, t.size(d))).expand(shape) if t.size(d) else t
        if how == 6 and shape and t.numel():  # elements that share memory
            flat = t.detach().reshape(-1)
            strides = [rng.choice([0, 1, 1, 2]) for _ in shape]
            if sum((s - 1) * k for s, k in zip(shape, strides)) < flat.numel():
                return flat.as_strided(shape, strides)
        if how == 7:  # gaps, and an offset
            big = self.like(t, [2 * s + 1 for s in shape])
            for d, s in enumerate(shape):
                if big.dim() == len(shape) and s:
                    big = big.narrow(d, 1, big.size(d) - 1)[(slice(None),) * d + (slice(None, None, 2),)]
            return big
        if how == 8:
            others = list(tensors_in(args))
            return rng.choice(others)  # the same tensor twice
        if how == 9:
            others = [o for o in tensors_in(args) if o.dtype == t.dtype and o.numel() and o.numel() >= t.numel()]
            if others:  # a view over another argument
                o = rng.choice(others).detach().reshape(-1)
                return o[: t.numel()].reshape(shape) if rng.random() < 0.5 else o.flip(0)[: t.numel()].reshape(shape)
        if (
            how in (10, 11)
            and t.numel()
            and not t.dtype.is_floating_point
            and not t.dtype.is_complex
            and t.dtype is not torch.bool
        ):
            t = t.clone()
            info = torch.iinfo(t.dtype)
            t.view(-1)[rng.randrange(t.numel())] = rng.choice([info.min, info.max, max(info.min, -1), 0, 1, 5, 50, 127])
            return t
        if how in (10, 11) and t.numel() and t.dtype.is_floating_point:
            t = t.detach().clone()
            t.view(-1)[rng.randrange(t.numel())] = rng.choice(
                [float("nan"), float("inf"), -float("inf"), 1e30, -1e30, 0.0]
            )
            return t
        if how == 12:
            return t.detach().reshape(-1)
        if how == 13:
            return torch.zeros([0] * max(1, len(shape)), dtype=t.dtype)
        if how == 14:  # many elements, none of them there
            huge = [1000] if self.parts else [2**20, 2**31, 2**40, 2**62]
            if len(shape) < 2 or rng.random() < 0.3:
                return torch.zeros(0, dtype=t.dtype).expand(rng.choice(huge), 0)
            none, many = rng.sample(range(len(shape)), 2)
            start = [1 if d != none else 0 for d in range(len(shape))]
            shape[none], shape[many] = 0, rng.choice(huge)
            return torch.zeros(start, dtype=t.dtype).expand(shape)
        if how == 15 and t.dtype.is_floating_point and t.is_leaf:
            return t.detach().clone().requires_grad_()
        if how == 16:
            return self.like(t, [rng.choice(SIDES[:6]) for _ in shape])
        if how == 17:
            return self.stale(t)
        if how == 18:
            return t.reshape([1] * (rng.choice([9, 12, 25, 64]) - len(shape)) + shape)
        if how == 19 and t.numel():
            return self.thin(t)
        return self.tensor()

    def change(self, value, args, depth=0):
        rng = self.rng
        if rng.random() < 0.04:
            return self.junk()
        if hasattr(value, "storage_offset"):
            return self.bend(value, args)
        if isinstance(value, bool):
            return not value
        if isinstance(value, int):
            r = rng.random()
            if r < 0.12:
                ts = list(tensors_in(args))
                lists = [a for a in args if isinstance(a, list) and a]
                return Evil(
                    value,
                    rng.choice(ts) if ts else None,
                    rng.randrange(5),
                    rng.choice(lists) if lists and rng.random() < 0.5 else None,
                )
            return value + rng.choice([-2, -1, 1, 2, 7]) if r < 0.6 else self.int()
        if isinstance(value, float):
            return rng.choice(
                [0.0, -1.0, 1e-12, 1e12, 1e-300, float("nan"), float("inf"), -float("inf"), 3.0, value * 2]
            )
        if isinstance(value, str):
            return rng.choice(STRINGS)
        if isinstance(value, (list, tuple)) and depth < 3:
            items, r = list(value), rng.random()
            if r < 0.12:
                items = items + items[-1:] if items else [1]
            elif r < 0.22:
                items = items[:-1]
            elif r < 0.26:
                items = items * rng.choice([2, 5, 33])
            elif r < 0.30:
                return None
            elif r < 0.33:
                return items[0] if items else 0
            elif items:
                i = rng.randrange(len(items))
                items[i] = self.change(items[i], args, depth + 1)
            return items
        if rng.random() < 0.5:
            return self.junk()
        if rng.random() < 0.5:
            return None
        return self.tensor()

    def wrong(self, args, kwargs):
        """The call, with one to three changes."""
        rng = self.rng
        args, kwargs = list(args), dict(kwargs)
        for _ in range(rng.choice([1, 1, 1, 2, 2, 3])):
            n = len(args) + len(kwargs)
            if not n:
                break
            i = rng.randrange(n)
            if i < len(args):
                args[i] = self.change(args[i], args)
            else:
                k = list(kwargs)[i - len(args)]
                kwargs[k] = self.change(kwargs[k], args)
        return args, kwargs
