#!/usr/bin/env python3
"""Writes the seeds of gguf_fuzzer: small files of every metadata type, of every tensor format, and of models.

They are committed; needs numpy and the `gguf` package (0.19)."""
import pathlib

import gguf
import numpy as np

OUT = pathlib.Path(__file__).parent / "seeds/gguf_fuzzer"
KINDS = gguf.GGUFValueType
TYPES = gguf.GGMLQuantizationType


def write(name, architecture, fill):
    out = gguf.GGUFWriter(OUT / name, architecture)
    fill(out)
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()


def every_kind(out):
    for kind in KINDS:
        if kind not in (KINDS.ARRAY, KINDS.STRING):
            out.add_key_value(f"k.{kind.name}", 1, kind)
            out.add_array(f"a.{kind.name}", [True, False] if kind == KINDS.BOOL else [1, 2])
    out.add_array("texts", ["", "a", "\u00e9"])
    out.add_array("nested", [[1, 2], [3]])


def every_format(out):
    rng = np.random.default_rng(20261130)
    for kind, (_, size) in gguf.GGML_QUANT_SIZES.items():
        if kind.name not in ("Q8_1", "Q8_K", "Q1_0"):  # which krt does not decode
            out.add_tensor(kind.name, rng.integers(0, 64, (1, size), dtype=np.uint8), raw_dtype=kind)


def model(kind, width, heads, ff, vocab, norms):
    def fill(out):
        out.add_name("seed")
        out.add_context_length(16)
        out.add_embedding_length(width)
        out.add_block_count(1)
        out.add_feed_forward_length(ff)
        out.add_head_count(heads)
        out.add_head_count_kv(1)
        out.add_key_length(width // heads)
        out.add_value_length(width // heads)
        out.add_rope_freq_base(10000.0)
        out.add_layer_norm_rms_eps(1e-6)
        out.add_tokenizer_model("gpt2")
        out.add_tokenizer_pre("qwen2")
        out.add_token_list(["a", "b", "ab", "<|im_end|>"] + [f"t{i}" for i in range(vocab - 4)])
        out.add_token_types([1, 1, 1, 3] + [1] * (vocab - 4))
        out.add_token_merges(["a b"])
        out.add_eos_token_id(3)
        out.add_chat_template("<|im_start|><|im_end|>")
        kv = width // heads
        shapes = {"token_embd": (vocab, width), "output_norm": (width,), "blk.0.attn_norm": (width,),
                  "blk.0.attn_q": (width, width), "blk.0.attn_k": (kv, width), "blk.0.attn_v": (kv, width),
                  "blk.0.attn_output": (width, width), "blk.0.ffn_norm": (width,), "blk.0.ffn_gate": (ff, width),
                  "blk.0.ffn_up": (ff, width), "blk.0.ffn_down": (width, ff),
                  **{f"blk.0.{name}": (kv,) for name in norms}}
        for name, shape in shapes.items():
            values = np.linspace(-1, 1, int(np.prod(shape)), dtype=np.float32).reshape(shape)
            type = kind if len(shape) == 2 else TYPES.F32
            out.add_tensor(f"{name}.weight", gguf.quants.quantize(values, type), raw_dtype=type)
    return fill


OUT.mkdir(parents=True, exist_ok=True)
write("kinds", "none", every_kind)
write("formats", "none", every_format)
write("llama", "llama", model(TYPES.F16, 8, 2, 8, 8, []))
write("qwen3", "qwen3", model(TYPES.Q4_0, 32, 2, 32, 8, ["attn_q_norm", "attn_k_norm"]))
for path in sorted(OUT.iterdir()):
    print(path.name, path.stat().st_size)
