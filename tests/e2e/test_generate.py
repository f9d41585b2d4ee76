"""Text from a model: the same pieces in process and from a server."""

import pathlib

import pytest

import krt

MODEL = str(pathlib.Path(__file__).parents[1] / "oracle/data/shakespeare/q8_0.gguf")
PROMPT = "My lord, I will"


@pytest.fixture(scope="module", params=["local", "remote"])
def loaded(request):
    runtime = request.getfixturevalue(request.param)
    answer = runtime.execute("engine", "load", MODEL)
    assert answer["success"], answer["error"]
    return runtime, answer["result"]["model"]


def drain(generator):
    pieces = []
    while True:
        try:
            pieces.append(next(generator))
        except StopIteration as end:
            return pieces, end.value


def test_pieces_are_the_text(loaded):
    runtime, model = loaded
    pieces, result = drain(runtime.generate(model, PROMPT, max_tokens=40))
    assert len(pieces) > 10 and "".join(pieces) == result["text"]
    assert len(result["ids"]) == 40 and result["finish"] == "length"
    assert runtime.call("engine", "generate", {"model": model, "prompt": PROMPT, "max_tokens": 40}) == result


def test_a_seed_writes_the_same_text_here_and_there(local, remote):
    texts = []
    for runtime in (local, remote):
        model = runtime.call("engine", "load", MODEL)["model"]
        texts.append(list(runtime.generate(model, PROMPT, max_tokens=30, temperature=1.0, top_k=40, seed=7)))
    assert texts[0] == texts[1]
    other = list(local.generate(local.call("engine", "load", MODEL)["model"], PROMPT, max_tokens=30, temperature=1.0,
                                top_k=40, seed=8))
    assert other != texts[0]


def test_leaving_the_loop_ends_the_text(loaded):
    runtime, model = loaded
    for count, _ in enumerate(runtime.generate(model, PROMPT, max_tokens=200)):
        if count == 2:
            break
    assert runtime.health()["ok"]


def test_failures_raise(loaded):
    runtime, model = loaded
    with pytest.raises(krt.MojoRuntimeError, match="max_tokens"):
        list(runtime.generate(model, PROMPT, max_tokens=-1))
    with pytest.raises(krt.MojoRuntimeError, match="prompt"):
        list(runtime.generate(model))


def test_an_exception_of_the_listener_ends_the_call(loaded):
    runtime, model = loaded
    seen = []

    def on_event(event):
        seen.append(event)
        if len(seen) == 3:
            raise KeyError("enough")

    args = {"model": model, "prompt": PROMPT, "max_tokens": 200}
    with pytest.raises(KeyError, match="enough"):
        runtime.execute("engine", "generate", args, on_event=on_event)
    assert len(seen) == 3 and set(seen[0]) == {"id", "text"}
