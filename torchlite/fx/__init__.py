"""torch.fx: a model's forward as a graph of nodes that programs can read, change and turn into Python code again.

`symbolic_trace(model)` runs forward with Proxies, which record what is done to them in a Graph; a GraphModule is the
module whose forward is the code of a graph. Loaded when something of it is first used.
"""

from . import immutable_collections, traceback
from ._symbolic_trace import PH, ProxyableClassMeta, Tracer, symbolic_trace, wrap
from .graph import CodeGen, Graph
from .graph_module import GraphModule
from .interpreter import Interpreter, Transformer
from .node import Node, has_side_effect, map_arg
from .proxy import Proxy
from .subgraph_rewriter import replace_pattern
from . import config, experimental, operator_schemas, passes, tensor_type

__all__ = [
    "symbolic_trace",
    "Tracer",
    "wrap",
    "Graph",
    "GraphModule",
    "Interpreter",
    "Transformer",
    "Node",
    "Proxy",
    "replace_pattern",
    "has_side_effect",
    "map_arg",
]

from .._core import absent as _absent

__getattr__ = _absent.of(__name__)
