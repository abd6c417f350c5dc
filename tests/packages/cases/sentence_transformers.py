"""sentence-transformers: a model from its modules, embeddings, similarity, a loss."""

import tempfile

import torch


def embeddings():
    import tokenizers
    import transformers
    from sentence_transformers import SentenceTransformer, losses, models, util

    words = {w: i for i, w in enumerate(["[PAD]", "[UNK]", "good", "bad", "film", "a", "the"])}
    inner = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="[UNK]"))
    inner.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=inner, pad_token="[PAD]", unk_token="[UNK]")
    config = transformers.BertConfig(
        vocab_size=7, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16,
        hidden_dropout_prob=0, attention_probs_dropout_prob=0,
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        transformers.BertModel(config).save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        word = models.Transformer(folder, max_seq_length=16)
    pooling = models.Pooling(word.get_word_embedding_dimension(), "mean")
    model = SentenceTransformer(modules=[word, pooling, models.Normalize()], device="cpu")
    found = model.encode(["a good film", "the bad film a a"], convert_to_tensor=True)
    loss = losses.CosineSimilarityLoss(model)
    a, b = model.tokenize(["a film"]), model.tokenize(["the film"])
    value = loss([a, b], torch.tensor([0.5]))
    value.backward()
    return found, util.cos_sim(found, found), model.similarity(found, found), value
