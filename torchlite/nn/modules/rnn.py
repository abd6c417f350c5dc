"""Recurrent layers and cells."""

import math
import numbers

import torchlite as torch
from torchlite.nn import init
from torchlite.nn.modules import _rnn_steps as steps
from torchlite.nn.parameter import Parameter
from .module import Module

__all__ = ["RNNBase", "RNN", "LSTM", "GRU", "RNNCellBase", "RNNCell", "LSTMCell", "GRUCell"]

_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


def apply_permutation(tensor, permutation, dim=1):
    """Deprecated: `tensor.index_select(dim, permutation)`."""
    import warnings

    warnings.warn(
        "`apply_permutation` is deprecated, please use `tensor.index_select(dim, permutation)` instead",
        FutureWarning,
        stacklevel=2,
    )
    return tensor.index_select(dim, permutation)


class RNNBase(Module):
    """What RNN, LSTM and GRU share: the parameters of all layers and directions, and their checks."""

    __constants__ = [
        "mode",
        "input_size",
        "hidden_size",
        "num_layers",
        "bias",
        "batch_first",
        "dropout",
        "bidirectional",
        "proj_size",
    ]
    __jit_unused_properties__ = ["all_weights"]

    def __init__(
        self,
        mode,
        input_size,
        hidden_size,
        num_layers=1,
        bias=True,
        batch_first=False,
        dropout=0.0,
        bidirectional=False,
        proj_size=0,
        device=None,
        dtype=None,
    ):
        super().__init__()
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        self._flat_weight_refs = []
        directions = 2 if bidirectional else 1
        is_number = isinstance(dropout, numbers.Number) and not isinstance(dropout, bool)
        if not is_number or not 0 <= dropout <= 1:
            raise ValueError(
                "dropout should be a number in range [0, 1] representing the probability of an element being zeroed"
            )
        if dropout > 0 and num_layers == 1:
            import warnings

            warnings.warn(
                "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects "
                f"num_layers greater than 1, but got dropout={dropout} and num_layers={num_layers}",
                stacklevel=3,
            )
        for arg, kind, value in (
            ("input_size", int, input_size),
            ("hidden_size", int, hidden_size),
            ("bias", bool, bias),
            ("batch_first", bool, batch_first),
        ):
            if not isinstance(value, kind):
                raise TypeError(f"{arg} should be of type {kind.__name__}, got: {type(value).__name__}")
        if input_size <= 0:
            raise ValueError("input_size must be greater than zero")
        if hidden_size <= 0:
            raise ValueError("hidden_size must be greater than zero")
        if num_layers <= 0:
            raise ValueError("num_layers must be greater than zero")
        if proj_size < 0:
            raise ValueError("proj_size should be a positive integer or zero to disable projections")
        if proj_size >= hidden_size:
            raise ValueError("proj_size has to be smaller than hidden_size")
        if mode not in _GATES:
            raise ValueError("Unrecognized RNN mode: " + mode)
        gate_size = _GATES[mode] * hidden_size
        kw = {"device": device, "dtype": dtype}
        self._flat_weights_names = []
        self._all_weights = []
        real_hidden = proj_size if proj_size > 0 else hidden_size
        for layer in range(num_layers):
            for direction in range(directions):
                layer_in = input_size if layer == 0 else real_hidden * directions
                shapes: dict[str, tuple[int, ...]] = {
                    "weight_ih": (gate_size, layer_in),
                    "weight_hh": (gate_size, real_hidden),
                }
                if bias:
                    shapes["bias_ih"] = shapes["bias_hh"] = (gate_size,)
                if proj_size > 0:
                    shapes["weight_hr"] = (proj_size, hidden_size)
                suffix = f"_l{layer}" + ("_reverse" if direction else "")
                names = [name + suffix for name in shapes]
                for name, shape in zip(names, shapes.values()):
                    setattr(self, name, Parameter(torch.empty(shape, **kw)))
                self._flat_weights_names.extend(names)
                self._all_weights.append(names)
        self.reset_parameters()

    @property
    def _flat_weights(self):
        return [getattr(self, name) for name in self._flat_weights_names]

    def flatten_parameters(self):
        """Kept for compatibility; the weights need no special layout."""

    def reset_parameters(self):
        """Uniform in +-1/sqrt(hidden_size)."""
        stdv = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -stdv, stdv)

    def check_input(self, input, batch_sizes):
        if input.dtype != self._flat_weights[0].dtype and not torch.is_autocast_enabled():
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({self._flat_weights[0].dtype}). "
                f"Convert input: input.to({self._flat_weights[0].dtype}), or convert model: "
                f"model.to({input.dtype})"
            )
        expected = 2 if batch_sizes is not None else 3
        if input.dim() != expected:
            raise RuntimeError(f"input must have {expected} dimensions, got {input.dim()}")
        if self.input_size != input.size(-1):
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.size(-1)}"
            )

    def _hidden_shape(self, input, batch_sizes, size):
        if batch_sizes is not None:
            mini_batch = int(batch_sizes[0])
        else:
            mini_batch = input.size(0) if self.batch_first else input.size(1)
        return (self.num_layers * (2 if self.bidirectional else 1), mini_batch, size)

    def get_expected_hidden_size(self, input, batch_sizes):
        return self._hidden_shape(input, batch_sizes, self.proj_size if self.proj_size > 0 else self.hidden_size)

    def check_hidden_size(self, hx, expected_hidden_size, msg="Expected hidden size {}, got {}"):
        if tuple(hx.size()) != tuple(expected_hidden_size):
            raise RuntimeError(msg.format(tuple(expected_hidden_size), list(hx.size())))

    def check_forward_args(self, input, hidden, batch_sizes):
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden, self.get_expected_hidden_size(input, batch_sizes))

    def permute_hidden(self, hx, permutation):
        return hx if permutation is None else hx.index_select(1, permutation)

    def extra_repr(self):
        s = "{input_size}, {hidden_size}"
        if self.proj_size != 0:
            s += ", proj_size={proj_size}"
        if self.num_layers != 1:
            s += ", num_layers={num_layers}"
        if self.bias is not True:
            s += ", bias={bias}"
        if self.batch_first is not False:
            s += ", batch_first={batch_first}"
        if self.dropout != 0:
            s += ", dropout={dropout}"
        if self.bidirectional is not False:
            s += ", bidirectional={bidirectional}"
        return s.format(**self.__dict__)

    def __getstate__(self):
        return {**self.__dict__, "_flat_weights": self._flat_weights}  # PyTorch's __setstate__ wants the list

    def __setstate__(self, state):
        super().__setstate__(state)
        d = self.__dict__
        d.setdefault("proj_size", 0)
        if "all_weights" in state:
            d["_all_weights"] = state["all_weights"]
        d.pop("_flat_weights", None)
        d.setdefault("_flat_weights_names", [n for names in d.get("_all_weights", []) for n in names])

    @property
    def all_weights(self):
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def _zeros(self, input, shape):
        return torch.zeros(shape, dtype=input.dtype, device=input.device)

    def _run(self, input, hx):
        """Runs the layers on a PackedSequence, (T, N, F) or (T, F) input; returns (output, states)."""
        lstm = self.mode == "LSTM"
        packed = _packed_class(input)
        batch_sizes = sorted_indices = unsorted_indices = None
        batched = True
        if packed is not None:
            input, batch_sizes, sorted_indices, unsorted_indices = input
        else:
            if input.dim() not in (2, 3):
                raise ValueError(f"{self._name}: Expected input to be 2D or 3D, got {input.dim()}D instead")
            batched = input.dim() == 3
            if not batched:
                input = input.unsqueeze(0 if self.batch_first else 1)
        if hx is None:
            self.check_input(input, batch_sizes)
            h = self._zeros(input, self.get_expected_hidden_size(input, batch_sizes))
            hx = (h, self._zeros(input, self._hidden_shape(input, batch_sizes, self.hidden_size))) if lstm else h
        else:
            states = hx if lstm else (hx,)
            want = 3 if batched else 2
            if packed is None:
                for s in states:
                    if s.dim() != want:
                        if lstm:
                            raise RuntimeError(
                                f"For {'batched 3-D' if batched else 'unbatched 2-D'} input, hx and cx should "
                                f"also be {want}-D but got ({hx[0].dim()}-D, {hx[1].dim()}-D) tensors"
                            )
                        raise RuntimeError(
                            f"For {'batched 3-D' if batched else 'unbatched 2-D'} input, hx should also be "
                            f"{want}-D but got {s.dim()}-D tensor"
                        )
                if not batched:
                    states = tuple(s.unsqueeze(1) for s in states)
            hx = states if lstm else states[0]
            self.check_forward_args(input, hx, batch_sizes)
            hx = self.permute_hidden(hx, sorted_indices)
        weights, per = self._flat_weights, len(self._all_weights[0])
        layers = [weights[i : i + per] for i in range(0, len(weights), per)]
        if batch_sizes is None:
            if self.batch_first:
                input = input.transpose(0, 1)
            output, states = steps.run_layers(self, input, hx, layers)
            if self.batch_first:
                output = output.transpose(0, 1)
        else:
            output, states = steps.run_packed(self, input, batch_sizes, hx, layers)
        if packed is not None:
            return packed(output, batch_sizes, sorted_indices, unsorted_indices), self.permute_hidden(
                states, unsorted_indices
            )
        if not batched:
            output = output.squeeze(0 if self.batch_first else 1)
            states = tuple(s.squeeze(1) for s in states) if lstm else states.squeeze(1)
        return output, states

    def forward(self, input, hx=None):
        return self._run(input, hx)


