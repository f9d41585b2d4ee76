"""The public Python client of MojoRuntime (PyPI: algenta) as a client of krt, through krt-worker.

    ALGENTA_NATIVE_WORKER=.../krt-worker ALGENTA_RUNTIME_FALLBACK_MODE=allow python algenta_client.py

Values are asserted to the bit: a double survives both JSON codecs.
"""

import math
import unittest

from algenta import MojoRuntime


class Client(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.runtime = MojoRuntime(mode="local")

    def result(self, module, function, args):
        reply = self.runtime.execute(module, function, args)
        self.assertTrue(reply["success"], reply)
        return reply["result"]

    def test_structs_come_back_as_dicts(self):
        a, b = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0], [10.0, 9.0, 8.0, 7.0, 6.0, 5.0]
        self.assertEqual(self.result("llmk.residual", "residual_add_flat", [a, b, 6]),
                         {"out": [10.0] * 6, "n": 6, "status": 560})
        self.assertEqual(self.result("llmk.generate", "greedy_argmax_flat", {"n": 3, "logits": [0.5, 2.5, 1.5]}),
                         {"token_id": 1, "logit": 2.5, "status": 560})

    def test_a_refusal_is_a_result(self):
        self.assertEqual(self.result("llmk.residual", "residual_add_flat", [[1.0], [1.0, 2.0], 1])["status"], 563)

    def test_bare_values(self):
        self.assertEqual(self.result("llmk.contract", "llmk_status_name", [562]), "llmk_a_length_mismatch")
        self.assertEqual(self.result("llmk.contract", "llmk_residual_dims_check", [6, 6, 6]), 560)
        self.assertEqual(self.result("activations", "gelu", [1.0]), 0.841191990607477)

    def test_doubles_to_the_bit(self):
        a = [0.1, 5e-324, 1.7976931348623157e308, -0.0, math.pi]
        out = self.result("llmk.residual", "residual_add_flat", [a, [0.0, 0.0, 0.0, -0.0, 1e-17], 5])["out"]
        self.assertEqual([x.hex() for x in out], [(x + y).hex() for x, y in zip(a, [0.0, 0.0, 0.0, -0.0, 1e-17])])

    def test_non_finite_numbers(self):
        out = self.result("llmk.residual", "residual_add_flat", [[math.nan, math.inf], [1.0, -math.inf], 2])["out"]
        self.assertTrue(math.isnan(out[0]) and math.isnan(out[1]), out)

    def test_a_logits_row(self):
        row = [((i * 2654435761) % 4294967296) / 4294967296 for i in range(151936)]
        got = self.result("llmk.generate", "greedy_argmax_flat", [row, len(row)])
        self.assertEqual((got["token_id"], got["logit"]), (row.index(max(row)), max(row)))

    def test_batch_in_order_with_a_failure(self):
        reply = self.runtime.execute_batch([
            {"module": "llmk.contract", "function": "llmk_status_name", "args": [560]},
            {"module": "llmk.residual", "function": "residual_add_flat", "args": [[1.5], [2.5], 1]},
        ])
        self.assertEqual((reply["count"], reply["ok"], reply["failed"]), (2, 2, 0), reply)
        self.assertEqual(reply["results"][0]["result"], "llmk_ok")
        self.assertEqual(reply["results"][1]["result"], {"out": [4.0], "n": 1, "status": 560})

    def test_proxies(self):
        proxy = self.runtime.libraries().llmk_residual
        self.assertEqual(proxy.residual_add_flat([1.0], [2.0], 1), {"out": [3.0], "n": 1, "status": 560})


if __name__ == "__main__":
    unittest.main()
