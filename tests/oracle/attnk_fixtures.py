"""What torch (scaled_dot_product_attention and its autograd) and transformers (rotary embeddings) answer in float64, for
the tests of modules/attnk."""

import itertools

import torch
import torch.nn.functional as F
import transformers
from transformers import LlamaConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding, apply_rotary_pos_emb

from fixture_file import write

SEED = 20261130
torch.manual_seed(SEED)
torch.set_default_dtype(torch.float64)
INF = float("inf")


def normal(*shape):
    """Large inputs are multiples of 1/64, which take a third of the room."""
    x = torch.randn(*shape)
    return x if x.numel() <= 64 else (x * 64).round() / 64


def heads_first(x):  # [tok][head][dim] to [1][head][tok][dim]
    return x.transpose(0, 1).unsqueeze(0)


def tokens_first(x):
    return x.squeeze(0).transpose(0, 1).contiguous()


def attend(q, k, v, scale, bias=None):
    return F.scaled_dot_product_attention(q, k, v, attn_mask=bias, scale=scale, enable_gqa=True)


def log_sum_exp(q, k, scale, bias):
    k = k.repeat_interleave(q.shape[1] // k.shape[1], dim=1)
    scores = scale * q @ k.transpose(-1, -2)
    return torch.logsumexp(scores if bias is None else scores + bias, dim=-1)


def causal(s_q, s_k, offset):
    seen = torch.arange(s_k)[None, :] <= torch.arange(s_q)[:, None] + offset
    return torch.zeros(s_q, s_k).masked_fill(~seen, -INF)


def window(s_q, s_k, width, offset):
    old = torch.arange(s_k)[None, :] <= torch.arange(s_q)[:, None] + offset - width
    return causal(s_q, s_k, offset).masked_fill(old, -INF)


def sdpa():
    shapes = [(1, 1, 1, 1, 1), (1, 7, 4, 2, 8), (5, 5, 2, 2, 3), (3, 40, 4, 2, 6), (4, 9, 8, 1, 5), (2, 33, 2, 1, 32)]
    for s_q, s_k, h_q, h_kv, d in shapes:
        offset = s_k - s_q
        biases = {"plain": None, "causal": causal(s_q, s_k, offset), "window3": window(s_q, s_k, 3, offset),
                  "early": causal(s_q, s_k, -1),  # the first query sees nothing
                  "alibi": causal(s_q, s_k, offset) - 0.25 * torch.arange(s_k)}
        for kind, bias in biases.items():
            q, k, v = normal(s_q, h_q, d), normal(s_k, h_kv, d), normal(s_k, h_kv, d)
            scale = d ** -0.5
            heads = heads_first(q), heads_first(k), heads_first(v)
            lse = log_sum_exp(heads[0], heads[1], scale, bias)
            yield dict(name=f"{kind} {s_q}x{s_k} heads {h_q}/{h_kv} d {d}", n_tok_q=s_q, n_tok_k=s_k, h_q=h_q,
                       h_kv=h_kv, d=d, scale=scale, use_bias=bias is not None, q=q, k=k, v=v,
                       bias=[] if bias is None else bias, out=tokens_first(attend(*heads, scale, bias)),
                       lse=lse.squeeze(0).transpose(0, 1).contiguous())


def backward():
    for s_q, s_k, h_q, h_kv, d in [(1, 1, 1, 1, 1), (1, 5, 2, 2, 4), (4, 6, 4, 2, 3), (7, 7, 3, 1, 8), (3, 20, 4, 2, 9)]:
        q, k, v = (normal(s_q, h_q, d).requires_grad_(), normal(s_k, h_kv, d).requires_grad_(),
                   normal(s_k, h_kv, d).requires_grad_())
        dout = normal(s_q, h_q, d)
        scale = d ** -0.5
        tokens_first(attend(heads_first(q), heads_first(k), heads_first(v), scale)).backward(dout)
        yield dict(name=f"{s_q}x{s_k} heads {h_q}/{h_kv} d {d}", n_tok_q=s_q, n_tok_k=s_k, h_q=h_q, h_kv=h_kv, d=d,
                   scale=scale, dout=dout, q=q, k=k, v=v, dq=q.grad, dk=k.grad, dv=v.grad)


def tiled():
    shapes = [(1, 1, 1, 1, 1, 1), (2, 4, 2, 5, 5, 3), (1, 6, 3, 3, 17, 8), (3, 2, 1, 6, 4, 5)]
    for (batch, h_q, h_kv, s_q, s_kv, d), is_causal in itertools.product(shapes, [False, True]):
        q, k, v = normal(batch, h_q, s_q, d), normal(batch, h_kv, s_kv, d), normal(batch, h_kv, s_kv, d)
        scale = d ** -0.5
        bias = causal(s_q, s_kv, s_kv - s_q) if is_causal else None
        logits = scale * q @ k.repeat_interleave(h_q // h_kv, dim=1).transpose(-1, -2)
        seen = logits if bias is None else logits[(bias == 0).expand_as(logits)]
        yield dict(name=f"{batch}x{h_q}/{h_kv} {s_q}x{s_kv} d {d} causal {is_causal}", batch=batch, h_q=h_q, h_kv=h_kv,
                   s_q=s_q, s_kv=s_kv, d=d, scale=scale, causal=is_causal, q=q, k=k, v=v,
                   out=attend(q, k, v, scale, bias), max_abs_logit=seen.abs().max().item())


def frequencies(head_dim, theta, llama3=None):
    """transformers' own code; it asks for torch.float, which is made to mean float64 while it runs."""
    parameters = dict(rope_theta=theta, rope_type="default") if llama3 is None else dict(
        rope_theta=theta, rope_type="llama3", factor=llama3[0], low_freq_factor=llama3[1], high_freq_factor=llama3[2],
        original_max_position_embeddings=int(llama3[3]))
    config = LlamaConfig(hidden_size=head_dim, num_attention_heads=1, head_dim=head_dim, rope_parameters=parameters)
    compute = LlamaRotaryEmbedding.compute_default_rope_parameters if llama3 is None else ROPE_INIT_FUNCTIONS["llama3"]
    torch.float = torch.float64
    try:
        return compute(config)[0]
    finally:
        torch.float = torch.float32


def turn_half(x, cos, sin):  # x [tok][head][dim], tables of the tokens' positions
    cos, sin = torch.cat((cos, cos), -1), torch.cat((sin, sin), -1)
    return apply_rotary_pos_emb(x, x, cos, sin, unsqueeze_dim=1)[0]


def turn_interleaved(x, cos, sin):  # as complex numbers: (a + bi) e^(i angle)
    pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2).contiguous())
    return torch.view_as_real(pairs * torch.complex(cos, sin)[:, None, :]).reshape(x.shape)