def _packed_class(input):
    if isinstance(input, torch.Tensor):
        return None
    from torchlite.nn.utils.rnn import PackedSequence

    return PackedSequence if isinstance(input, PackedSequence) else None


class RNN(RNNBase):
    """Elman network: h' = tanh(W_ih x + b_ih + W_hh h + b_hh), or relu.

    Args: input_size, hidden_size, num_layers, nonlinearity, bias, batch_first, dropout, bidirectional.
    Shape: (L, N, in), h (layers*dirs, N, hidden) -> (L, N, dirs*hidden), h.
    """

    _name = "RNN"

    def __init__(self, *args, **kwargs):
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        if len(args) > 3:
            self.nonlinearity = args[3]
            args = args[:3] + args[4:]
        else:
            self.nonlinearity = kwargs.pop("nonlinearity", "tanh")
        if self.nonlinearity == "tanh":
            mode = "RNN_TANH"
        elif self.nonlinearity == "relu":
            mode = "RNN_RELU"
        else:
            raise ValueError(f"Unknown nonlinearity '{self.nonlinearity}'. Select from 'tanh' or 'relu'.")
        super().__init__(mode, *args, **kwargs)


class LSTM(RNNBase):
    """Long short-term memory, with optional projections of the hidden state.

    Args: input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, proj_size.
    Shape: (L, N, in), (h, c) -> (L, N, dirs*out), (h, c).
    """

    _name = "LSTM"

    def __init__(self, *args, **kwargs):
        super().__init__("LSTM", *args, **kwargs)

    def get_expected_cell_size(self, input, batch_sizes):
        return self._hidden_shape(input, batch_sizes, self.hidden_size)

    def check_forward_args(self, input, hidden, batch_sizes):
        self.check_input(input, batch_sizes)
        self.check_hidden_size(
            hidden[0], self.get_expected_hidden_size(input, batch_sizes), "Expected hidden[0] size {}, got {}"
        )
        self.check_hidden_size(
            hidden[1], self.get_expected_cell_size(input, batch_sizes), "Expected hidden[1] size {}, got {}"
        )

    def permute_hidden(self, hx, permutation):
        if permutation is None:
            return hx
        return hx[0].index_select(1, permutation), hx[1].index_select(1, permutation)


