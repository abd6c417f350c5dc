"""torch._inductor.config: options of a compiler that is not here. They can be set and read; nothing looks at them.
Those that programs read have PyTorch's values; others are there once they are set."""

from types import SimpleNamespace

from .._dynamo.config import functions_of

fx_graph_cache = epilogue_fusion = pattern_matcher = shape_padding = split_reductions = size_asserts = True
use_mixed_mm = allow_buffer_reuse = layout_optimization = loop_ordering_after_fusion = comprehensive_padding = True
max_autotune = max_autotune_gemm = max_autotune_pointwise = coordinate_descent_tuning = cpp_wrapper = debug = False
coordinate_descent_check_all_directions = force_fuse_int_mm_with_mul = freezing = fallback_random = False
conv_1x1_as_mm = use_fast_math = emulate_precision_casts = deterministic = combo_kernels = permute_fusion = False
profile_bandwidth = reorder_for_compute_comm_overlap = memory_planning = aggressive_fusion = nan_asserts = False
max_autotune_gemm_backends = "ATEN,TRITON,CPP"
cpp = SimpleNamespace(threads=-1, simdlen=None, weight_prepack=True, enable_kernel_profile=False)
triton = SimpleNamespace(
    cudagraphs=False, cudagraph_trees=True, cudagraph_skip_dynamic_graphs=False, unique_kernel_names=True
)
trace = SimpleNamespace(enabled=False, debug_dir=None, graph_diagram=False, output_code=True)
aot_inductor = SimpleNamespace(output_path="", package=False)
patch, get_config_copy, save_config, load_config = functions_of(globals())
