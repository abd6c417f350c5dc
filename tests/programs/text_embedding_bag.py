"""Text classification with EmbeddingBag: vocabulary, offsets in collate, random_split, accuracy, weights by TF-IDF."""

import re
from collections import Counter, OrderedDict

import torch
from torch import nn
from torch.utils.data import DataLoader, random_split

SPORT = "team match goal player coach wins season game ball league".split()
TECH = "software chip data network code server model web device cloud".split()
FOOD = "soup bread oven salt cook taste dinner sauce rice butter".split()
FILLER = "the a of and today new some with for in".split()


class Vocab:
    def __init__(self, counter, min_freq=1, specials=("<pad>", "<unk>")):
        ordered = OrderedDict(sorted(counter.items(), key=lambda kv: (-kv[1], kv[0])))
        self.itos = list(specials) + [t for t, n in ordered.items() if n >= min_freq]
        self.stoi = {t: i for i, t in enumerate(self.itos)}

    def __call__(self, tokens):
        return [self.stoi.get(t, 1) for t in tokens]

    def __len__(self):
        return len(self.itos)


def tokenizer(text):
    return re.findall(r"[a-z]+", text.lower())


class TextClassificationModel(nn.Module):
    def __init__(self, vocab_size, embed_dim, num_class, mode="mean"):
        super().__init__()
        self.embedding = nn.EmbeddingBag(vocab_size, embed_dim, sparse=False, mode=mode, padding_idx=0)
        self.fc = nn.Linear(embed_dim, num_class)
        self.init_weights()

    def init_weights(self):
        initrange = 0.5
        self.embedding.weight.data.uniform_(-initrange, initrange)
        self.fc.weight.data.uniform_(-initrange, initrange)
        self.fc.bias.data.zero_()

    def forward(self, text, offsets, weights=None):
        return self.fc(self.embedding(text, offsets, weights))


def collate_batch(batch):
    label_list, text_list, offsets = [], [], [0]
    for label, text in batch:
        label_list.append(label)
        processed = torch.tensor(vocab(tokenizer(text)), dtype=torch.int64)
        text_list.append(processed)
        offsets.append(processed.size(0))
    return (
        torch.tensor(label_list, dtype=torch.int64),
        torch.cat(text_list),
        torch.tensor(offsets[:-1]).cumsum(dim=0),
    )


torch.manual_seed(12)
texts = []
for i in range(90):
    topic = (SPORT, TECH, FOOD)[i % 3]
    chosen = [topic[j] for j in torch.randint(10, (3,)).tolist()] + [
        FILLER[j] for j in torch.randint(10, (4,)).tolist()
    ]
    texts.append((i % 3, " ".join(chosen[j] for j in torch.randperm(7).tolist()).capitalize() + "."))
counter = Counter()
for _, line in texts:
    counter.update(tokenizer(line))
vocab = Vocab(counter, min_freq=2)
print(len(vocab), vocab(["the", "unheard"]), counter.most_common(2))
train, valid, test = random_split(texts, [0.7, 0.15, 0.15])
print(len(train), len(valid), len(test))
loaders = [DataLoader(s, batch_size=16, shuffle=i == 0, collate_fn=collate_batch) for i, s in enumerate((train, valid))]
model = TextClassificationModel(len(vocab), 16, 3)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=5.0)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1.0, gamma=0.1)


def evaluate(dataloader):
    model.eval()
    total_acc, total_count = 0, 0
    with torch.no_grad():
        for label, text, offsets in dataloader:
            total_acc += (model(text, offsets).argmax(1) == label).sum().item()
            total_count += label.size(0)
    return total_acc / total_count


total_accu = None
for epoch in range(3):
    model.train()
    for label, text, offsets in loaders[0]:
        optimizer.zero_grad()
        loss = criterion(model(text, offsets), label)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        optimizer.step()
    accu = evaluate(loaders[1])
    if total_accu is not None and total_accu > accu:
        scheduler.step()
    else:
        total_accu = accu
    print(f"epoch {epoch} loss {loss.item():.5f} valid {accu:.3f} lr {scheduler.get_last_lr()[0]}")
idf = {t: float(torch.log(torch.tensor(len(texts) / (1 + n)))) for t, n in counter.items()}
ids = torch.tensor(vocab(tokenizer(texts[0][1])))
weights = torch.tensor([idf[t] for t in tokenizer(texts[0][1])], requires_grad=True)
weighted = TextClassificationModel(len(vocab), 16, 3, mode="sum")
weighted(ids, torch.tensor([0, 3]), weights).pow(2).sum().backward()
print([f"{v:.5f}" for v in weights.grad.tolist()], weighted.embedding.weight.grad.abs().sum(1).count_nonzero().item())
top = nn.EmbeddingBag.from_pretrained(torch.arange(12.0).view(4, 3), mode="max", freeze=True, include_last_offset=True)
print(top(torch.tensor([0, 3, 1, 2]), torch.tensor([0, 2, 2, 4])), top.weight.requires_grad, top)
padded = nn.utils.rnn.pad_sequence([ids, ids[:3]], batch_first=True)
print(torch.allclose(model.embedding(padded)[1], model.embedding.weight[ids[:3]].mean(0), atol=1e-6))
renorm = nn.Embedding(5, 3, max_norm=1.0, scale_grad_by_freq=True)
out = renorm(torch.tensor([1, 1, 4]))
out.sum().backward()
print([f"{v:.4f}" for v in out.norm(dim=1).tolist()], renorm.weight.grad.sum(1).tolist())
