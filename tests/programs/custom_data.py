"""Datasets of one's own: collate_fn, Sampler, batch sampler, IterableDataset, ConcatDataset, WeightedRandomSampler,
default collate."""

import random
from collections import Counter

import torch
from torch.utils.data import (
    BatchSampler,
    ConcatDataset,
    DataLoader,
    Dataset,
    IterableDataset,
    RandomSampler,
    Sampler,
    Subset,
    WeightedRandomSampler,
)

torch.manual_seed(4)
random.seed(4)


class Sentences(Dataset):
    def __init__(self, n):
        self.items = [torch.randint(1, 30, (random.randint(2, 9),)) for _ in range(n)]

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        s = self.items[index]
        return s, int(s.sum() % 2)


def collate(batch):
    batch.sort(key=lambda p: len(p[0]), reverse=True)
    seqs, labels = zip(*batch)
    return (
        torch.nn.utils.rnn.pad_sequence(seqs, batch_first=True),
        torch.tensor([len(s) for s in seqs]),
        torch.tensor(labels),
    )


class BucketSampler(Sampler):
    def __init__(self, lengths, batch_size):
        self.lengths, self.batch_size = lengths, batch_size

    def __iter__(self):
        order = sorted(range(len(self.lengths)), key=lambda i: self.lengths[i])
        buckets = [order[i : i + self.batch_size] for i in range(0, len(order), self.batch_size)]
        for k in torch.randperm(len(buckets)).tolist():
            yield buckets[k]

    def __len__(self):
        return (len(self.lengths) + self.batch_size - 1) // self.batch_size


class Stream(IterableDataset):
    def __init__(self, start, end):
        self.start, self.end = start, end

    def __iter__(self):
        info = torch.utils.data.get_worker_info()
        assert info is None
        return iter(range(self.start, self.end))


ds = Sentences(20)
for seqs, lengths, labels in DataLoader(
    ds, batch_sampler=BucketSampler([len(s) for s, _ in ds], 6), collate_fn=collate
):
    print(tuple(seqs.shape), lengths.tolist(), labels.tolist(), seqs.sum().item())
both = ConcatDataset([ds, Subset(Sentences(10), range(0, 10, 2))])
print(len(both), both[22][0].tolist())
weights = [3.0 if label else 1.0 for _, label in ds]
sampler = WeightedRandomSampler(weights, 40, replacement=True)
print(sorted(Counter(ds[i][1] for i in sampler).items()))
print([b for b in DataLoader(Stream(3, 12), batch_size=4)])
print(list(BatchSampler(RandomSampler(range(7), generator=torch.Generator().manual_seed(9)), 3, drop_last=True)))


class Mixed(Dataset):
    def __len__(self):
        return 5

    def __getitem__(self, i):
        return {"x": torch.full((2,), float(i)), "name": f"item{i}", "pair": (i, i / 2), "flag": i % 2 == 0}


for b in DataLoader(Mixed(), batch_size=2, shuffle=True, generator=torch.Generator().manual_seed(3)):
    print(b)
train, test = torch.utils.data.random_split(ds, [15, 5], generator=torch.Generator().manual_seed(1))
print(train.indices, test.indices)
