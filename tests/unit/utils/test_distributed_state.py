"""torch.distributed.checkpoint.state_dict in a world of one process."""

import pytest

import torchlite as torch
from torchlite.distributed.checkpoint import state_dict as states


def made():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    model(torch.ones(3, 2)).sum().backward()
    optimizer.step()
    return model, optimizer


def test_names_and_back():
    model, optimizer = made()
    weights, state = states.get_state_dict(model, optimizer)
    assert list(weights) == list(model.state_dict()) and state["param_groups"][0]["params"] == list(weights)
    assert set(state["state"]["0.weight"]) == {"step", "exp_avg", "exp_avg_sq"}
    other = made()[0]
    fresh = torch.optim.Adam(other.parameters(), lr=0.5)
    keys = states.set_state_dict(other, fresh, model_state_dict=weights, optim_state_dict=state)
    assert keys.missing_keys == keys.unexpected_keys == [] and fresh.param_groups[0]["lr"] == 0.1
    assert torch.equal(fresh.state[other[1].bias]["exp_avg"], optimizer.state[model[1].bias]["exp_avg"])


def test_options():
    model, _ = made()
    model[0].requires_grad_(False)
    some = states.get_model_state_dict(model, options=states.StateDictOptions(ignore_frozen_params=True))
    assert list(some) == ["1.weight", "1.bias"]
    options = states.StateDictOptions(strict=False, full_state_dict=True, broadcast_from_rank0=True)
    assert states.set_model_state_dict(model, some, options=options).missing_keys == ["0.weight", "0.bias"]


def test_submodules_are_refused_rather_than_ignored():
    model, optimizer = made()
    for get in (states.get_optimizer_state_dict, states.get_state_dict):
        with pytest.raises(NotImplementedError, match="submodules"):
            get(model, optimizer, submodules={model[0]})
    assert states.get_optimizer_state_dict(model, optimizer, submodules=set())["state"]
