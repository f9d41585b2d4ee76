"""What the models of data/shakespeare write after some prompts: greedy, in float64 from the decoded weights.

Needs numpy, gguf and tokenizers, and what shakespeare_train.py needs to be imported.
"""

import importlib.metadata

import gguf
import numpy as np
from tokenizers import models

from fixture_file import DATA, write
from model_walk import Walk, value
from shakespeare_train import byte_level

PROMPTS = ["1", "My lord, I will", "Good night, good", "The queen is", "HAMLET.\n"]
TOKENS = 48


def tokenizer_of(path):
    reader = gguf.GGUFReader(path)
    tokens, merges = value(reader, "tokenizer.ggml.tokens"), value(reader, "tokenizer.ggml.merges")
    return byte_level(models.BPE({t: i for i, t in enumerate(tokens)}, [tuple(m.split(" ")) for m in merges]))


def greedy(walk, ids):
    written, gaps = [], []
    while len(written) < TOKENS:
        logits = walk.read(ids + written, rows=1)[0]
        second, first = np.argsort(logits)[-2:]
        written.append(int(first))
        gaps.append(float(logits[first] - logits[second]))
    return written, gaps


def main():
    cases = []
    for kind in ("f16", "q8_0", "q4_0"):
        path = DATA / "shakespeare" / f"{kind}.gguf"
        tokenizer, walk = tokenizer_of(path), Walk(path)
        for prompt in PROMPTS:
            prompt_ids = tokenizer.encode(prompt).ids
            ids, gaps = greedy(walk, prompt_ids)
            cases.append({"name": f"{kind} {prompt!r}", "kind": kind, "prompt": prompt, "prompt_ids": prompt_ids,
                          "ids": ids, "gaps": gaps, "text": tokenizer.decode(ids)})
            print(f"{kind}: {prompt}|{cases[-1]['text']}\n")
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in ("numpy", "gguf", "tokenizers"))
    write("shakespeare", 0, versions, cases)


main()
