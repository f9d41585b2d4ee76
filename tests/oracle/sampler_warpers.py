"""What transformers keeps: the survivors of its own chain of logits processors, built by its own generate().

The options carry decode.sample's names. Presence and frequency penalties are not transformers'; they are applied where
decode.sample applies them, after the repetition penalty, by the formula of its contract.
"""

import types
import warnings

import torch
from transformers import GenerationConfig
from transformers.generation.utils import GenerationMixin

OFF = {"temperature": 1.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0, "typical_p": 1.0, "epsilon_cutoff": 0.0,
       "eta_cutoff": 0.0, "top_h": 0.0, "min_tokens_to_keep": 1, "repetition_penalty": 1.0, "presence_penalty": 0.0,
       "frequency_penalty": 0.0, "exact_top_k": False}
# GenerationConfig's way of saying that a filter is off, where it is not the value above.
NONE_IS_OFF = {"min_p", "top_h"}


class Dummy(GenerationMixin):
    config = types.SimpleNamespace(is_encoder_decoder=False)


class CountPenalties:
    def __init__(self, presence, frequency):
        self.presence, self.frequency = presence, frequency

    def __call__(self, ids, scores):
        times = torch.bincount(ids[0], minlength=scores.shape[-1]).double()[None]
        lower = scores.double() - (self.frequency * times + self.presence * (times > 0))
        return lower.to(scores.dtype)


def chain(options):
    """Transformers' processors in its order: those up to the temperature, and the filters behind them."""
    o = {**OFF, **options}
    keep = o["min_tokens_to_keep"]
    named = {k: o[k] for k in ("temperature", "top_k", "top_p", "min_p", "typical_p", "epsilon_cutoff", "eta_cutoff",
                               "top_h", "repetition_penalty")}
    named = {k: v if k not in NONE_IS_OFF or v != OFF[k] else None for k, v in named.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        config = GenerationConfig(do_sample=True, **named)
        config._eos_token_tensor = None
        processors = list(Dummy()._get_logits_processor(config, input_ids_seq_length=1))
    for p in processors:
        if hasattr(p, "min_tokens_to_keep"):
            p.min_tokens_to_keep = keep
        if hasattr(p, "top_k"):
            p.top_k = max(p.top_k, keep)
    if o["presence_penalty"] or o["frequency_penalty"]:
        processors.insert(1 if o["repetition_penalty"] != 1 else 0,
                          CountPenalties(o["presence_penalty"], o["frequency_penalty"]))
    scaling = [p for p in processors if type(p).__name__.startswith(("Repetition", "Count", "Temperature"))]
    return scaling, processors[len(scaling):]


def apply(processors, scores, history):
    """`scores`: a tensor of one row."""
    scores, ids = scores[None], torch.tensor([list(history)], dtype=torch.long)
    for p in processors:
        if isinstance(getattr(p, "epsilon", None), torch.Tensor):  # eta's tensor must have the scores' type
            p.epsilon = p.epsilon.to(scores.dtype)
        scores = p(ids, scores)
    return scores[0]