def rope():
    llama31 = (8.0, 1.0, 4.0, 8192.0)
    for head_dim, theta, llama3 in [(2, 10000.0, None), (8, 10000.0, None), (64, 500000.0, llama31),
                                    (128, 1000000.0, None), (128, 500000.0, (32.0, 1.0, 4.0, 8192.0))]:
        inv_freq = frequencies(head_dim, theta, llama3)
        assert inv_freq.dtype == torch.float64
        positions = torch.tensor([0, 1, 4, 4, 5, 3])
        angles = torch.arange(6.0, dtype=torch.float64)[:, None] * inv_freq
        cos, sin = angles.cos(), angles.sin()
        x = normal(len(positions), 3 if head_dim < 64 else 1, head_dim)
        case = dict(name=f"head_dim {head_dim} theta {theta} llama3 {llama3}", head_dim=head_dim, theta=theta,
                    max_pos=6, n_tok=len(positions), n_heads=x.shape[1], pos=positions, inv_freq=inv_freq,
                    cos=cos, sin=sin, x=x, half=turn_half(x, cos[positions], sin[positions]),
                    interleaved=turn_interleaved(x, cos[positions], sin[positions]))
        if llama3 is not None:
            case |= dict(factor=llama3[0], low=llama3[1], high=llama3[2], original=llama3[3])
        yield case


def masks():
    for s_q, s_k, offset in [(1, 1, 0), (3, 3, 0), (2, 5, 3), (5, 2, -3), (4, 6, -2), (3, 4, 10)]:
        yield dict(name=f"{s_q}x{s_k} offset {offset}", s_q=s_q, s_k=s_k, offset=offset,
                   causal=causal(s_q, s_k, offset), window=window(s_q, s_k, 2, offset))


if __name__ == "__main__":
    versions = f"torch {torch.__version__}, transformers {transformers.__version__}"
    for name, cases in dict(sdpa=sdpa, backward=backward, tiled=tiled, rope=rope, mask=masks).items():
        torch.manual_seed(SEED)
        write(f"attnk_{name}", SEED, versions, list(cases()))
