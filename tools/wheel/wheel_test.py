"""The package tilewright, installed: programs, models, messages, threads."""

import importlib.util
import os
import tempfile
import threading
import unittest

import numpy as np

import tilewright

PRODUCT = """
@T.prim_func
def main(A: T.Buffer((64, 48), "float32"), B: T.Buffer((48, 80), "float32"), C: T.Buffer((64, 80), "float32")):
    for i, j, k in T.grid(64, 80, 48):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""

SCALED = """
@T.prim_func
def scaled(x: T.handle, s: T.float32, y: T.handle):
    n = T.int64()
    X = T.match_buffer(x, (n, 8), "float32")
    Y = T.match_buffer(y, (n, 8), "float32")
    for i, j in T.grid(n, 8):
        with T.block("Y"):
            vi, vj = T.axis.remap("SS", [i, j])
            Y[vi, vj] = X[vi, vj] * s
"""

CONSTANT = PRODUCT.replace("    for i, j, k", '    T.func_attr({"tilewright.constant_params": [1]})\n    for i, j, k', 1)


def draw(*shape):
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


class Programs(unittest.TestCase):
    def test_call(self):
        product = tilewright.compile(PRODUCT)
        a, b, c = draw(64, 48), draw(48, 80), np.zeros((64, 80), np.float32)
        product(a, b, c)
        np.testing.assert_allclose(c, a @ b, rtol=1e-4, atol=1e-4)
        self.assertEqual([p.name for p in product.parameters()], ["A", "B", "C"])
        self.assertEqual(product.parameters()[2].shape, ("64", "80"))

    def test_memory_that_is_not_compact_or_aligned(self):
        product = tilewright.compile(PRODUCT)
        a, b = draw(64, 48), draw(80, 48).T
        wide = np.full((64, 161), 7, np.float32)
        product(a, b, wide[:, 1::2])
        np.testing.assert_allclose(wide[:, 1::2], a @ b, rtol=1e-4, atol=1e-4)
        self.assertTrue((wide[:, 0::2] == 7).all())

    def test_inputs_that_cannot_be_written(self):
        product = tilewright.compile(PRODUCT)
        a, b, c = draw(64, 48), draw(48, 80), np.zeros((64, 80), np.float32)
        a.flags.writeable = False
        product(a, b, c)
        np.testing.assert_allclose(c, a @ b, rtol=1e-4, atol=1e-4)

    def test_scalars_and_extents(self):
        scaled = tilewright.compile(SCALED)
        for n in (1, 5, 100):
            x, y = draw(n, 8), np.zeros((n, 8), np.float32)
            scaled(x, 0.5, y)
            np.testing.assert_array_equal(y, x * np.float32(0.5))

    def test_constants_are_packed_by_a_second_function(self):
        product = tilewright.compile(CONSTANT)
        if len(product.functions) == 1:
            self.skipTest("this machine's rules do not pack")
        a, b, c = draw(64, 48), draw(48, 80), np.zeros((64, 80), np.float32)
        packed = np.zeros([int(extent) for extent in product.parameters()[1].shape], np.float32)
        product.call("main_prepack", b, packed)
        product(a, packed, c)
        np.testing.assert_allclose(c, a @ b, rtol=1e-4, atol=1e-4)

    def test_threads_give_the_same_bits(self):
        a, b = draw(64, 48), draw(48, 80)
        results = []
        for threads in (1, 2):
            product, c = tilewright.compile(PRODUCT, threads=threads), np.zeros((64, 80), np.float32)
            callers = [np.zeros_like(c) for _ in range(4)]
            running = [threading.Thread(target=product, args=(a, b, mine)) for mine in callers]
            for thread in running:
                thread.start()
            for thread in running:
                thread.join()
            results += callers
        for result in results[1:]:
            np.testing.assert_array_equal(result, results[0])

    def test_messages(self):
        product = tilewright.compile(PRODUCT)
        a, b, c = draw(64, 48), draw(48, 80), np.zeros((64, 80), np.float32)
        with self.assertRaisesRegex(ValueError, "dimension 1 has extent 47, expected 48"):
            product(draw(64, 47), b, c)
        with self.assertRaisesRegex(TypeError, "argument 0 .A. is not of type float32"):
            product(a.astype(np.float64), b, c)
        with self.assertRaisesRegex(TypeError, "takes 3 arguments .A, B, C., got 2"):
            product(a, b)
        with self.assertRaisesRegex(tilewright.Refused, "program.py:2:1: error"):
            tilewright.compile("\nnonsense\n")
        with self.assertRaisesRegex(ValueError, "did you mean host"):
            tilewright.compile(PRODUCT, target="hots")

    def test_the_other_commands(self):
        self.assertIn("main: proven valid", tilewright.check(PRODUCT))
        with self.assertRaisesRegex(tilewright.Refused, "access bounds"):
            tilewright.check(PRODUCT.replace("A[vi, vk]", "A[vi, vk + 1]"))
        self.assertIn("limiter", tilewright.explain(PRODUCT))
        with tempfile.TemporaryDirectory() as folder:
            db = os.path.join(folder, "tuned.db")
            tuned = tilewright.tune(PRODUCT, seconds=5, trials=2, db=db)
            self.assertIn("best: ", tuned.report)
            self.assertIn("sch.", tuned.schedule)
            product = tilewright.compile(PRODUCT, db=db)
            a, b, c = draw(64, 48), draw(48, 80), np.zeros((64, 80), np.float32)
            product(a, b, c)
            np.testing.assert_allclose(c, a @ b, rtol=1e-4, atol=1e-4)


@unittest.skipUnless(importlib.util.find_spec("onnx"), "SKIPPED: the package onnx is not there")
class Models(unittest.TestCase):
    def model(self):
        from onnx import TensorProto, helper, numpy_helper

        nodes = [
            helper.make_node("Gemm", ["x", "w", "b"], ["h"]),
            helper.make_node("Relu", ["h"], ["y"]),
            helper.make_node("ReduceMax", ["y"], ["m"], axes=[1], keepdims=0),
        ]
        graph = helper.make_graph(
            nodes,
            "layer",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 16])],
            [
                helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 24]),
                helper.make_tensor_value_info("m", TensorProto.FLOAT, ["batch"]),
            ],
            [numpy_helper.from_array(draw(16, 24), "w"), numpy_helper.from_array(draw(24), "b")],
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)

    def test_every_batch(self):
        model = tilewright.compile(self.model())
        self.assertEqual([p.name for p in model.inputs], ["x"])
        for batch in (1, 3, 64):
            x = draw(batch, 16)
            y, m = model(x)
            expected = np.maximum(x @ draw(16, 24) + draw(24), 0)
            np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-4)
            np.testing.assert_allclose(m, expected.max(axis=1), rtol=1e-4, atol=1e-4)
            np.testing.assert_array_equal(model(x=x)[0], y)
        with self.assertRaisesRegex(TypeError, "input x is missing"):
            model()

    def test_one_batch(self):
        model = tilewright.compile(self.model(), dims={"batch": 3})
        self.assertEqual(model(draw(3, 16))[0].shape, (3, 24))
        with self.assertRaisesRegex(ValueError, "dimension 0 has extent 4, expected 3"):
            model(draw(4, 16))


if __name__ == "__main__":
    unittest.main()
