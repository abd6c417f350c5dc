"""torch_geometric: layers, pooling, loaders, explanations, transforms."""

import torch
from torch import nn

from ._shared import losses_of


def _graph(n=12, d=6, seed=0):
    from torch_geometric.data import Data

    g = torch.Generator().manual_seed(seed)
    edges = torch.randint(0, n, (2, 4 * n), generator=g)
    edges = edges[:, edges[0] != edges[1]]
    edges = torch.cat([edges, edges.flip(0)], 1).unique(dim=1)
    return Data(x=torch.randn(n, d, generator=g), edge_index=edges, y=torch.arange(n) % 3)


def _trained(layer, data, *args):
    out = layer(data.x, data.edge_index, *args)
    loss = out.square().mean()
    if loss.requires_grad:
        loss.backward()
    return out, loss, [p.grad.norm() for p in layer.parameters() if p.grad is not None]


def layers():
    from torch_geometric import nn as g

    data = _graph()
    made = [
        g.ChebConv(6, 4, K=3),
        g.GraphConv(6, 4),
        g.TAGConv(6, 4, K=2),
        g.ARMAConv(6, 4),
        g.SGConv(6, 4, K=2),
        g.APPNP(3, 0.1),
        g.LEConv(6, 4),
        g.ClusterGCNConv(6, 4),
        g.GENConv(6, 4),
        g.FeaStConv(6, 4, heads=2),
        g.TransformerConv(6, 4, heads=2),
        g.GATv2Conv(6, 4, heads=2),
        g.SuperGATConv(6, 4, heads=2),
        g.ResGatedGraphConv(6, 4),
        g.GatedGraphConv(6, 2),
        g.MFConv(6, 4),
        g.AGNNConv(),
        g.LGConv(),
        g.EdgeConv(nn.Linear(12, 4)),
        g.PNAConv(6, 4, ["mean", "max", "std"], ["identity", "attenuation"], torch.arange(9)),
        g.SAGEConv(6, 4, aggr="max"),
        g.GeneralConv(6, 4),
        g.EGConv(6, 4, num_heads=2),
        g.FiLMConv(6, 4),
        g.AntiSymmetricConv(6),
        g.DirGNNConv(g.GCNConv(6, 4)),
        g.MixHopConv(6, 4),
    ]
    return [_trained(layer, data) for layer in made]


def edges_with_features():
    from torch_geometric import nn as g

    data = _graph()
    weight = torch.rand(data.num_edges)
    attr = torch.rand(data.num_edges, 3)
    return (
        _trained(g.GCNConv(6, 4), data, weight),
        _trained(g.GINEConv(nn.Linear(6, 4), edge_dim=3), data, attr),
        _trained(g.NNConv(6, 4, nn.Linear(3, 24)), data, attr),
        _trained(g.GMMConv(6, 4, dim=3, kernel_size=2), data, attr),
        _trained(g.CGConv(6, dim=3), data, attr),
        _trained(g.PDNConv(6, 4, 3, 8), data, attr),
    )


def classifier():
    from torch_geometric.nn import GCN

    data, net = _graph(), GCN(6, 16, 2, 3, dropout=0.5, norm="batch_norm", jk="cat")
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01, weight_decay=5e-4)
    return losses_of(optimizer, lambda: nn.functional.cross_entropy(net(data.x, data.edge_index), data.y), 5)


def pooling():
    from torch_geometric import nn as g, utils
    from torch_geometric.data import Batch

    batch = Batch.from_data_list([_graph(seed=s, n=8 + s) for s in range(3)])
    x, edges, _, at, perm, score = g.TopKPooling(6, ratio=0.5)(batch.x, batch.edge_index, batch=batch.batch)
    sag = g.SAGPooling(6, ratio=0.6)(batch.x, batch.edge_index, batch=batch.batch)
    dense, mask = utils.to_dense_batch(batch.x, batch.batch)
    adj = utils.to_dense_adj(batch.edge_index, batch.batch)
    pooled = g.dense_diff_pool(dense, adj, torch.ones(3, dense.size(1), 4), mask)
    cut = g.dense_mincut_pool(dense, adj, torch.rand(3, dense.size(1), 4), mask)
    readouts = [
        f(batch.x, batch.batch)
        for f in (
            g.global_add_pool,
            g.global_max_pool,
            g.Set2Set(6, 2),
            g.SortAggregation(3),
            g.SoftmaxAggregation(learn=True),
            g.MultiAggregation(["mean", "std", "median"]),
            g.AttentionalAggregation(nn.Linear(6, 1)),
        )
    ]
    return x, edges, at, perm, score, sag[0], pooled, cut, readouts


