"""Switches of Module.to and load_state_dict: torch.__future__."""

_state = {"overwrite_module_params_on_conversion": False, "swap_module_params_on_conversion": False}


def set_overwrite_module_params_on_conversion(value):
    """Whether Module.to makes new Parameters instead of changing them in place."""
    _state["overwrite_module_params_on_conversion"] = value


def get_overwrite_module_params_on_conversion():
    return _state["overwrite_module_params_on_conversion"]


def set_swap_module_params_on_conversion(value):
    """Whether Module.to swaps parameters."""
    _state["swap_module_params_on_conversion"] = value


def get_swap_module_params_on_conversion():
    return _state["swap_module_params_on_conversion"]
