"""The core's own functions, types and fields, called with anything: all that torchlite._C has beside ops."""

from __future__ import annotations

# They set what the whole process works with: a wrong answer afterwards is the caller's.
LEFT_OUT = {
    "autocast",
    "register",
    "set_default_off_cpu",
    "set_operators",
    "dispatch_modes",
    "dispatch_off",
    "dispatching",
    "forward_ad",
    "func_level",
    "function_modes",
    "function_off",
    "set_grad_enabled",
    "set_inference_mode",
    "profile_start",
    "profile_stop",
    "hook",
    "set_epoch",
    "fail_allocation",
    "set_deterministic",
    "webgpu",
    "_set_global_hooks",
    "__class__",
    "__init_subclass__",
    "__new__",
    "__reduce__",
    "__reduce_ex__",
    "__del__",
    "manual_seed",
    "seed",
    "__setattr__",
    "__delattr__",
    "__getattribute__",
    "__getattr__",
    "__dir__",
    "from_file",
    "backward",
}
# Objects of these types are what the whole process works with as well: what is set there is taken back.
SHARED = {"Overload", "Op"}
# what each argument may well be; the others take anything
SIGNATURES = {
    "tensor_from_storage": "storage dtype int ints ints",
    "alias": "tensor bool",
    "empty": "ints dtype",
    "zeros": "ints dtype",
    "empty_strided": "ints ints dtype",
    "empty_like": "tensor dtype small",
    "copy": "tensor tensor bool",
    "check_overlap": "tensor tensor",
    "cast": "tensor dtype",
    "resize": "tensor ints",
    "fill": "tensor number",
    "empty_on": "small ints ints dtype",
    "geometry": "tensor",
    "device_tensor": "small any int dtype ints ints int",
    "signature": "args",
    "storage_from_buffer": "buffer",
    "tensor_from_data": "data dtype",
    "basic_index": "tensor any",
    "result_type": "any any",
    "promote_types": "dtype dtype",
    "can_cast": "dtype dtype",
    "resize_": "int",
    "as_strided": "ints ints int",
    "set_": "storage int ints ints",
    "set_state": "tensor",
    "profile_enter": "any small args",
    "profile_exit": "int",
    "webgpu.expression": "name parts name name ints",
    "webgpu.Node": "name parts name name ints",
    "webgpu.Leaf": "buf name ints int",
    "webgpu.Number": "number name",
    "webgpu.Coord": "small",
    "webgpu.Buffer": "int",
    "webgpu.launch": "int ints ints",
    "webgpu.run": "part parts",
    "webgpu.product": "int bufs ints ints dtype small",
    "webgpu.remember": "overload int name args name name name",
    "webgpu.result": "part dtype",
    "webgpu.operand": "tensor ints",
    "webgpu.assign": "tensor part",
    "webgpu.fresh": "ints dtype",
    "webgpu.ready": "buf",
    "webgpu.allocate": "buf",
    "webgpu.before_write": "buf",
    "call_overload": "overload args",
    "call_below_autograd": "overload args",
    "call_inplace_below_autograd": "overload args",
}


