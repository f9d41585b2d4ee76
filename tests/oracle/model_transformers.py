#!/usr/bin/env python3
"""model_transformers.py MODEL.gguf ... [--prompts N] [--tokens N]: transformers in float64 against the walk of
model_walk.py, which model_compare.py compares krt with: real weights, the prompts of model_compare.py, and the 48 tokens
that the fast loop continues each by. Llama and Gemma 3. Needs torch, transformers and gguf, on a CPU; a few minutes a
model. Exit status 1 where a token differs at a top-2 gap of 1e-6 or more, or a logit by more than 1e-9 of its row's
largest.
"""

import argparse
import math
import pathlib
import sys

import numpy as np
import torch

from model_compare import LIMITS, PROMPTS, ROOT, Form, Score, tokenize
from model_fixtures import MODELS, gguf_name  # makes float64 of transformers' float32
from model_walk import Walk


def rope(theta):
    return {"rope_type": "default", "rope_theta": theta}


def config_of(walk):
    options = {"vocab_size": walk.vocab, "hidden_size": walk.width, "num_hidden_layers": walk.layers,
               "intermediate_size": len(walk.w["blk.0.ffn_up.weight"]), "num_attention_heads": walk.heads,
               "num_key_value_heads": walk.kv_heads, "head_dim": walk.dim, "rms_norm_eps": walk.eps,
               "max_position_embeddings": 1024, "attn_implementation": "eager",
               "tie_word_embeddings": "output.weight" not in walk.w, "rope_parameters": rope(walk.theta)}
    if walk.arch == "gemma3":
        kinds = ["sliding_attention" if walk.local(layer) else "full_attention" for layer in range(walk.layers)]
        options |= {"layer_types": kinds, "sliding_window": walk.window, "query_pre_attn_scalar": walk.dim,
                    "rope_parameters": {"full_attention": rope(walk.theta), "sliding_attention": rope(10000.0)}}
    return MODELS[walk.arch][0](**options)


def to_halves(rows, heads):
    """Rows of a head from pairs of neighbours, as files of llama have them, to pairs of halves."""
    return rows.reshape(heads, -1, 2, *rows.shape[1:]).swapaxes(1, 2).reshape(rows.shape)


def network(walk):
    config = config_of(walk)
    model = MODELS[walk.arch][1](config).eval()
    for name, parameter in model.named_parameters():
        target = gguf_name(walk.arch, name)
        values = walk.w[target]
        if walk.arch == "gemma3" and "norm" in name:
            values = values - 1.0  # transformers adds it
        if walk.arch == "llama" and (".attn_q." in target or ".attn_k." in target):
            values = to_halves(values, walk.heads if ".attn_q." in target else walk.kv_heads)
        assert parameter.shape == values.shape, name
        parameter.data = torch.tensor(values)
    if config.tie_word_embeddings:
        model.lm_head.weight = model.model.embed_tokens.weight
    if walk.arch == "gemma3":
        model.model.embed_tokens.embed_scale = torch.tensor(math.sqrt(walk.width))
    return model


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", type=pathlib.Path)
    parser.add_argument("--prompts", type=int, default=len(PROMPTS))
    parser.add_argument("--tokens", type=int, default=48)
    parser.add_argument("--programs", type=pathlib.Path, default=ROOT / "build/release/bin")
    options = parser.parse_args()
    fine = True
    for path in options.models:
        walk = Walk(path)
        model = network(walk)
        writer = Form("f32", [options.programs / "model_logits", path, "f32"], walk.vocab, LIMITS["f32"])
        theirs = Score("transformers", LIMITS["reference"])
        for prompt in tokenize(options.programs / "krt", path)[:options.prompts]:
            ids = prompt + [int(row.argmax()) for row in writer.ask("write", options.tokens, prompt)[:-1]]
            with torch.no_grad():
                got = model(torch.tensor(ids)[None], use_cache=False, logits_to_keep=options.tokens).logits[0].numpy()
            assert got.dtype == np.float64
            theirs.compare(got, walk.read(ids, options.tokens))
        print(path.name, end=": ")
        fine = theirs.report() and fine
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
