"""Machine learning without layers: PCA three ways, k-means, nearest neighbours, ROC, ridge, decision stumps, DTW."""

import torch

torch.manual_seed(51)
centers = torch.tensor([[0.0, 0.0, 0.0, 3.0], [4.0, 1.0, 0.0, 0.0], [0.0, 4.0, 3.0, 0.0]])
y = torch.randint(3, (90,))
X = centers[y] + torch.randn(90, 4)

centered = X - X.mean(0)
U, S, Vh = torch.linalg.svd(centered, full_matrices=False)
explained = S.square() / S.square().sum()
values = torch.linalg.eigvalsh(torch.cov(X.T)).flip(0)
low_u, low_s, low_v = torch.pca_lowrank(X, q=4, niter=3)
print("explained", [f"{v:.5f}" for v in explained.tolist()])
print(torch.allclose(values, S**2 / 89, rtol=1e-3), torch.allclose(low_s, S, rtol=1e-3), tuple(low_v.shape))
scores = (centered @ Vh[:2].T).abs()
whitened = centered @ torch.linalg.inv(torch.linalg.cholesky(torch.cov(X.T))).T
print(
    f"{scores.sum().item():.4f}",
    torch.allclose(torch.cov(whitened.T), torch.eye(4), atol=1e-4),
    torch.corrcoef(X.T)[0, 1],
)


def kmeans(X, k, iterations=8):
    C = X[:k].clone()
    for _ in range(iterations):
        assign = torch.cdist(X, C).argmin(1)
        sums = torch.zeros_like(C).index_add_(0, assign, X)
        counts = torch.bincount(assign, minlength=k).clamp(min=1)
        C = sums / counts.unsqueeze(1)
    return C, assign


C, assign = kmeans(X, 3)
table = torch.zeros(3, 3, dtype=torch.long).index_put_((y, assign), torch.tensor(1), accumulate=True)
print("k-means", table.tolist(), f"{(X - C[assign]).square().sum().item():.4f}")
purity = table.amax(0).sum().div(len(X)).item()
means = torch.zeros(3, 4).scatter_reduce_(0, y[:, None].expand(-1, 4), X, reduce="mean", include_self=False)
print(f"purity {purity:.4f}", [f"{v:.4f}" for v in means.sum(1).tolist()])

train, test = X[:60], X[60:]
dist = torch.cdist(test, train, p=1)
near = dist.topk(5, largest=False).indices
vote = torch.mode(y[:60][near], dim=1).values
onehot = torch.nn.functional.one_hot(y[:60], 3).float()
soft = (torch.softmax(-dist, 1) @ onehot).argmax(1)
print("knn", (vote == y[60:]).float().mean(), (soft == y[60:]).sum(), near.sort(1).values[0].tolist())

score = X @ torch.tensor([1.0, -0.5, 0.2, -1.0])
positive = (y == 1).float()
order = torch.argsort(score, descending=True, stable=True)
tpr = positive[order].cumsum(0) / positive.sum()
fpr = (1 - positive[order]).cumsum(0) / (1 - positive).sum()
print(f"auc {torch.trapezoid(tpr, fpr).item():.6f}", f"best {(tpr - fpr).max().item():.5f}")
precision = positive[order].cumsum(0) / torch.arange(1, 91)
print(f"average precision {(precision * positive[order]).sum().item() / positive.sum().item():.6f}")
probabilities = score.sigmoid()
bins = torch.bucketize(probabilities, torch.linspace(0, 1, 6)[1:-1])
hist = torch.histogram(probabilities, bins=5, range=(0.0, 1.0))
print(bins.bincount(minlength=5).tolist(), hist.hist.tolist(), torch.histc(probabilities, 5, 0, 1).tolist())
print(torch.quantile(score, torch.tensor([0.1, 0.5, 0.9])), score.median(), torch.nanmedian(score / 0).isnan())

A = torch.cat([X[:, :3], torch.ones(90, 1)], 1)
ridge = torch.linalg.solve(A.T @ A + 0.1 * torch.eye(4), A.T @ X[:, 3])
lasso = torch.zeros(4)
step = 1 / torch.linalg.matrix_norm(A, 2) ** 2
for _ in range(60):
    lasso = torch.nn.functional.softshrink(lasso - step * (A.T @ (A @ lasso - X[:, 3])), 0.01)
print("ridge", [f"{v:.5f}" for v in ridge.tolist()], "lasso", [f"{v:.4f}" for v in lasso.tolist()])
weights = torch.full((90,), 1 / 90)
label, votes = positive * 2 - 1, torch.zeros(90)
for r in range(4):
    thresholds = X.sort(0).values[::6]
    sides = torch.sign(X.unsqueeze(0) - thresholds.unsqueeze(1) + 1e-6)
    errors = (weights[:, None] * (sides != label[:, None])).sum(1)
    best = int(errors.argmin())
    t, f = divmod(best, 4)
    alpha = 0.5 * torch.log((1 - errors[t, f]) / errors[t, f])
    votes += alpha * sides[t, :, f]
    weights = torch.nn.functional.normalize(weights * torch.exp(-alpha * label * sides[t, :, f]), p=1, dim=0)
    print(f"stump {r} feature {f} alpha {alpha.item():.5f} error {(votes.sign() != label).float().mean().item():.4f}")
log_prior = torch.bincount(y[:60]).float().div(60).log()
mu = torch.stack([train[y[:60] == c].mean(0) for c in range(3)])
var = torch.stack([train[y[:60] == c].var(0) for c in range(3)])
joint = log_prior - 0.5 * (((test[:, None] - mu) ** 2 / var) + var.log()).sum(-1)
print(
    f"naive bayes {(joint.argmax(1) == y[60:]).float().mean().item():.4f} {torch.logsumexp(joint, 1).mean().item():.5f}"
)
a, b = torch.sin(torch.arange(8) * 0.7), torch.sin(torch.arange(10) * 0.55)
cost = (a[:, None] - b[None]).abs()
D = torch.full((9, 11), float("inf"))
D[0, 0] = 0
for i in range(1, 9):
    for j in range(1, 11):
        D[i, j] = cost[i - 1, j - 1] + torch.min(torch.stack([D[i - 1, j], D[i, j - 1], D[i - 1, j - 1]]))
print(
    f"dtw {D[-1, -1].item():.6f}",
    torch.combinations(torch.arange(4), 2).tolist(),
    torch.cartesian_prod(torch.arange(2), torch.arange(2)).tolist(),
)
print(
    torch.searchsorted(torch.tensor([1, 3, 5]), torch.tensor([0, 3, 6]), right=True),
    torch.tril_indices(3, 3, -1).tolist(),
)
uniq, inverse, counts = torch.unique(
    torch.tensor([[1, 2], [3, 4], [1, 2]]), dim=0, return_inverse=True, return_counts=True
)
print(
    uniq.tolist(),
    inverse.tolist(),
    counts.tolist(),
    torch.isin(torch.arange(4), torch.tensor([1, 3])),
    torch.vander(torch.arange(1, 4)),
)