class Raw:
    def __init__(self, torch, feeder):
        from torchlite import _C

        self.torch, self.C, self.feeder, self.rng = torch, _C, feeder, feeder.rng
        self.overloads = [ov for spec in __import__("torchlite.ops", fromlist=["specs"]).specs for ov in spec.overloads]

    def ints(self):
        rng = self.rng
        r = rng.random()
        if r < 0.06:
            return self.feeder.junk()
        if r < 0.6:
            return [rng.choice([0, 1, 1, 2, 2, 3, 4, 7]) for _ in range(rng.randrange(5))]
        return [self.feeder.int() for _ in range(rng.choice([0, 1, 2, 3, 6, 7, 63, 64, 65, 66, 67, 100]))]

    def one(self, kind):
        rng, f = self.rng, self.feeder
        if rng.random() < 0.1:
            kind = "any"
        if kind == "tensor":
            return f.tensor()
        if kind == "storage":
            return rng.choice(
                [
                    f.tensor().untyped_storage()._c
                    if hasattr(f.tensor().untyped_storage(), "_c")
                    else f.tensor().untyped_storage(),
                    self.C.StorageBase(rng.choice([0, 1, 8, 64, 100])),
                ]
            )
        if kind == "dtype":
            return rng.choice([*f.dtypes, None, float, int])
        if kind == "int":
            return f.int()
        if kind == "small":
            return rng.choice([0, 0, -1, 1, 2, 3, 7, 8, 255, 256, 2**31])
        if kind == "bool":
            return rng.random() < 0.5
        if kind == "ints":
            return self.ints()
        if kind == "number":
            return rng.choice([1, 2.5, 1j, True, f.int(), f.tensor()])
        if kind == "buffer":
            return rng.choice(
                [
                    b"",
                    b"abc",
                    bytearray(16),
                    memoryview(b"12345678"),
                    memoryview(bytearray(64))[::2],
                    memoryview(bytearray(8)).cast("d"),
                ]
            )
        if kind == "args":
            return tuple(self.anything() for _ in range(rng.randrange(10)))
        if kind == "name":
            return rng.choice(["float32", "int64", "add", "product", "cast", "bool", None])
        if kind == "buf":
            return self.C.webgpu().Buffer(rng.choice([0, 4, 64, 2**20, 2**40]))
        if kind == "bufs":
            return tuple(self.one("buf") for _ in range(rng.randrange(7)))
        if kind == "part":
            g = self.C.webgpu()
            return rng.choice(
                [
                    lambda: g.Leaf(self.one("buf"), "float32", rng.choice([None, (1, 2)]), 0),
                    lambda: g.Number(rng.choice([1, 2.5, "x"]), "int64"),
                    lambda: g.Coord(rng.choice([-1, 0, 9])),
                    lambda: g.Node("add", [self.one("part")], "float32", "float32", (2, 2)),
                ]
            )()
        if kind == "parts":
            return [self.one("part") for _ in range(rng.choice([0, 1, 2, 2, 3, 17]))]
        if kind == "overload":
            return rng.choice(self.overloads)
        if kind == "data":
            return rng.choice(
                [
                    [1, 2],
                    [[1.0], [2.0]],
                    [],
                    [[]],
                    [[1], [2, 3]],
                    [f.tensor(), 1],
                    (1j, True),
                    range(4),
                    b"ab",
                    self.anything(),
                ]
            )
        return self.anything()

    def anything(self):
        rng, f = self.rng, self.feeder
        return rng.choice(
            [f.junk, f.tensor, f.int, self.ints, lambda: self.C.StorageBase(8), lambda: rng.choice(self.overloads)]
        )()

    @staticmethod
    def lend(thing, name, value):
        """setattr, taken back at once."""
        old = getattr(thing, name)
        try:
            setattr(thing, name, value)
        finally:
            setattr(thing, name, old)

    def arguments(self, name):
        known = SIGNATURES.get(name, "").split()
        rng = self.rng
        if known and rng.random() < 0.9:
            args = [self.one(k) for k in known]
            r = rng.random()
            if r < 0.15:
                return args[: rng.randrange(len(args))]
            if r < 0.3:
                return [*args, self.anything()]
            return args
        return [self.anything() for _ in range(rng.choice([0, 1, 1, 2, 2, 3, 4, 5]))]

    def targets(self):
        """(name, the function that makes one call's function and arguments)"""
        for name, thing in sorted(vars(self.C).items()):
            if name in LEFT_OUT or name.startswith("__"):
                continue
            if callable(thing):
                yield "_C." + name, lambda n=name, f=thing: (f, self.arguments(n))
        for name, thing in sorted(vars(self.C.webgpu()).items()):
            if name not in LEFT_OUT and not name.startswith("__") and callable(thing):
                yield "_C.webgpu()." + name, lambda n="webgpu." + name, f=thing: (f, self.arguments(n))
        makers = {
            "StorageBase": lambda: self.C.StorageBase(self.rng.choice([0, 8, 100])),
            "TensorBase": self.feeder.tensor,
            "Size": lambda: self.feeder.tensor().shape,
            "Generator": lambda: self.torch.Generator(),
            "Overload": lambda: self.rng.choice(self.overloads),
            "Op": lambda: self.torch.add,
            "NodeBase": lambda: self.C.NodeBase(),
            "ModuleBase": lambda: self.C.ModuleBase(),
        }
        for kind, make in makers.items():
            cls = type(make()).__mro__[1] if kind == "Generator" else getattr(self.C, kind)
            for name, thing in sorted(vars(cls).items()):
                if name in LEFT_OUT or name in ("__doc__", "__module__", "__dict__", "__weakref__"):
                    continue
                if callable(thing):
                    yield (
                        "%s.%s" % (kind, name),
                        lambda m=make, f=thing, n=name: (
                            f,
                            [m() if self.rng.random() < 0.9 else self.anything(), *self.arguments(n)],
                        ),
                    )
                elif hasattr(thing, "__set__"):

                    def assign(n=name, m=make, put=self.lend if kind in SHARED else setattr):
                        return put, [m(), n, self.anything()]

                    yield "%s.%s=" % (kind, name), assign
