"""torch._inductor: a compiler that is not here. Its options can be set."""

from . import config as config


def list_options():
    """The names of the options."""
    return list(config.get_config_copy())


def list_mode_options(mode=None, dynamic=None):
    """What a mode of torch.compile() sets; without one, what each of them does."""
    off = """reorder_for_peak_memory reorder_for_compute_comm_overlap triton.reorder_for_reducing_graph_partitions
        use_pre_grad_passes use_joint_graph_passes use_post_grad_passes use_dce allow_buffer_reuse"""
    graphs, tuned = {"triton.cudagraphs": True}, {"coordinate_descent_tuning": True}
    modes = {
        "default": {},
        "lite": {"fallback_by_default": True, "selective_decompose": True, **dict.fromkeys(off.split(), False)},
        "reduce-overhead": graphs,
        "max-autotune-no-cudagraphs": {"max_autotune": True, **tuned},
        "max-autotune": {"max_autotune": True, **graphs, **tuned},
    }
    if mode and mode not in modes:
        raise RuntimeError("Unrecognized mode=%s, should be one of: %s" % (mode, ", ".join(modes)))
    return modes[mode] if mode else modes
