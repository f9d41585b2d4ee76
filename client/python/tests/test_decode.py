"""krt.decode against formulas in f64, in the kind, shape and type of what was given."""

import math

import numpy as np
import pytest

import krt

RNG = np.random.default_rng(20261130)


def normals(*shape, dtype=np.float32):
    return RNG.normal(size=shape).astype(dtype)


def rmsnorm_in_f64(x, weight, eps=1e-6):
    x = np.asarray(x, np.float64)
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * np.asarray(weight, np.float64)


def rope_in_f64(x, pos, theta=10000.0, interleaved=False):
    x = np.asarray(x, np.float64).copy()
    half = x.shape[-1] // 2
    angle = np.asarray(pos, np.float64)[:, None] * theta ** (-np.arange(half) / half)
    c, s = np.cos(angle)[:, None, :], np.sin(angle)[:, None, :]
    first, second = (np.s_[..., 0::2], np.s_[..., 1::2]) if interleaved else (np.s_[..., :half], np.s_[..., half:])
    a, b = x[first].copy(), x[second].copy()
    x[first], x[second] = a * c - b * s, b * c + a * s
    return x


def test_rmsnorm():
    x, w = normals(3, 64), normals(64)
    y = krt.decode.rmsnorm(x, w)
    assert y.shape == x.shape and y.dtype == np.float32
    np.testing.assert_allclose(y, rmsnorm_in_f64(x, w), rtol=4 * 2**-24)
    assert krt.decode.rmsnorm([3.0, 4.0], [1.0, 2.0], eps=0.0) == pytest.approx([3 / math.sqrt(12.5), 8 / math.sqrt(12.5)])


def test_add_rmsnorm_changes_the_residual_in_place():
    r, x, w = normals(2, 48), normals(2, 48), normals(48)
    want, address = r + x, r.ctypes.data
    y = krt.decode.add_rmsnorm(r, x, w)
    assert r.ctypes.data == address and np.array_equal(r, want)
    np.testing.assert_allclose(y, rmsnorm_in_f64(want, w), rtol=4 * 2**-24)
    residual = [1.0, 2.0]
    krt.decode.add_rmsnorm(residual, [2.0, 2.0], [1.0, 1.0])
    assert residual == [3.0, 4.0]


@pytest.mark.parametrize("interleaved", [False, True])
def test_rope_changes_q_and_k_in_place(interleaved):
    q, k, pos = normals(2, 4, 16), normals(2, 2, 16), [3, 1000]
    want_q, want_k = rope_in_f64(q, pos, interleaved=interleaved), rope_in_f64(k, pos, interleaved=interleaved)
    krt.decode.rope(q, k, pos, interleaved=interleaved)
    np.testing.assert_allclose(q, want_q, atol=1e-5)
    np.testing.assert_allclose(k, want_k, atol=1e-5)
    one = normals(1, 8)
    want = rope_in_f64(one[None], [7])[0]
    krt.decode.rope(one, None, 7)
    np.testing.assert_allclose(one, want, atol=1e-5)


def test_silu_mul():
    gate, up = normals(1000), normals(1000)
    g = gate.astype(np.float64)
    np.testing.assert_allclose(krt.decode.silu_mul(gate, up), g / (1 + np.exp(-g)) * up, rtol=1e-6)


def test_argmax_is_numpys():
    for values in ([1, 3, 2, 3], [1, math.nan, 5], [-math.inf, -math.inf], normals(1000)):
        x = np.asarray(values, np.float32)
        assert krt.decode.argmax(x) == int(np.argmax(x)) and type(krt.decode.argmax(x)) is int


def test_halves_of_numpy():
    x, w = normals(2, 32, dtype=np.float16), normals(32)
    y = krt.decode.rmsnorm(x, w)
    assert y.dtype == np.float16 and y.shape == x.shape
    np.testing.assert_allclose(y.astype(float), rmsnorm_in_f64(x, w), rtol=2**-10)
    r = normals(32, dtype=np.float16)
    want = (r.astype(np.float32) + x[0].astype(np.float32)).astype(np.float16)
    krt.decode.add_rmsnorm(r, np.ascontiguousarray(x[0]), w)
    assert np.array_equal(r, want)


def test_what_is_changed_in_place_must_be_changeable():
    w, x = np.ones(4, np.float32), np.ones(4, np.float32)
    frozen = np.ones(4, np.float32)
    frozen.flags.writeable = False
    place = "decode.add_rmsnorm: argument 'residual' is changed in place: it must be a writable f32 tensor, got "
    for residual, got in ((frozen, "a read-only f32[4]"), (np.ones(4), "f64[4]"), (np.ones(4, np.int32), "i32[4]"),
                          ((1.0, 1.0, 1.0, 1.0), "a read-only f64[4]")):
        with pytest.raises(krt.MojoExecutionError) as caught:
            krt.decode.add_rmsnorm(residual, x, w)
        assert caught.value.message == place + got
    with pytest.raises(krt.MojoExecutionError, match="argument 'residual' is not contiguous"):
        krt.decode.add_rmsnorm(np.ones(8, np.float32)[::2], x, w)


def test_a_kernels_own_refusal_raises():
    with pytest.raises(krt.KernelStatusError) as caught:
        krt.decode.rmsnorm(np.ones(3, np.float32), np.ones(2, np.float32))
    assert (caught.value.code, caught.value.status) == ("decode_row_length_mismatch", 604)
    assert caught.value.message == "decode.rmsnorm: the values are no whole number of rows"
    x = np.ones(4, np.float32)
    with pytest.raises(krt.KernelStatusError, match="decode_overlapping_buffers"):
        krt.decode.add_rmsnorm(x, x, np.ones(4, np.float32))
    assert np.all(x == 1)


