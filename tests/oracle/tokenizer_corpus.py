"""The corpus of tokenizer_compare.py and tokenizer_fixtures.py: real text in six scripts from Debian's manual pages and
texts made from a seed, each of a kind that has broken a tokenizer: emoji sequences, combining marks, right-to-left text,
control characters, runs of digits and of white space, contractions, code, special tokens, and ill-formed UTF-8.

A text is bytes. Debian: manpages-ja, manpages-zh, manpages-ru, manpages-de; what is not installed is left out and said.
"""
import glob
import gzip
import random
import re
import sys
import unicodedata

SEED = 20261130
LANGUAGES = ["ja", "zh_CN", "zh_TW", "ru", "de", "fr", "ko", "pl"]
MARKUP = re.compile(r"\\f[A-Z(]|\\[-&|^]|^[.'][A-Za-z\\]\S*\s*")


def manual_lines(language, count, rng):
    """Lines of prose from installed manual pages, without roff's markup."""
    lines = []
    for path in sorted(glob.glob(f"/usr/share/man/{language}/man*/*.gz")):
        with gzip.open(path, "rt", encoding="utf-8", errors="replace") as page:
            for line in page:
                line = MARKUP.sub("", line.rstrip("\n"))
                if len(line) > 8:
                    lines.append(line)
    rng.shuffle(lines)
    if not lines:
        print(f"no manual pages in {language} here", file=sys.stderr)
    return lines[:count]


def assigned():
    """Every code point that a character has been given to, as far as this Python knows."""
    return [chr(c) for c in range(0x110000) if unicodedata.category(chr(c)) not in ("Cn", "Cs", "Co")]


EMOJI = ["😀", "👍🏽", "👩‍👩‍👧‍👦", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "🇩🇪", "🇯🇵🇫🇷", "❤️", "1️⃣", "🧑🏿‍🚀", "☺", "🏳️‍🌈", "✅", "🤷‍♀️", "👨‍💻"]
WORDS = ["don't", "WE'RE", "I'LL", "it'ſ", "they'Ve", "O'Reilly", "y'all'd've", "’tis", "'S", "naïve", "Straße", "Ǆungla", "ﬁn",
         "x_1", "foo(bar)", "a->b;", "/* c */", "#include <x>", "{\"k\": [1, 2.5e-3]}", "http://a.b/c?d=e&f", "C++20", "№5", "½", "Ⅷ",
         "٣٤٥", "一二三", "२०२६", "𝟘𝟙", "<|endoftext|>", "<|im_start|>user\n", "<s>", "</s>", "<bos>", "<0x0A>", "<unk>", "[INST]",
         "<start_of_turn>", "<|eot_id|>", "▁", "▁▁x", "Ġ", "<table>", "</td>"]
SPACES = [" ", "  ", "   ", "\t", "\n", "\r\n", "\n\n", " \n", "\n ", "\u00a0", "\u3000", "\u2003", "\u2028", "\x0b", "\x0c", "\x85",
          "\x1c", "\u200b", "\ufeff", "\u1680", "\u180e"]
RTL = ["שלום עולם", "שָׁלוֹם", "مرحبا بالعالم", "العَرَبِيَّة", "فارسی‌ها", "\u202eabc\u202c", "\u200fא\u200e", "ܫܠܡܐ", "ހެލޯ"]
OTHER = ["ཨོཾ", "ស្វាគមន៍", "ภาษาไทยไม่มีช่องว่าง", "नमस्ते दुनिया", "ಕನ್ನಡ", "தமிழ்", "မြန်မာ", "Việt Nam", "Ελληνικά", "ქართული", "한국어 텍스트", "각각",
         "Z͑ͫ̓a̴͉l̶g̸o", "e\u0301\u0327\u0300", "\u1e9b\u0323", "ﷺ", "\u0344", "\u2126", "\uac00\u11a8", "\u1100\u1161\u11a8"]
ILL_FORMED = [b"\x80", b"\xff", b"\xc3", b"\xe2\x82", b"\xf0\x9f\x98", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xf8\x88\x80\x80\x80",
              b"\xe2\x28\xa1", b"\xf0\x28\x8c\xbc"]


def made(kind, rng, every):
    pick = rng.choice
    if kind == "emoji":
        return "".join(pick(EMOJI) + pick(["", " ", "x", ""]) for _ in range(rng.randint(1, 12)))
    if kind == "marks":
        marks = [c for c in map(chr, range(0x300, 0x370))] + ["\u0327", "\u0345", "\u05b0", "\u064e", "\u094d", "\u3099"]
        return "".join(pick("aeoucñ한かकי ") + "".join(pick(marks) for _ in range(rng.randint(0, 4))) for _ in range(rng.randint(1, 20)))
    if kind == "rtl":
        return "".join(pick(RTL) + pick(SPACES) + pick(["", "12", "(a)", "٪"]) for _ in range(rng.randint(1, 6)))
    if kind == "scripts":
        return "".join(pick(OTHER) + pick(["", " ", "、", "。"]) for _ in range(rng.randint(1, 6)))
    if kind == "control":
        return "".join(pick([chr(rng.randint(0, 31)), chr(rng.randint(127, 159)), "a", "B ", "\n"]) for _ in range(rng.randint(1, 24)))
    if kind == "digits":
        return pick(["", " ", "a", "$", "-"]) + "".join(pick("0123456789") for _ in range(rng.randint(1, 60))) + pick(["", ".5", ",000", "th", " x"])
    if kind == "spaces":
        return "".join(pick(["", "a", "Bc", "1", "!", "é"]) + pick(SPACES) * rng.randint(1, 9) for _ in range(rng.randint(1, 8)))
    if kind == "words":
        return "".join(pick(WORDS) + pick(["", " ", "  ", "\n", ", "]) for _ in range(rng.randint(1, 10)))
    if kind == "runs":
        return "".join(pick(["a", "=", " ", "\n", "ab", "!?", "0", "漢", "é", "\t", "😀"]) * rng.randint(1, 70) for _ in range(rng.randint(1, 4)))
    return "".join(pick(every) for _ in range(rng.randint(1, 30)))  # any characters at all


KINDS = ["emoji", "marks", "rtl", "scripts", "control", "digits", "spaces", "words", "runs", "any", "ill-formed"]


def corpus(count=10000, seed=SEED):
    """`count` texts, six in ten of them from manual pages, the same for one seed and one set of packages."""
    rng = random.Random(seed)
    texts = []
    for language in LANGUAGES:
        lines = manual_lines(language, count * 6 // 10 // len(LANGUAGES), rng)
        texts += [line.encode() for line in lines]
    every = assigned()
    i = 0
    while len(texts) < count:
        kind = KINDS[i % len(KINDS)]
        i += 1
        text = made(kind if kind != "ill-formed" else rng.choice(KINDS[:-1]), rng, every).encode()
        if kind == "ill-formed":
            for _ in range(rng.randint(1, 4)):
                at = rng.randint(0, len(text))
                text = text[:at] + rng.choice(ILL_FORMED) + text[at:]
        elif i % 7 == 0:
            text = rng.choice(texts) + b"\n" + text + b"\n\n" + rng.choice(texts)
        texts.append(text)
    rng.shuffle(texts)
    return texts