def neighbours_and_splits():
    from torch_geometric import transforms as T
    from torch_geometric.utils import (
        add_self_loops,
        coalesce,
        degree,
        get_laplacian,
        is_undirected,
        k_hop_subgraph,
        softmax,
        subgraph,
        to_undirected,
    )

    data = _graph()
    torch.manual_seed(3)
    chain = T.Compose([T.NormalizeFeatures(), T.AddSelfLoops(), T.LocalDegreeProfile(), T.ToUndirected()])
    made = chain(data.clone())
    train, val, test = T.RandomLinkSplit(num_val=0.2, num_test=0.2, is_undirected=True)(_graph())
    laplacian = get_laplacian(data.edge_index, normalization="sym")
    return (
        made.x,
        degree(data.edge_index[0]),
        is_undirected(data.edge_index),
        laplacian,
        k_hop_subgraph(2, 1, data.edge_index, relabel_nodes=True),
        subgraph([0, 1, 2, 3], data.edge_index),
        softmax(torch.randn(data.num_edges), data.edge_index[0]),
        add_self_loops(data.edge_index)[0].shape,
        coalesce(data.edge_index.repeat(1, 2)).shape,
        to_undirected(data.edge_index).shape,
        train.edge_label_index.shape,
        val.edge_label.sum(),
        test.edge_index.shape,
    )


def heterogeneous():
    from torch_geometric.data import HeteroData
    from torch_geometric.nn import HGTConv, HeteroConv, SAGEConv, to_hetero

    data = HeteroData()
    data["user"].x, data["item"].x = torch.randn(4, 5), torch.randn(6, 5)
    data["user", "buys", "item"].edge_index = torch.tensor([[0, 1, 2, 3, 0], [0, 1, 2, 3, 5]])
    data["item", "rev", "user"].edge_index = torch.tensor([[0, 1, 2, 4], [1, 2, 3, 0]])
    conv = HeteroConv({t: SAGEConv((5, 5), 4) for t in data.edge_types}, aggr="sum")
    out = conv(data.x_dict, data.edge_index_dict)
    hgt = HGTConv(5, 4, data.metadata(), heads=2)(data.x_dict, data.edge_index_dict)
    net = to_hetero(_Net(), data.metadata())
    return out, hgt, net(data.x_dict, data.edge_index_dict)


class _Net(nn.Module):
    def __init__(self):
        super().__init__()
        from torch_geometric.nn import SAGEConv

        self.a, self.b = SAGEConv((5, 5), 8), SAGEConv((8, 8), 2)

    def forward(self, x, edge_index):
        return self.b(self.a(x, edge_index).relu(), edge_index)


def autoencoder_and_own_layer():
    from torch_geometric.nn import GCNConv, MessagePassing, VGAE

    class Mean(MessagePassing):
        def __init__(self):
            super().__init__(aggr="mean")
            self.lin = nn.Linear(12, 6)

        def forward(self, x, edge_index):
            return self.propagate(edge_index, x=x)

        def message(self, x_i, x_j):
            return self.lin(torch.cat([x_i, x_j - x_i], -1))

    class Encoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.own, self.mu, self.std = Mean(), GCNConv(6, 3), GCNConv(6, 3)

        def forward(self, x, e):
            x = self.own(x, e).relu()
            return self.mu(x, e), self.std(x, e)

    data, net = _graph(), VGAE(Encoder())
    z = net.encode(data.x, data.edge_index)
    loss = net.recon_loss(z, data.edge_index) + net.kl_loss()
    loss.backward()
    return z, loss, net.encoder.own.lin.weight.grad


def explained():
    from torch_geometric.explain import Explainer, GNNExplainer
    from torch_geometric.nn import GCN

    data, net = _graph(), GCN(6, 8, 2, 3)
    explainer = Explainer(
        net,
        GNNExplainer(epochs=5),
        explanation_type="model",
        node_mask_type="attributes",
        edge_mask_type="object",
        model_config={"mode": "multiclass_classification", "task_level": "node", "return_type": "raw"},
    )
    found = explainer(data.x, data.edge_index, index=3)
    return found.node_mask, found.edge_mask


def points():
    from torch_geometric.nn import PointNetConv, PositionalEncoding

    data = _graph()
    conv = PointNetConv(nn.Linear(9, 4), nn.Linear(4, 5))
    return conv(data.x, torch.randn(12, 3), data.edge_index), PositionalEncoding(8)(torch.arange(5.0))


def norms_and_whole_models():
    from torch_geometric import nn as g

    data = _graph()
    at = torch.arange(12) // 4
    norms = [
        n(data.x, at)
        for n in (g.GraphNorm(6), g.InstanceNorm(6), g.LayerNorm(6), g.PairNorm(), g.MeanSubtractionNorm())
    ]
    nets = [
        g.GAT(6, 8, 2, 3, heads=2),
        g.GIN(6, 8, 2, 3),
        g.GraphSAGE(6, 8, 2, 3),
        g.PNA(6, 8, 2, 3, aggregators=["mean", "max"], scalers=["identity"], deg=torch.arange(9)),
        g.GraphUNet(6, 8, 3, depth=2),
        g.DeepGCNLayer(g.GENConv(6, 6), nn.LayerNorm(6), nn.ReLU()),
        g.LINKX(12, 6, 8, 3, 2),
        g.EdgeCNN(6, 8, 2, 3),
    ]
    out = []
    for net in nets:
        args = (data.x, data.edge_index)
        out.append(net(*args) if not isinstance(net, g.LINKX) else net(data.x, data.edge_index))
    return norms, out