def test_the_functions_are_those_of_the_registry(runtime):
    x, w = normals(5, 40), normals(40)
    want = runtime.execute("decode", "rmsnorm", [x, w])["result"]["out"]
    assert np.array_equal(krt.decode.rmsnorm(x, w).ravel(), want)


# --- torch


def test_torch_in_torch_out_in_its_kind(torch):
    for dtype, bound in ((torch.float32, 1e-6), (torch.bfloat16, 2**-7), (torch.float16, 2**-10)):
        x, w = torch.randn(3, 64).to(dtype), torch.randn(64).to(dtype)
        y = krt.decode.rmsnorm(x, w)
        assert isinstance(y, torch.Tensor) and y.dtype == dtype and y.shape == x.shape
        np.testing.assert_allclose(y.double(), rmsnorm_in_f64(x.double(), w.double()), rtol=bound, atol=1e-7)
        gate, up = torch.randn(64).to(dtype), torch.randn(64).to(dtype)
        want = torch.nn.functional.silu(gate.double()) * up.double()
        np.testing.assert_allclose(krt.decode.silu_mul(gate, up).double(), want, rtol=bound, atol=1e-7)


def test_torch_in_place(torch):
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        r, x, w = torch.randn(64).to(dtype), torch.randn(64).to(dtype), torch.ones(64)
        want, address = (r.float() + x.float()).to(dtype), r.data_ptr()
        krt.decode.add_rmsnorm(r, x, w)
        assert r.data_ptr() == address and torch.equal(r, want)
        q, k = torch.randn(1, 4, 16).to(dtype), torch.randn(1, 2, 16).to(dtype)
        want = rope_in_f64(q.double().numpy(), [11])
        krt.decode.rope(q, k, torch.tensor([11]))
        np.testing.assert_allclose(q.double(), want, atol={torch.float32: 1e-5}.get(dtype, 0.03))
    with pytest.raises(krt.MojoExecutionError, match="argument 'q' is not contiguous"):
        krt.decode.rope(torch.zeros(4, 8).t(), None, 0)
    with pytest.raises(krt.MojoExecutionError, match="requires a gradient"):
        krt.decode.add_rmsnorm(torch.nn.Parameter(torch.zeros(4)), torch.zeros(4), torch.zeros(4))


def test_argmax_is_torchs(torch):
    logits = torch.randn(151_936)
    assert krt.decode.argmax(logits) == int(logits.argmax())
    assert krt.decode.argmax(logits.bfloat16()) == int(logits.bfloat16().argmax())


# --- sampling


def test_the_draw_follows_the_survivors():
    logits = normals(2000) * 3
    ids, probs = krt.decode.survivors(logits, temperature=0.7, top_k=40, top_p=0.9)
    assert 1 < len(ids) <= 40 and np.isclose(probs.sum(), 1) and np.all(np.diff(logits[ids]) <= 0)
    edges = np.cumsum(probs)
    for u in (0.0, 0.25, 0.5, 0.999999):
        want = ids[min(int(np.searchsorted(edges, u, side="right")), len(ids) - 1)]
        assert krt.decode.sample(logits, 0.7, 40, 0.9, u=u) == want
    assert krt.decode.sample(logits, temperature=0.0) == int(logits.argmax())


def test_one_seed_one_token():
    logits = normals(5000)
    tokens = [krt.decode.sample(logits, generator=seed) for seed in range(50)]
    assert tokens == [krt.decode.sample(logits.tolist(), generator=seed) for seed in range(50)]
    assert len(set(tokens)) > 40
    for threads in (1, 2, 16):
        runtime = krt.MojoRuntime(threads=threads)
        again = [runtime.execute("decode", "sample", {"logits": logits, "seed": seed})["result"]["token_id"]
                 for seed in range(50)]
        assert again == tokens


def test_a_generator_goes_on_from_token_to_token():
    logits = normals(5000)

    def tokens(generator, count=20):
        return [krt.decode.sample(logits, generator=generator) for _ in range(count)]

    first = tokens(krt.Generator(7))
    assert first == tokens(krt.Generator(7)) and len(set(first)) > 15
    assert first[5:] == tokens(krt.Generator(7, position=5), 15)
    assert first != tokens(krt.Generator(8)) and first != tokens(krt.Generator(7, sequence=1))
    assert first[0] == krt.decode.sample(logits, generator=7)
    assert tokens(np.random.default_rng(7)) == tokens(np.random.default_rng(7))


def test_torch_generators(torch):
    logits = torch.randn(5000)
    one, other = (torch.Generator().manual_seed(7) for _ in range(2))
    assert [krt.decode.sample(logits, generator=one) for _ in range(10)] == [
        krt.decode.sample(logits, generator=other) for _ in range(10)]


def test_draws_that_are_refused():
    logits = normals(10)
    with pytest.raises(krt.KernelStatusError) as caught:
        krt.decode.sample(logits)
    assert caught.value.status == 617
    with pytest.raises(krt.KernelStatusError):
        krt.decode.sample(logits, u=1.0)
    with pytest.raises(krt.KernelStatusError, match="decode_nan_logit"):
        krt.decode.sample(np.full(3, np.nan, np.float32), u=0.5)
    with pytest.raises(TypeError, match="not both"):
        krt.decode.sample(logits, generator=1, u=0.5)
    with pytest.raises(TypeError, match="generator is an int"):
        krt.decode.sample(logits, generator="1")
    with pytest.raises(krt.MojoExecutionError, match="argument 'seed' is or holds an int that does not fit 64 bits"):
        krt.decode.sample(logits, generator=2**64)
