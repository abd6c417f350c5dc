"""The arithmetic of recurrent layers: one step of each kind, and the loops over time, layers and directions.

A step takes the already projected input (W_ih x + b_ih, found for all time steps in one product).
"""

from typing import Any

import torchlite as torch


def project(x, weight, bias):
    return torch.nn.functional.linear(x, weight, bias)


def project_steps(x, weight, bias):
    """project for (steps, samples, features); weights with a copy for each sample look for them in the first dim."""
    if getattr(type(weight), "samples_first", False):
        return project(x.transpose(0, 1), weight, bias).transpose(0, 1)
    return project(x, weight, bias)


def project_packed(data, sizes, weights):
    """project for packed steps of these sizes. Weights with a copy for each sample take them step by step."""
    if not getattr(type(weights[0]), "samples_first", False):
        return project(data, *weights[:2]).split(sizes)
    for weight in weights:
        if weight is not None:
            weight.set_allow_smaller_batches(True)  # they live as long as this call of the module
    return [project(part, *weights[:2]) for part in data.split(sizes)]


def tanh_cell(xp, h, w_hh, b_hh):
    return torch.tanh(xp + project(h, w_hh, b_hh))


def relu_cell(xp, h, w_hh, b_hh):
    return torch.relu(xp + project(h, w_hh, b_hh))


def lstm_cell(xp, state, w_hh, b_hh, w_hr=None):
    h, c = state
    i, f, g, o = (xp + project(h, w_hh, b_hh)).chunk(4, 1)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    h = torch.sigmoid(o) * torch.tanh(c)
    if w_hr is not None:
        h = project(h, w_hr, None)
    return h, c


def gru_cell(xp, h, w_hh, b_hh):
    xr, xz, xn = xp.chunk(3, 1)
    hr, hz, hn = project(h, w_hh, b_hh).chunk(3, 1)
    r = torch.sigmoid(xr + hr)
    z = torch.sigmoid(xz + hz)
    n = torch.tanh(xn + r * hn)
    return (h - n) * z + n


_CELLS = {"RNN_TANH": tanh_cell, "RNN_RELU": relu_cell, "GRU": gru_cell, "LSTM": lstm_cell}


def _unpack(rnn, weights):
    # weight_ih, weight_hh, [bias_ih, bias_hh], [weight_hr]
    w_ih, w_hh = weights[0], weights[1]
    b_ih, b_hh = (weights[2], weights[3]) if rnn.bias else (None, None)
    rest = (weights[-1],) if rnn.proj_size > 0 else ()
    return w_ih, b_ih, (w_hh, b_hh, *rest)


def run_layers(rnn, x, hx, layers):
    """x: (T, N, F); hx: (layers*dirs, N, H), or a pair for LSTM."""
    lstm = rnn.mode == "LSTM"
    cell = _CELLS[rnn.mode]
    directions = 2 if rnn.bidirectional else 1
    finals = []
    T = x.size(0)
    if T == 0:
        raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
    for layer in range(rnn.num_layers):
        outs = []
        for d in range(directions):
            k = layer * directions + d
            w_ih, b_ih, rest = _unpack(rnn, layers[k])
            state = (hx[0][k], hx[1][k]) if lstm else hx[k]
            steps = project_steps(x, w_ih, b_ih).unbind(0)
            out: list[Any] = [None] * T
            for t in range(T) if d == 0 else range(T - 1, -1, -1):
                state = cell(steps[t], state, *rest)
                out[t] = state[0] if lstm else state
            outs.append(torch.stack(out, 0))
            finals.append(state)
        x = outs[0] if directions == 1 else torch.cat(outs, 2)
        if rnn.dropout > 0 and rnn.training and layer < rnn.num_layers - 1:
            x = torch.nn.functional.dropout(x, rnn.dropout, True)
    return x, _stack(finals, lstm)


def _stack(finals, lstm):
    if lstm:
        return torch.stack([f[0] for f in finals], 0), torch.stack([f[1] for f in finals], 0)
    return torch.stack(finals, 0)


def _narrow(state, n, lstm):
    return (state[0][:n], state[1][:n]) if lstm else state[:n]


def _join(a, b, lstm):
    # rows of a above rows of b
    if lstm:
        return torch.cat([a[0], b[0]], 0), torch.cat([a[1], b[1]], 0)
    return torch.cat([a, b], 0)


def _size(state, lstm):
    return (state[0] if lstm else state).size(0)


def _run_direction(cell, steps, rest, state0, lstm, reverse):
    """One layer and direction over packed steps, whose batch shrinks as short sequences end."""
    out = [None] * len(steps)
    if not reverse:
        state, ended = state0, []
        for t, xp in enumerate(steps):
            n = xp.size(0)
            if n < _size(state, lstm):
                done = (state[0][n:], state[1][n:]) if lstm else state[n:]
                ended.append(done)
                state = _narrow(state, n, lstm)
            state = cell(xp, state, *rest)
            out[t] = state[0] if lstm else state
        for done in reversed(ended):
            state = _join(state, done, lstm)
        return out, state
    state = _narrow(state0, steps[-1].size(0), lstm)
    for t in range(len(steps) - 1, -1, -1):
        n, have = steps[t].size(0), _size(state, lstm)
        if n > have:  # sequences that end here start now
            fresh = (state0[0][have:n], state0[1][have:n]) if lstm else state0[have:n]
            state = _join(state, fresh, lstm)
        state = cell(steps[t], state, *rest)
        out[t] = state[0] if lstm else state
    return out, state


def run_packed(rnn, data, batch_sizes, hx, layers):
    """data: (sum of lengths, F), packed step by step."""
    lstm = rnn.mode == "LSTM"
    cell = _CELLS[rnn.mode]
    directions = 2 if rnn.bidirectional else 1
    sizes = batch_sizes.tolist()
    finals = []
    for layer in range(rnn.num_layers):
        outs = []
        for d in range(directions):
            k = layer * directions + d
            w_ih, b_ih, rest = _unpack(rnn, layers[k])
            state = (hx[0][k], hx[1][k]) if lstm else hx[k]
            steps = project_packed(data, sizes, (w_ih, b_ih, *rest))
            out, state = _run_direction(cell, steps, rest, state, lstm, d == 1)
            outs.append(torch.cat(out, 0))
            finals.append(state)
        data = outs[0] if directions == 1 else torch.cat(outs, 1)
        if rnn.dropout > 0 and rnn.training and layer < rnn.num_layers - 1:
            data = torch.nn.functional.dropout(data, rnn.dropout, True)
    return data, _stack(finals, lstm)
