"""What torch answers in float64 for decode.attention: scaled_dot_product_attention with a causal or sliding-window mask, and
for a soft cap the same steps written out. The inputs are f32 values."""

import torch
import torch.nn.functional as F

from fixture_file import write

SEED = 20270501
INF = float("inf")

# query heads, KV heads, head_dim, keys, rows, window, softcap, scale
SHAPES = [(1, 1, 8, 1, 1, 0, 0, 0), (4, 2, 16, 9, 9, 0, 0, 0), (3, 1, 10, 30, 4, 5, 0, 0.5), (2, 2, 8, 300, 2, 0, 0, 0),
          (4, 1, 8, 20, 3, 0, 2.0, 0), (2, 1, 8, 270, 2, 200, 30.0, 1.0)]


def values(*shape):
    """Multiples of 1/64: f32 exactly, and short in a file."""
    return (torch.randn(*shape, dtype=torch.float64) * 64).round() / 64


def mask(keys, rows, window):
    position = torch.arange(keys - rows, keys)[:, None]
    key = torch.arange(keys)[None, :]
    seen = key <= position
    if window:
        seen &= key > position - window
    return torch.zeros(rows, keys, dtype=torch.float64).masked_fill(~seen, -INF)


def attend(q, k, v, bias, scale, softcap):  # [head][row][dim]
    if not softcap:
        return F.scaled_dot_product_attention(q[None], k[None], v[None], attn_mask=bias, scale=scale, enable_gqa=True)[0]
    group = q.shape[0] // k.shape[0]
    scores = scale * q @ k.repeat_interleave(group, 0).transpose(-1, -2)
    return torch.softmax(softcap * torch.tanh(scores / softcap) + bias, -1) @ v.repeat_interleave(group, 0)


def cases():
    for q_heads, kv_heads, d, keys, rows, window, softcap, scale in SHAPES:
        q, k, v = values(rows, q_heads, d) * 2, values(keys, kv_heads, d), values(keys, kv_heads, d)
        heads = [x.transpose(0, 1) for x in (q, k, v)]
        out = attend(*heads, mask(keys, rows, window), scale or d ** -0.5, softcap)
        yield dict(name=f"heads {q_heads}/{kv_heads} d {d} {rows}x{keys} window {window} softcap {softcap} scale {scale}",
                   q_heads=q_heads, kv_heads=kv_heads, head_dim=d, keys=keys, rows=rows, window=window,
                   softcap=float(softcap), scale=float(scale), q=q, k=k, v=v, out=out.transpose(0, 1).contiguous())


if __name__ == "__main__":
    torch.manual_seed(SEED)
    write("decode_attention", SEED, f"torch {torch.__version__}", list(cases()))
