"""Models and their state: shared weights, partial and renamed states, meta devices, hooks, versions, safe loading."""

import collections
import copy
import io

import torch
import torch.nn as nn

torch.manual_seed(0)


class Head(nn.Module):
    _version = 2

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 2)
        self.register_buffer("scratch", torch.zeros(1), persistent=False)
        self.register_buffer("steps", torch.tensor(0))
        self.extra = {"labels": ["a", "b"]}

    def get_extra_state(self):
        return self.extra

    def set_extra_state(self, state):
        self.extra = state

    def _load_from_state_dict(self, state, prefix, meta, *rest):
        print("version", meta.get("version"))
        super()._load_from_state_dict(state, prefix, meta, *rest)


def make():
    model = nn.ModuleDict({"body": nn.ModuleList([nn.Linear(3, 3) for _ in range(2)]), "head": Head()})
    model["tied"] = nn.Linear(3, 3)
    model["tied"].weight = model["body"][0].weight
    return model


model = make()
state = model.state_dict()
print(list(state), state._metadata["head"])
print(len(list(model.parameters())), [n for n, _ in model.named_parameters(remove_duplicate=False)][-2:])
clone = copy.deepcopy(model)
print(clone["tied"].weight is clone["body"][0].weight)
clone["head"].extra = {"labels": []}
print(model.load_state_dict(clone.state_dict()), model["head"].extra)

broken = copy.deepcopy(state)
broken["body.0.weight"] = torch.zeros(2, 2)
broken["unknown"] = torch.ones(1)
del broken["head.steps"]
try:
    model.load_state_dict(broken)
except RuntimeError as e:
    print(e)
del broken["body.0.weight"]
print(model.load_state_dict(broken, strict=False))


def renamed(module, state, prefix, *rest):
    for key in [k for k in state if "linear" in k]:
        state[key.replace("linear", "fc")] = state.pop(key)


head = Head()
head.register_load_state_dict_pre_hook(renamed)
head.register_state_dict_post_hook(lambda m, s, p, meta: s.update({p + "note": torch.tensor(7)}))
head.register_load_state_dict_post_hook(lambda m, keys: keys.unexpected_keys.clear())
print(
    head.load_state_dict(collections.OrderedDict((k.replace("fc", "linear"), v) for k, v in head.state_dict().items()))
)

with torch.device("meta"):
    empty = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
source = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
print(empty[0].weight.is_meta, empty.load_state_dict(source.state_dict(), assign=True), empty[0].weight.is_meta)
print(empty[0].weight.data_ptr() == source[0].weight.data_ptr(), type(empty[0].weight).__name__)
try:
    nn.Linear(2, 2, device="meta").to("cpu")
except NotImplementedError as e:
    print(e)

lazy = nn.Sequential(nn.LazyLinear(3), nn.LazyBatchNorm1d())
print(lazy, lazy.state_dict()["0.weight"])
lazy(torch.ones(2, 4))
print(lazy, lazy[0].weight.shape)


class Config:
    width = 3


def saved(thing):
    file = io.BytesIO()
    torch.save(thing, file)
    file.seek(0)
    return file


optimizer = torch.optim.Adam(model.parameters())
everything = {
    "model": model.state_dict(),
    "optimizer": optimizer.state_dict(),
    "dtype": torch.float16,
    "s": slice(1, 2),
}
try:
    print(list(torch.load(saved({**everything, "size": torch.Size([1, 2]), "device": torch.device("cpu")}))))
except Exception as e:
    print(type(e).__name__)
print(torch.load(saved(everything), map_location="meta", weights_only=False)["model"]["head.steps"].device)
try:
    torch.load(saved(Config()))
except Exception as e:
    print(type(e).__name__, str(e)[:60])
with torch.serialization.safe_globals([Config]):
    print(torch.load(saved(Config())).width)
print(torch.serialization.get_unsafe_globals_in_checkpoint(saved(Config())))
base = torch.arange(10.0)
whole, part = torch.load(saved([base, base[2:5]]))
part[0] = 99
print(whole, part.storage_offset())
storage = base.untyped_storage()
torch.FloatTensor(storage)[9] = -1
print(base[9])
try:
    copy.deepcopy(torch.ones(2, requires_grad=True) * 2)
except RuntimeError as e:
    print(e)
