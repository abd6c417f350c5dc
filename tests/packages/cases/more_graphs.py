"""torch_geometric: its other layers, aggregations, transforms and functions."""

import random

import numpy
import torch
from torch import nn


def graphs_rarer():
    import torch_geometric as pyg
    from torch_geometric import data as D, nn as G, transforms as T, utils as U

    torch.manual_seed(0)
    edges = torch.tensor([[0, 1, 1, 2, 3, 4, 4, 5], [1, 0, 2, 1, 4, 3, 5, 4]])
    x = torch.randn(6, 8)
    batch = torch.tensor([0, 0, 0, 1, 1, 1])
    attr = torch.rand(8, 3)
    found = {}
    for layer, extra in (
        (G.ARMAConv(8, 4), ()),
        (G.AGNNConv(), ()),
        (G.APPNP(3, 0.1), ()),
        (G.ChebConv(8, 4, 3), ()),
        (G.ClusterGCNConv(8, 4), ()),
        (G.DNAConv(8), None),
        (G.EGConv(8, 4, num_heads=2), ()),
        (G.FAConv(8), (x,)),
        (G.FiLMConv(8, 4), ()),
        (G.GATv2Conv(8, 4, 2, edge_dim=3), (attr,)),
        (G.GENConv(8, 4, edge_dim=3), (attr,)),
        (G.GeneralConv(8, 4, 3), (attr,)),
        (G.GINEConv(nn.Linear(8, 4), edge_dim=3), (attr,)),
        (G.GMMConv(8, 4, 3, 2), (attr,)),
        (G.GatedGraphConv(8, 2), ()),
        (G.LEConv(8, 4), ()),
        (G.MFConv(8, 4), ()),
        (G.NNConv(8, 4, nn.Linear(3, 32)), (attr,)),
        (
            G.PNAConv(8, 4, ["mean", "max", "std"], ["identity", "attenuation"], torch.tensor([0, 4, 2]), edge_dim=3),
            (attr,),
        ),
        (G.ResGatedGraphConv(8, 4), ()),
        (G.RGCNConv(8, 4, 2, num_bases=2), (torch.tensor([0, 1] * 4),)),
        (G.SGConv(8, 4, 2), ()),
        (G.SSGConv(8, 4, 0.1), ()),
        (G.SuperGATConv(8, 4, 2), ()),
        (G.TAGConv(8, 4), ()),
        (G.TransformerConv(8, 4, 2, edge_dim=3), (attr,)),
        (G.PDNConv(8, 4, 3, 4), (attr,)),
        (G.GCN2Conv(8, 0.1), (x,)),
        (G.LGConv(), ()),
        (G.HypergraphConv(8, 4), ()),
        (G.SignedConv(8, 4, True), (edges,)),
        (G.DirGNNConv(G.GCNConv(8, 4)), ()),
        (G.MixHopConv(8, 4), ()),
        (G.AntiSymmetricConv(8), ()),
        (G.GPSConv(8, G.GCNConv(8, 8), heads=2), ()),
        (G.WLConvContinuous(), ()),
    ):
        if extra is None:
            found[type(layer).__name__] = layer(x.view(6, 1, 8), edges)
        else:
            arguments = (x, *extra, edges) if isinstance(layer, (G.FAConv, G.GCN2Conv)) else (x, edges, *extra)
            found[type(layer).__name__] = layer(*arguments)
    for name, aggr in (
        ("lstm", G.LSTMAggregation(8, 4)),
        ("set2set", G.Set2Set(8, 2)),
        ("sort", G.SortAggregation(2)),
        ("median", G.MedianAggregation()),
        ("quantile", G.QuantileAggregation([0.2, 0.8])),
        ("softmax", G.SoftmaxAggregation(learn=True)),
        ("power", G.PowerMeanAggregation()),
        ("gmt", G.GraphMultisetTransformer(8, 2)),
        ("set", G.SetTransformerAggregation(8, heads=2)),
        ("equilibrium", G.EquilibriumAggregation(8, 4, [8], 2)),
        ("attentional", G.AttentionalAggregation(nn.Linear(8, 1))),
        ("deep", G.DeepSetsAggregation(nn.Linear(8, 4), nn.Linear(4, 2))),
        ("moments", G.MultiAggregation(["mean", "std", "var"])),
    ):
        torch.manual_seed(1)
        found[name] = aggr(x.abs(), batch)
    graph = D.Data(x=x, edge_index=edges, pos=torch.rand(6, 3), edge_attr=attr)
    for t in (
        T.AddLaplacianEigenvectorPE(2, is_undirected=True),
        T.AddRandomWalkPE(3),
        T.GCNNorm(),
        T.LineGraph(),
        T.LocalDegreeProfile(),
        T.OneHotDegree(4),
        T.SVDFeatureReduction(2),
        T.Cartesian(),
        T.Spherical(),
        T.Distance(),
        T.VirtualNode(),
        T.ToUndirected(),
        T.RandomLinkSplit(0.2, 0.2),
        T.LargestConnectedComponents(),
        T.NormalizeFeatures(),
    ):
        torch.manual_seed(2)
        random.seed(2)  # torch_geometric draws edges with these
        numpy.random.seed(2)
        out = t(graph.clone())
        out = out[0] if isinstance(out, tuple) else out
        found[type(t).__name__] = [v for k, v in sorted(out.to_dict().items()) if torch.is_tensor(v)]
    random.seed(2)
    numpy.random.seed(2)
    found["utils"] = [
        U.to_dense_adj(edges, batch),
        U.to_dense_batch(x, batch)[1],
        U.k_hop_subgraph(1, 1, edges)[0],
        U.get_laplacian(edges, normalization="sym")[1],
        U.negative_sampling(edges).shape,
        U.dropout_edge(edges)[0].shape,
        U.coalesce(edges),
        U.degree(edges[0]),
        U.softmax(attr, edges[0]),
        U.homophily(edges, torch.tensor([0, 0, 1, 1, 1, 0])),
        U.to_scipy_sparse_matrix(edges).toarray().tolist(),
        U.is_undirected(edges),
        U.sort_edge_index(edges),
        U.scatter(x, batch, reduce="mul"),
        U.segment(x, torch.tensor([0, 3, 6]), "max"),
        U.spmm(torch.eye(6).to_sparse(), x),
        U.barabasi_albert_graph(6, 2).shape,
        U.assortativity(edges),
        U.unbatch(x, batch)[1],
        U.contains_self_loops(edges),
        U.grid(2, 3)[0],
        U.erdos_renyi_graph(5, 0.5),
    ]
    index = pyg.EdgeIndex(edges, sparse_size=(6, 6), sort_order="row")
    found["index"] = [
        str(index),
        index.sort_by("col")[0].as_tensor(),
        index.get_csr()[0][0],
        (index @ x),
        index.to_dense(),
        str(pyg.Index(batch, dim_size=2, is_sorted=True)),
    ]
    return found
