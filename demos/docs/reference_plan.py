"""The pages of the API reference in PyTorch's order, and where PyTorch's manual has a name."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass
class Page:
    name: str  # of the file
    title: str
    lead: str  # the first sentence goes into the list of pages
    ops: str = ""  # which declared ops: a place of op_list.py, or a group below
    modules: tuple[str, ...] = ()  # whose classes and functions are listed as well
    methods: tuple[str, ...] = ()  # of tensors, that no declaration has


# ops of torch by the file that declares them; what no group names is on the page torch-other
TORCH_GROUPS = {
    "torch-creation": ("creation", "copying", "random_ops", "from_data"),
    "torch-indexing": (
        *("indexing", "joining", "views", "view_lists", "view_copies", "view_scatter", "padding", "segments"),
        *("grouped", "embedding", "sorting"),
    ),
    "torch-pointwise": (
        *("unary", "binary", "trig", "ternary", "bitwise", "comparison", "activation", "special", "softmax"),
    ),
    "torch-reduction": ("reduction", "statistics", "scan", "quantiles", "norms", "distance"),
    "torch-linalg": (
        *("matmul", "linalg", "linalg_derived", "linalg_lu", "linalg_norms", "linalg_parts", "linalg_spectral"),
        *("einsum", "spectral", "fft", "integer_mm"),
    ),
}

METHODS = (
    *("backward", "register_hook", "register_post_accumulate_grad_hook", "retain_grad", "requires_grad_", "size"),
    *("stride", "dim", "numel", "item", "tolist", "numpy", "is_contiguous", "element_size", "storage_offset"),
    *("type", "cpu", "cuda", "new_tensor", "share_memory_", "untyped_storage", "data_ptr", "map_", "apply_"),
    *("module_load", "dim_order", "item_async", "cpu_async", "tolist_async"),
)

PAGES = [
    Page(
        "torch",
        "torch",
        "Tensors from data, files, switches of gradients, seeds, types. Functions that compute are on the next pages.",
        modules=("",),
    ),
    Page(
        "torch-creation",
        "torch: creation and random numbers",
        "New tensors, copies, random numbers. For the same seed the numbers are those of PyTorch's CPU generator.",
        ops="torch-creation",
    ),
    Page(
        "torch-indexing",
        "torch: indexing, joining, shapes",
        "Parts of tensors, views, joining, sorting, scatter and gather.",
        ops="torch-indexing",
    ),
    Page(
        "torch-pointwise",
        "torch: element by element",
        "Arithmetic, functions, comparisons, bits. Operands are broadcast and promoted as in PyTorch.",
        ops="torch-pointwise",
    ),
    Page(
        "torch-reduction",
        "torch: reductions",
        "Sums, extremes, statistics, cumulative sums, norms, distances.",
        ops="torch-reduction",
    ),
    Page(
        "torch-linalg",
        "torch: products and spectra",
        "Matrix products, decompositions under their older names, einsum, stft.",
        ops="torch-linalg",
    ),
    Page("torch-other", "torch: what layers are made of", "Ops below the layers, and the rest.", ops="torch-other"),
    Page(
        "Tensor",
        "torch.Tensor",
        "Methods of tensors. Most are functions of torch as well, and described there.",
        ops="torch.Tensor",
        methods=METHODS,
    ),
    Page("nn", "torch.nn", "Modules: layers, losses, containers.", modules=("nn",)),
    Page(
        "nn.functional",
        "torch.nn.functional",
        "The functions behind the modules.",
        ops="torch.nn.functional",
        modules=("nn.functional",),
    ),
    Page("nn.init", "torch.nn.init", "Initial values of parameters.", modules=("nn.init",)),
    Page(
        "nn.utils",
        "torch.nn.utils",
        "Clipping of gradients, packed sequences, parametrizations, pruning.",
        modules=("nn.utils", "nn.utils.rnn", "nn.utils.parametrize", "nn.utils.parametrizations", "nn.utils.prune"),
    ),
    Page(
        "optim",
        "torch.optim",
        "Optimizers, schedulers of their rate, averaged models.",
        modules=("optim", "optim.lr_scheduler", "optim.swa_utils"),
    ),
    Page(
        "autograd",
        "torch.autograd",
        "Gradients, custom functions, checks against differences.",
        modules=("autograd", "autograd.functional", "autograd.forward_ad", "autograd.graph"),
    ),
    Page("linalg", "torch.linalg", "Linear algebra.", ops="torch.linalg", modules=("linalg",)),
    Page("fft", "torch.fft", "Fourier transforms.", ops="torch.fft", modules=("fft",)),
    Page("special", "torch.special", "Special functions.", ops="torch.special", modules=("special",)),
    Page("signal", "torch.signal.windows", "Windows for spectra.", modules=("signal.windows",)),
    Page("utils.data", "torch.utils.data", "Datasets, samplers, DataLoader.", modules=("utils.data",)),
    Page("distributions", "torch.distributions", "Probability distributions.", modules=("distributions",)),
    Page("func", "torch.func", "grad, vmap, jacobians as functions of functions.", modules=("func",)),
    Page("sparse", "torch.sparse", "Ops of sparse tensors.", modules=("sparse",)),
    Page("amp", "torch.amp, torch.random", "Autocast, gradient scaling, random state.", modules=("amp", "random")),
    Page("fx", "torch.fx", "Graphs of modules, traced and rewritten.", modules=("fx",)),
    Page("library", "torch.library", "Ops of one's own.", modules=("library",)),
    Page("hub", "torch.hub", "Weights by address.", modules=("hub",)),
    Page("profiler", "torch.profiler", "Where the time goes.", modules=("profiler",)),
    Page(
        "webgpu",
        "torch.webgpu, torch.accelerator",
        "The page's GPU. torch.webgpu is torchlite's own; torch.accelerator is PyTorch's.",
        modules=("webgpu", "accelerator"),
    ),
    Page(
        "aten",
        "torch.ops.aten: parts of other ops",
        "PyTorch's ops without a public name: steps of gradients, and parts of other ops.",
        ops="internal",
    ),
]

# headings within a page: names, or files of torch/nn/modules
SECTIONS = {
    "torch": {
        "Tensors": (
            "Tensor",
            "tensor",
            "as_tensor",
            "asarray",
            "from_numpy",
            "frombuffer",
            "from_dlpack",
            "is_tensor",
            "numel",
        ),
        "Types and devices": (
            *("dtype", "device", "layout", "Size", "finfo", "iinfo", "result_type", "promote_types", "can_cast"),
            *("get_default_dtype", "set_default_dtype", "get_default_device", "set_default_device"),
        ),
        "Gradients": ("no_grad", "enable_grad", "inference_mode", "set_grad_enabled", "is_grad_enabled"),
        "Files": ("save", "load"),
        "Random numbers": ("manual_seed", "seed", "initial_seed", "Generator", "get_rng_state", "set_rng_state"),
        "torchlite's own": ("explain", "self_test", "ready", "install_as_torch"),
        "Of several ops": (
            *("einsum", "tensordot", "cdist", "norm", "unique", "unique_consecutive", "meshgrid", "cartesian_prod"),
            *("broadcast_tensors", "broadcast_shapes", "block_diag", "histogramdd", "gradient", "chain_matmul"),
        ),
        "Compiling and mixed precision": ("compile", "autocast", "GradScaler"),
    },
    "nn": {
        "Containers": ("Module", "Sequential", "container", "module", "Parameter", "parameter"),
        "Convolution": ("conv", "fold"),
        "Pooling": ("pooling",),
        "Padding": ("padding",),
        "Activations": ("activation",),
        "Normalization": ("batchnorm", "normalization", "instancenorm"),
        "Recurrent layers": ("rnn",),
        "Transformers": ("transformer",),
        "Linear layers": ("linear",),
        "Dropout": ("dropout",),
        "Embeddings": ("sparse",),
        "Distances": ("distance",),
        "Losses": ("loss", "adaptive"),
        "Pictures": ("pixelshuffle", "upsampling", "channelshuffle"),
        "Shapes": ("flatten", "lazy"),
    },
}

SHORT_DTYPES = {
    **{f"i{n}": f"int{n}" for n in (8, 16, 32, 64)},
    **{"u8": "uint8", "f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64", "bool": "bool"},
    **{"c64": "complex64", "c128": "complex128"},
}

# prefixes of names that PyTorch's manual has on one page for all; other names have a page each
LINK_ROOT = {
    "special.": "special.html",
    "distributions.": "distributions.html",
    "utils.data.": "data.html",
    "nn.init.": "nn.init.html",
    "amp.": "amp.html",
    "random.": "random.html",
    "fx.": "fx.html",
    "library.": "library.html",
    "hub.": "hub.html",
    "profiler.": "profiler.html",
}
OWN_PAGES = ("webgpu.",)
# names of torch that have no docstring in PyTorch, and so no page in its manual
UNDOCUMENTED = frozenset(
    """affine_grid_generator alpha_dropout as_strided_ batch_norm binary_cross_entropy_with_logits binomial celu
    clamp_max clamp_min conj_physical_ constant_pad_nd convolution convolution_backward cosine_embedding_loss ctc_loss
    detach dropout embedding embedding_bag embedding_dense_backward embedding_renorm feature_alpha_dropout
    feature_dropout fill fill_ frobenius_norm grid_sampler group_norm gru gru_cell hinge_embedding_loss index_fill
    index_put instance_norm kl_div layer_norm log_softmax lstm lstm_cell margin_ranking_loss masked_fill masked_scatter
    max_pool1d max_pool1d_with_indices max_pool2d max_pool3d native_batch_norm native_batch_norm_backward
    native_dropout native_group_norm native_group_norm_backward native_layer_norm native_layer_norm_backward
    norm_except_dim nuclear_norm poisson_nll_loss put relu resize_as_ rms_norm rnn_relu rnn_relu_cell rnn_tanh
    rnn_tanh_cell rrelu rsub scalar_tensor selu sigmoid_backward split_with_sizes tanh_backward threshold
    threshold_backward triplet_margin_loss unique_dim unsafe_split_with_sizes zero_""".split()
)

# what modules without __all__ have from elsewhere
HELPERS = frozenset(
    """fork_rng printoptions nn.functional.namespace nn.functional.Tensor
    autograd.functional.as_leaf func.as_leaf func.edge
    func.Transposing func.tree_flatten func.tree_unflatten amp.clear_autocast_cache amp.deprecated
    amp.get_autocast_dtype amp.old_names amp.set_autocast_enabled amp.Tensor hub.downloads
    hub.remove_download profiler.ExecutionTraceObserver
    webgpu.set_per_process_memory_fraction""".split()
)
