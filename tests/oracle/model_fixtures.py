"""Small models of every architecture that engine/model runs, with random weights: GGUF files, and the logits of
transformers in float64. Needs torch, transformers and gguf, on a CPU.

transformers computes angles, norms and softmax in float32 whatever the model's dtype. Here float32 means float64 while
a network is built and run, so that its answer is exact to float64.
"""

import importlib.metadata
import math
import pathlib

import gguf
import numpy as np
import torch
import transformers
from transformers import (Gemma3ForCausalLM, Gemma3TextConfig, LlamaConfig, LlamaForCausalLM, Qwen2Config,
                          Qwen2ForCausalLM, Qwen3Config, Qwen3ForCausalLM)

from fixture_file import DATA, write

SEED = 20261201
VOCAB, WIDTH, HEAD_DIM, FF, TOKENS = 48, 24, 8, 40, 12
rng = np.random.default_rng(SEED)
torch.float32 = torch.float = torch.float64
torch.Tensor.float = torch.Tensor.double
torch.set_default_dtype(torch.float64)
MODELS = {"llama": (LlamaConfig, LlamaForCausalLM), "qwen2": (Qwen2Config, Qwen2ForCausalLM),
          "qwen3": (Qwen3Config, Qwen3ForCausalLM), "gemma3": (Gemma3TextConfig, Gemma3ForCausalLM)}
NAMES = {"input_layernorm": "attn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k",
         "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output", "self_attn.q_norm": "attn_q_norm",
         "self_attn.k_norm": "attn_k_norm", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
         "mlp.down_proj": "ffn_down"}
NORMS = {"gemma3": {"post_attention_layernorm": "post_attention_norm", "pre_feedforward_layernorm": "ffn_norm",
                    "post_feedforward_layernorm": "post_ffw_norm"}}
LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 128}


def f32(x):
    return float(np.float32(x))


def gguf_name(architecture, name):
    """transformers' name of a parameter in a GGUF file."""
    name = name.removeprefix("model.")
    if not name.startswith("layers."):
        return {"embed_tokens.weight": "token_embd.weight", "norm.weight": "output_norm.weight",
                "lm_head.weight": "output.weight"}[name]
    _, layer, rest = name.split(".", 2)
    module, kind = rest.rsplit(".", 1)
    names = NAMES | NORMS.get(architecture, {"post_attention_layernorm": "ffn_norm"})
    return f"blk.{layer}.{names[module]}.{kind}"


def to_neighbours(rows, heads):
    """Rows of a head from pairs of halves to pairs of neighbours, as files of llama have them."""
    return rows.reshape(heads, 2, -1, *rows.shape[1:]).swapaxes(1, 2).reshape(rows.shape)


def llama3_factors(inv_freq, scaled):
    """What inv_freq is divided by, as the file's float32 holds it."""
    return (inv_freq / scaled).numpy().astype(np.float32)


def fill(architecture, model):
    """Random parameters that a float32 holds; norms around one. Gemma's norms add the one themselves."""
    for name, parameter in model.named_parameters():
        scale = 0.1 if parameter.ndim == 1 else 1 / math.sqrt(parameter.shape[1])
        values = rng.standard_normal(parameter.shape) * scale
        if "norm" in name:
            values = np.float32(1 + values) - (1.0 if architecture == "gemma3" else 0.0)
        else:
            values = np.float32(values)
        parameter.data = torch.tensor(values, dtype=torch.float64)


def write_tensors(out, architecture, config, model):
    done = set()
    for name, parameter in model.named_parameters():
        values = parameter.detach().numpy()
        target = gguf_name(architecture, name)
        if "norm" in name and architecture == "gemma3":
            values = values + 1.0
        if architecture == "llama" and ".attn_q." in target:
            values = to_neighbours(values, config.num_attention_heads)
        if architecture == "llama" and ".attn_k." in target:
            values = to_neighbours(values, config.num_key_value_heads)
        exact = values.astype(np.float32)
        assert np.array_equal(exact.astype(np.float64), values) and target not in done
        done.add(target)
        out.add_tensor(target, exact)


def write_gguf(path, architecture, config, model, factors):
    out = gguf.GGUFWriter(path, architecture)
    out.add_block_count(config.num_hidden_layers)
    out.add_context_length(config.max_position_embeddings)
    out.add_embedding_length(config.hidden_size)
    out.add_feed_forward_length(config.intermediate_size)
    out.add_head_count(config.num_attention_heads)
    out.add_head_count_kv(config.num_key_value_heads)
    out.add_layer_norm_rms_eps(config.rms_norm_eps)
    out.add_key_length(config.head_dim)
    out.add_value_length(config.head_dim)
    rope = config.rope_parameters
    globally = rope.get("full_attention", rope)
    out.add_rope_freq_base(globally["rope_theta"])
    if globally["rope_type"] == "linear":
        out.add_rope_scaling_type(gguf.RopeScalingType.LINEAR)
        out.add_rope_scaling_factor(globally["factor"])
    if factors is not None:
        out.add_tensor("rope_freqs.weight", factors)
    if architecture == "gemma3":
        out.add_sliding_window(config.sliding_window)
        out.add_uint32("gemma3.attention.sliding_window_pattern", config.layer_types.index("full_attention") + 1)
    write_tensors(out, architecture, config, model)
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()


