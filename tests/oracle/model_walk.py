"""A language model in float64 numpy, written from the formulas: what model_compare.py compares engine/model with.

The weights are those that the gguf package decodes from a GGUF file; no line of it knows how krt computes. Llama,
Gemma 3 and Qwen3, the architectures of the models that are compared.
"""

import math

import gguf
import numpy as np


def value(reader, key, otherwise=None):
    field = reader.get_field(key)
    return otherwise if field is None else field.contents()


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def silu(x):
    return x / (1 + np.exp(-x))


def gelu_tanh(x):
    return x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


class Walk:
    """read() returns the logits after the last `rows` ids of a text."""

    def __init__(self, path):
        reader = gguf.GGUFReader(path)
        self.arch = arch = value(reader, "general.architecture")
        assert arch in ("llama", "gemma3", "qwen3"), arch

        def key(name, otherwise=None):
            return value(reader, f"{arch}.{name}", otherwise)

        self.layers = key("block_count")
        self.width = key("embedding_length")
        self.heads = key("attention.head_count")
        self.kv_heads = key("attention.head_count_kv")
        self.dim = key("attention.key_length", self.width // self.heads)
        self.eps = float(key("attention.layer_norm_rms_epsilon"))
        self.theta = float(key("rope.freq_base", 10000.0))
        self.window = key("attention.sliding_window", 0) if arch == "gemma3" else 0
        self.w = {}
        self.all_f32 = all(t.tensor_type == gguf.GGMLQuantizationType.F32 for t in reader.tensors)
        for t in reader.tensors:
            values = gguf.quants.dequantize(t.data, t.tensor_type).astype(np.float64)
            self.w[t.name] = values.reshape([int(n) for n in reversed(t.shape)])
        self.vocab = self.w["token_embd.weight"].shape[0]

    def norm(self, x, name):
        if name not in self.w:
            return x
        return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + self.eps) * self.w[name]

    def local(self, layer):
        return self.arch == "gemma3" and (layer + 1) % 6 != 0

    def rotate(self, x, positions, layer):
        """x: [tokens, heads, dim]. Files of llama pair neighbours, the others halves."""
        theta = 10000.0 if self.local(layer) else self.theta
        angles = positions[:, None] * theta**(-2 * np.arange(self.dim // 2) / self.dim)
        if "rope_freqs.weight" in self.w:
            angles = angles / self.w["rope_freqs.weight"]
        cos, sin = np.cos(angles)[:, None, :], np.sin(angles)[:, None, :]
        first, second = (slice(0, None, 2), slice(1, None, 2)) if self.arch == "llama" else (
            slice(0, self.dim // 2), slice(self.dim // 2, None))
        out = np.empty_like(x)
        out[..., first] = x[..., first] * cos - x[..., second] * sin
        out[..., second] = x[..., second] * cos + x[..., first] * sin
        return out

    def attention(self, h, layer, positions):
        blk = f"blk.{layer}."

        def heads(name, count):
            return (h @ self.w[f"{blk}attn_{name}.weight"].T).reshape(len(h), count, self.dim)

        q = self.rotate(self.norm(heads("q", self.heads), blk + "attn_q_norm.weight"), positions, layer)
        k = self.rotate(self.norm(heads("k", self.kv_heads), blk + "attn_k_norm.weight"), positions, layer)
        v = heads("v", self.kv_heads)
        hidden = positions[None, :] > positions[:, None]
        if self.local(layer):
            hidden |= positions[None, :] <= positions[:, None] - self.window
        out = np.empty_like(q)
        for head in range(self.heads):
            kv = head // (self.heads // self.kv_heads)
            scores = q[:, head] @ k[:, kv].T / math.sqrt(self.dim)
            out[:, head] = softmax(np.where(hidden, -np.inf, scores)) @ v[:, kv]
        return out.reshape(len(h), -1) @ self.w[blk + "attn_output.weight"].T

    def feed_forward(self, h, layer):
        blk = f"blk.{layer}."
        act = gelu_tanh if self.arch == "gemma3" else silu
        gate, up = h @ self.w[blk + "ffn_gate.weight"].T, h @ self.w[blk + "ffn_up.weight"].T
        return (act(gate) * up) @ self.w[blk + "ffn_down.weight"].T

    def read(self, ids, rows):
        positions = np.arange(len(ids)).astype(np.float64)
        x = self.w["token_embd.weight"][ids]
        if self.arch == "gemma3":
            x = x * math.sqrt(self.width)
        for layer in range(self.layers):
            blk = f"blk.{layer}."
            h = self.attention(self.norm(x, blk + "attn_norm.weight"), layer, positions)
            x = x + self.norm(h, blk + "post_attention_norm.weight")
            h = self.feed_forward(self.norm(x, blk + "ffn_norm.weight"), layer)
            x = x + self.norm(h, blk + "post_ffw_norm.weight")
        last = self.norm(x[-rows:], "output_norm.weight")
        return last @ self.w.get("output.weight", self.w["token_embd.weight"]).T