class GRU(RNNBase):
    """Gated recurrent unit.

    Args: input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional.
    Shape: (L, N, in), h (layers*dirs, N, hidden) -> (L, N, dirs*hidden), h.
    """

    _name = "GRU"

    def __init__(self, *args, **kwargs):
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        super().__init__("GRU", *args, **kwargs)


class RNNCellBase(Module):
    """What the cells share."""

    __constants__ = ["input_size", "hidden_size", "bias"]

    def __init__(self, input_size, hidden_size, bias, num_chunks, device=None, dtype=None):
        kw = {"device": device, "dtype": dtype}
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        self.weight_ih = Parameter(torch.empty((num_chunks * hidden_size, input_size), **kw))
        self.weight_hh = Parameter(torch.empty((num_chunks * hidden_size, hidden_size), **kw))
        if bias:
            self.bias_ih = Parameter(torch.empty(num_chunks * hidden_size, **kw))
            self.bias_hh = Parameter(torch.empty(num_chunks * hidden_size, **kw))
        else:
            self.register_parameter("bias_ih", None)
            self.register_parameter("bias_hh", None)
        self.reset_parameters()

    def extra_repr(self):
        s = "{input_size}, {hidden_size}"
        if self.bias is not True:
            s += ", bias={bias}"
        if self.__dict__.get("nonlinearity", "tanh") != "tanh":
            s += ", nonlinearity={nonlinearity}"
        return s.format(**self.__dict__)

    def reset_parameters(self):
        stdv = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -stdv, stdv)

    def _prepare(self, input, hx):
        # (input, states, batched) with a batch dimension; the number of states is 2 for LSTMCell
        name = type(self).__name__
        if input.dim() not in (1, 2):
            raise ValueError(f"{name}: Expected input to be 1D or 2D, got {input.dim()}D instead")
        lstm = isinstance(self, LSTMCell)
        if hx is not None:
            for i, s in enumerate(hx if lstm else (hx,)):
                if s.dim() not in (1, 2):
                    which = f"hx[{i}]" if lstm else "hidden"
                    raise ValueError(f"{name}: Expected {which} to be 1D or 2D, got {s.dim()}D instead")
        batched = input.dim() == 2
        if not batched:
            input = input.unsqueeze(0)
        if hx is None:
            zeros = torch.zeros(input.size(0), self.hidden_size, dtype=input.dtype, device=input.device)
            hx = (zeros, zeros) if lstm else zeros
        elif not batched:
            hx = tuple(s.unsqueeze(0) for s in hx) if lstm else hx.unsqueeze(0)
        self._check(input, hx[0] if lstm else hx)
        return input, hx, batched

    def _check(self, input, h):
        if input.size(1) != self.input_size:
            raise RuntimeError(f"input has inconsistent input_size: got {input.size(1)} expected {self.input_size}")
        if input.size(0) != h.size(0):
            raise RuntimeError(f"Input batch size {input.size(0)} doesn't match hidden batch size {h.size(0)}")
        if h.size(1) != self.hidden_size:
            raise RuntimeError(f"hidden has inconsistent hidden_size: got {h.size(1)}, expected {self.hidden_size}")


