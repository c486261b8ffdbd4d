"""Inputs of the demo's two models."""

import numpy as np

# The model package has no vocabulary, so each sentence is stored with its BERT (uncased) token ids.
SENTENCES = (
    # [CLS] the quick brown fox jumps over the lazy dog [SEP]
    ("The quick brown fox jumps over the lazy dog",
     (101, 1996, 4248, 2829, 4419, 14523, 2058, 1996, 13971, 3899, 102)),
    # [CLS] a fat file holds one set of weights and a program for every chip . [SEP]
    ("A fat file holds one set of weights and a program for every chip.",
     (101, 1037, 6638, 5371, 4324, 2028, 2275, 1997, 15871, 1998, 1037, 2565, 2005, 2296, 9090, 1012, 102)),
    # [CLS] eight sessions read the same pages of memory . [SEP]
    ("Eight sessions read the same pages of memory.",
     (101, 2809, 6521, 3191, 1996, 2168, 5530, 1997, 3638, 1012, 102)),
)


def minilm(number):
    """Returns input name -> array, in the order of the model's inputs."""
    ids = np.array([SENTENCES[number % len(SENTENCES)][1]], dtype=np.int64)
    return {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}


def transformer(number):
    return {"hidden": np.random.default_rng(number).standard_normal((1, 16, 1024), dtype=np.float32)}


FEEDS = {"minilm": minilm, "transformer": transformer}