def build(architecture, options):
    config_class, model_class = MODELS[architecture]
    common = {"vocab_size": VOCAB, "hidden_size": WIDTH, "intermediate_size": FF, "num_hidden_layers": 2,
              "head_dim": HEAD_DIM, "max_position_embeddings": 64, "rms_norm_eps": f32(1e-6),
              "attn_implementation": "eager", "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
    config = config_class(**(common | options))
    config.head_dim = HEAD_DIM
    model = model_class(config).eval()
    fill(architecture, model)
    if config.tie_word_embeddings:
        model.lm_head.weight = model.model.embed_tokens.weight
    if architecture == "gemma3":
        model.model.embed_tokens.embed_scale = torch.tensor(math.sqrt(WIDTH))
    factors = None
    rotary = model.model.rotary_emb
    if architecture == "llama" and config.rope_parameters["rope_type"] == "llama3":
        plain = 1 / config.rope_parameters["rope_theta"]**(torch.arange(0, HEAD_DIM, 2, dtype=torch.float64) / HEAD_DIM)
        factors = llama3_factors(plain, rotary.inv_freq)
        assert len(set(factors)) > 2  # kept, divided and blended frequencies
        rotary.inv_freq = plain / torch.tensor(factors, dtype=torch.float64)
    return config, model, factors


CASES = [
    ("llama", "gqa", {"num_attention_heads": 4, "num_key_value_heads": 2, "tie_word_embeddings": False}),
    ("llama", "llama3_rope_tied", {"num_attention_heads": 3, "num_key_value_heads": 1, "tie_word_embeddings": True,
                                   "max_position_embeddings": 256, "rope_parameters": LLAMA3 | {"rope_theta": 10000.0}}),
    ("qwen2", "bias_tied", {"num_attention_heads": 3, "num_key_value_heads": 1, "tie_word_embeddings": True,
                            "rope_parameters": {"rope_type": "default", "rope_theta": 1000000.0}}),
    ("qwen2", "linear_rope", {"num_attention_heads": 4, "num_key_value_heads": 4, "tie_word_embeddings": False,
                              "rope_parameters": {"rope_type": "linear", "rope_theta": 10000.0, "factor": 4.0}}),
    ("qwen3", "qk_norm", {"num_attention_heads": 4, "num_key_value_heads": 2, "tie_word_embeddings": False}),
    ("qwen3", "mqa_tied", {"num_attention_heads": 4, "num_key_value_heads": 1, "tie_word_embeddings": True}),
    ("gemma3", "window", {"num_attention_heads": 4, "num_key_value_heads": 1, "sliding_window": 5,
                          "num_hidden_layers": 3, "query_pre_attn_scalar": HEAD_DIM,
                          "layer_types": ["sliding_attention", "sliding_attention", "full_attention"]}),
    ("gemma3", "linear_global_rope", {"num_attention_heads": 2, "num_key_value_heads": 2, "sliding_window": 3,
                                      "query_pre_attn_scalar": HEAD_DIM,
                                      "layer_types": ["sliding_attention", "full_attention"],
                                      "rope_parameters": {
                                          "full_attention": {"rope_type": "linear", "factor": 8.0,
                                                             "rope_theta": 1000000.0},
                                          "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0}}}),
]

if __name__ == "__main__":
    folder = DATA / "model"
    folder.mkdir(exist_ok=True)
    cases = []
    for architecture, kind, options in CASES:
        name = f"{architecture}_{kind}"
        config, model, factors = build(architecture, options)
        write_gguf(folder / f"{name}.gguf", architecture, config, model, factors)
        ids = rng.integers(0, VOCAB, TOKENS)
        with torch.no_grad():
            logits = model(torch.tensor(ids)[None], use_cache=False).logits[0]
        assert logits.dtype == torch.float64
        cases.append({"name": name, "file": f"model/{name}.gguf", "ids": ids, "vocab": VOCAB, "logits": logits})
    write("model", SEED, f"torch {torch.__version__.split('+')[0]}, transformers {transformers.__version__}, "
          f"gguf {importlib.metadata.version('gguf')}", cases)
