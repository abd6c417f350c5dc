"""Graph attention with dense masks and a graph convolution with a sparse adjacency, on two communities."""

import torch
import torch.nn.functional as F
from torch import nn


class GraphConv(nn.Module):
    def __init__(self, input_dim, output_dim, use_bias=False):
        super().__init__()
        self.kernel = nn.Parameter(torch.empty(input_dim, output_dim))
        nn.init.xavier_normal_(self.kernel)
        self.bias = None
        if use_bias:
            self.bias = nn.Parameter(torch.empty(output_dim))
            nn.init.zeros_(self.bias)

    def forward(self, input_tensor, adj_mat):
        output = torch.spmm(adj_mat, torch.mm(input_tensor, self.kernel))
        return output if self.bias is None else output + self.bias


class GCN(nn.Module):
    def __init__(self, input_dim, hidden_dim, output_dim, use_bias=True, dropout_p=0.1):
        super().__init__()
        self.gc1 = GraphConv(input_dim, hidden_dim, use_bias=use_bias)
        self.gc2 = GraphConv(hidden_dim, output_dim, use_bias=use_bias)
        self.dropout = nn.Dropout(dropout_p)

    def forward(self, x, adj):
        x = self.dropout(F.relu(self.gc1(x, adj)))
        return F.log_softmax(self.gc2(x, adj), dim=1)


class GraphAttentionLayer(nn.Module):
    def __init__(self, in_features, out_features, n_heads, concat=False, dropout=0.4, leaky_relu_slope=0.2):
        super().__init__()
        self.n_heads, self.concat, self.dropout = n_heads, concat, dropout
        self.n_hidden = out_features // n_heads if concat else out_features
        self.W = nn.Parameter(torch.empty(size=(in_features, self.n_hidden * n_heads)))
        self.a = nn.Parameter(torch.empty(size=(n_heads, 2 * self.n_hidden, 1)))
        self.leakyrelu = nn.LeakyReLU(leaky_relu_slope)
        self.softmax = nn.Softmax(dim=1)
        nn.init.xavier_normal_(self.W)
        nn.init.xavier_normal_(self.a, gain=1.414)

    def forward(self, h, adj_mat):
        n_nodes = h.shape[0]
        h_transformed = F.dropout(torch.mm(h, self.W), self.dropout, training=self.training)
        h_transformed = h_transformed.view(n_nodes, self.n_heads, self.n_hidden).permute(1, 0, 2)
        source = torch.matmul(h_transformed, self.a[:, : self.n_hidden, :])
        target = torch.matmul(h_transformed, self.a[:, self.n_hidden :, :])
        e = self.leakyrelu(source + target.mT)
        attention = torch.where(adj_mat > 0, e, -9e16 * torch.ones_like(e))
        attention = F.dropout(F.softmax(attention, dim=-1), self.dropout, training=self.training)
        h_prime = torch.matmul(attention, h_transformed)
        if self.concat:
            return h_prime.permute(1, 0, 2).contiguous().view(n_nodes, self.n_heads * self.n_hidden)
        return h_prime.mean(dim=0)


class GAT(nn.Module):
    def __init__(self, in_features, n_hidden, n_heads, num_classes):
        super().__init__()
        self.gat1 = GraphAttentionLayer(in_features, n_hidden, n_heads, concat=True)
        self.gat2 = GraphAttentionLayer(n_hidden, num_classes, n_heads=1, concat=False)

    def forward(self, x, adj):
        return F.log_softmax(self.gat2(F.elu(self.gat1(x, adj)), adj), dim=1)


torch.manual_seed(13)
n = 30
label = (torch.arange(n) >= n // 2).long()
p = torch.where(label[:, None] == label[None, :], 0.4, 0.05)
upper = torch.triu(torch.bernoulli(p), diagonal=1)
dense = upper + upper.t() + torch.eye(n)
x = F.one_hot(label, 2).float() @ torch.randn(2, 6) + torch.randn(n, 6)
edges = dense.nonzero().t()
degree = torch.sparse_coo_tensor(edges, torch.ones(edges.size(1)), (n, n)).coalesce().sum(1).to_dense()
norm = degree.pow(-0.5)
adj = torch.sparse_coo_tensor(edges, norm[edges[0]] * norm[edges[1]], torch.Size([n, n]))
print(adj.is_sparse, adj._nnz(), adj.layout, f"{torch.sparse.sum(adj).item():.5f}")
idx_train, idx_test = torch.arange(0, n, 3), torch.arange(1, n, 3)
for name, model, matrix in (("gcn", GCN(6, 8, 2), adj), ("gat", GAT(6, 16, 4, 2), dense)):
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
    for epoch in range(6):
        model.train()
        optimizer.zero_grad()
        output = model(x, matrix)
        loss = F.nll_loss(output[idx_train], label[idx_train])
        loss.backward()
        optimizer.step()
        if epoch % 2:
            model.eval()
            with torch.no_grad():
                out = model(x, matrix)
                val = F.nll_loss(out[idx_test], label[idx_test])
                accuracy = (out[idx_test].argmax(-1) == label[idx_test]).float().mean()
            print(f"{name} {epoch} loss {loss.item():.5f} val {val.item():.5f} accuracy {accuracy.item():.3f}")
two_hops = torch.sparse.mm(adj, adj)
print(two_hops.is_sparse, f"{two_hops.to_dense().sum().item():.5f}", f"{(adj.to_sparse_csr() @ x).norm().item():.5f}")