class RNNCell(RNNCellBase):
    """One step of an Elman network."""

    __constants__ = ["input_size", "hidden_size", "bias", "nonlinearity"]

    def __init__(self, input_size, hidden_size, bias=True, nonlinearity="tanh", device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, num_chunks=1, device=device, dtype=dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input, hx=None):
        input, hx, batched = self._prepare(input, hx)
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        cell = steps.tanh_cell if self.nonlinearity == "tanh" else steps.relu_cell
        h = cell(steps.project(input, self.weight_ih, self.bias_ih), hx, self.weight_hh, self.bias_hh)
        return h if batched else h.squeeze(0)


class LSTMCell(RNNCellBase):
    """One step of an LSTM: returns (h, c)."""

    def __init__(self, input_size, hidden_size, bias=True, device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, num_chunks=4, device=device, dtype=dtype)

    def forward(self, input, hx=None):
        input, hx, batched = self._prepare(input, hx)
        h, c = steps.lstm_cell(steps.project(input, self.weight_ih, self.bias_ih), hx, self.weight_hh, self.bias_hh)
        return (h, c) if batched else (h.squeeze(0), c.squeeze(0))


class GRUCell(RNNCellBase):
    """One step of a GRU."""

    def __init__(self, input_size, hidden_size, bias=True, device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, num_chunks=3, device=device, dtype=dtype)

    def forward(self, input, hx=None):
        input, hx, batched = self._prepare(input, hx)
        h = steps.gru_cell(steps.project(input, self.weight_ih, self.bias_ih), hx, self.weight_hh, self.bias_hh)
        return h if batched else h.squeeze(0)
