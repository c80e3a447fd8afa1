"""ONNX Runtime with the provider and without it: provider_test.py LIBRARY [FOLDER of models]."""

import ctypes
import sys
import tempfile
import threading
import unittest
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

LIBRARY, MODELS = Path(sys.argv[1]).resolve(), sys.argv[2:]
ELEMENTS = {np.float32: TensorProto.FLOAT, np.float16: TensorProto.FLOAT16, np.int64: TensorProto.INT64,
            np.bool_: TensorProto.BOOL}
onnxruntime.register_execution_provider_library("tilewright", str(LIBRARY))
DEVICES = [device for device in onnxruntime.get_ep_devices() if device.ep_name == "Tilewright"]
ALONE = {"session.disable_cpu_ep_fallback": "1"}


def draw(*shape, dtype=np.float32):
    values = np.random.default_rng(sum(shape)).standard_normal(shape)
    return (values * 4).astype(dtype) if np.issubdtype(dtype, np.integer) else values.astype(dtype)


def value(name, shape, dtype=np.float32):
    return helper.make_tensor_value_info(name, ELEMENTS[dtype], shape)


def model_of(nodes, inputs, outputs, constants=(), opset=17, ir_version=9, value_info=()):
    graph = helper.make_graph(nodes, "test", inputs, outputs,
                              [numpy_helper.from_array(array, name) for name, array in dict(constants).items()],
                              value_info=list(value_info))
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=ir_version).SerializeToString()


def session_of(model, options=None, entries=None, provided=True):
    settings = onnxruntime.SessionOptions()
    settings.log_severity_level = 4
    settings.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
    for name, text in (entries or {}).items():
        settings.add_session_config_entry(name, text)
    if provided:
        settings.add_provider_for_devices(DEVICES, {"threads": "2", "cache_dir": CACHE.name, **(options or {})})
    return onnxruntime.InferenceSession(model, settings)


def parts_of(session, of_tilewright):
    """The operators of each set that the provider has, or that ONNX Runtime keeps, in order of their names."""
    return sorted(sorted(node.op_type for node in part.get_nodes())
                  for part in session.get_provider_graph_assignment_info()
                  if (part.ep_name == "Tilewright") == of_tilewright)


def taken(session):
    return parts_of(session, True)


CHAIN = [helper.make_node("MatMul", ["x", "w"], ["p"]), helper.make_node("Add", ["p", "b"], ["s"]),
         helper.make_node("Relu", ["s"], ["y"])]
WEIGHTS = {"w": draw(16, 32), "b": draw(32)}


def chain(rows, dtype=np.float32):
    return model_of(CHAIN, [value("x", [rows, 16], dtype)], [value("y", [rows, 32], dtype)],
                    {name: array.astype(dtype) for name, array in WEIGHTS.items()})


def text_round_trip(source, result):
    """Nodes with strings, which no program has."""
    return [helper.make_node("Cast", [source], [result + "_text"], to=TensorProto.STRING),
            helper.make_node("Cast", [result + "_text"], [result], to=TensorProto.FLOAT)]


class ProviderTest(unittest.TestCase):
    def compare(self, model, *feeds, rtol=1e-4, **how):
        """Runs the model on each of the feeds; returns the session."""
        ours, theirs = session_of(model, **how), session_of(model, provided=False)
        for feed in feeds:
            for given, expected in zip(ours.run(None, feed), theirs.run(None, feed), strict=True):
                self.assertEqual((given.shape, given.dtype), (expected.shape, expected.dtype))
                np.testing.assert_allclose(given, expected, rtol=rtol, atol=rtol * np.abs(expected).max(initial=0))
        return ours


class Models(ProviderTest):
    def test_generated(self):
        for path in MODELS:
            with self.subTest(path):
                feeds = {}
                for given in session_of(path, provided=False).get_inputs():
                    shape = [extent if isinstance(extent, int) else 2 for extent in given.shape]
                    is_index = given.type == "tensor(int64)"
                    feeds[given.name] = np.ones(shape, np.int64) if is_index else draw(*shape)
                session = self.compare(path, feeds, entries=ALONE)
                self.assertEqual(len(taken(session)), 1)

    def test_symbolic_batch(self):
        session = self.compare(chain("n"), {"x": draw(3, 16)}, {"x": draw(40, 16)}, {"x": draw(1, 16)}, entries=ALONE)
        self.assertEqual(len(taken(session)), 1)

    def test_halves(self):
        self.compare(chain(8, np.float16), {"x": draw(8, 16, dtype=np.float16)}, rtol=4e-3, entries=ALONE)

    def test_integers_and_booleans(self):
        nodes = [helper.make_node("Add", ["x", "c"], ["s"]), helper.make_node("Greater", ["s", "x"], ["g"]),
                 helper.make_node("Where", ["g", "s", "x"], ["y"])]
        model = model_of(nodes, [value("x", [4, 5], np.int64)], [value("y", [4, 5], np.int64), value("g", [4, 5], np.bool_)],
                         {"c": draw(4, 5, dtype=np.int64)})
        self.compare(model, {"x": draw(4, 5, dtype=np.int64) + (1 << 60)}, entries=ALONE)

    def test_empty(self):
        self.compare(chain("n"), {"x": draw(0, 16)}, {"x": draw(2, 16)}, {"x": draw(0, 16)}, entries=ALONE)
        self.compare(chain(0), {"x": draw(0, 16)}, entries=ALONE)

    def test_scalars(self):
        nodes = [helper.make_node("Add", ["x", "c"], ["s"]), helper.make_node("Exp", ["s"], ["y"])]
        self.compare(model_of(nodes, [value("x", [])], [value("y", [])], {"c": np.float32(0.5)}), {"x": draw()},
                     entries=ALONE)

    def test_extents_of_one(self):
        nodes = [helper.make_node("Add", ["x", "z"], ["s"]), helper.make_node("Relu", ["s"], ["y"])]
        model = model_of(nodes, [value("x", ["n", 8]), value("z", ["m", 8])], [value("y", [None, 8])])
        feeds = [{"x": draw(n, 8), "z": draw(m, 8)} for n, m in [(3, 3), (3, 1), (1, 4), (5, 5), (3, 1)]]
        self.compare(model, *feeds, entries=ALONE)

    def test_attributes(self):
        nodes = [helper.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1], strides=[2, 2]),
                 helper.make_node("LeakyRelu", ["c"], ["l"], alpha=0.3),
                 helper.make_node("Resize", ["l", "", "scales"], ["r"], mode="linear",
                                  coordinate_transformation_mode="half_pixel"),
                 helper.make_node("ConstantOfShape", ["shape"], ["k"], value=numpy_helper.from_array(np.float32([2]))),
                 helper.make_node("Mul", ["r", "k"], ["y"])]
        model = model_of(nodes, [value("x", [1, 3, 8, 8])], [value("y", [1, 4, 8, 8])],
                         {"w": draw(4, 3, 3, 3), "scales": np.float32([1, 1, 2, 2]), "shape": np.int64([1])})
        self.compare(model, {"x": draw(1, 3, 8, 8)})

    def test_sizes_that_are_read(self):
        """Results whose extents are elements of an input; memory of NumPy begins at multiples of 16 bytes."""
        nodes = [helper.make_node("Split", ["x", "parts"], ["a", "z"]), helper.make_node("Neg", ["a"], ["y"])]
        model = model_of(nodes, [value("x", [6, 4]), value("parts", [2], np.int64)], [value("y", [None, 4]), value("z", [None, 4])])
        for offset in range(4):
            x = draw(28)[offset:][:24].reshape(6, 4)
            session = self.compare(model, {"x": x, "parts": np.int64([2, 4])}, {"x": x, "parts": np.int64([5, 1])})
            self.assertEqual(taken(session), [["Neg", "Split"]])

    def test_bodies(self):
        then = helper.make_graph([helper.make_node("Mul", ["x", "w"], ["t"]), helper.make_node("Relu", ["t"], ["a"])],
                                 "then", [], [value("a", [4, 8])])
        other = helper.make_graph([helper.make_node("Sub", ["s", "k"], ["b"])], "else", [], [value("b", [4, 8])],
                                  [numpy_helper.from_array(np.float32([3]), "k")])
        nodes = [helper.make_node("Neg", ["x"], ["s"]), helper.make_node("If", ["c"], ["r"], then_branch=then, else_branch=other),
                 helper.make_node("Abs", ["r"], ["y"])]
        model = model_of(nodes, [value("x", [4, 8]), value("c", [], np.bool_)], [value("y", [4, 8])], {"w": draw(8)})
        self.compare(model, *({"x": draw(4, 8), "c": np.array(c)} for c in (True, False)))

    def test_outputs(self):
        """A value that is both an output and read; a constant; an input."""
        nodes = [*CHAIN[:2], helper.make_node("Relu", ["s"], ["y"]), helper.make_node("Identity", ["x"], ["same"]),
                 helper.make_node("Identity", ["w"], ["constant"])]
        outputs = [value("s", [2, 32]), value("y", [2, 32]), value("same", [2, 16]), value("constant", [16, 32])]
        self.compare(model_of(nodes, [value("x", [2, 16])], outputs, WEIGHTS), {"x": draw(2, 16)})

    def test_default_inputs(self):
        inputs = [value("x", [2, 16]), value("w", [16, 32])]
        model = model_of(CHAIN, inputs, [value("y", [2, 32])], WEIGHTS)
        self.compare(model, {"x": draw(2, 16)}, {"x": draw(2, 16), "w": draw(32, 16).T.copy()})

    def test_external_weights(self):
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder) / "model.onnx")
            onnx.save(onnx.load_from_string(chain(4)), path, save_as_external_data=True, size_threshold=0)
            self.compare(path, {"x": draw(4, 16)}, entries=ALONE)


class Parts(ProviderTest):
    def test_refused_nodes_stay(self):
        nodes = [*CHAIN, *text_round_trip("y", "t"), helper.make_node("Neg", ["t"], ["n"]),
                 helper.make_node("Exp", ["n"], ["e"])]
        model = model_of(nodes, [value("x", [3, 16])], [value("e", [3, 32])],
                         {"w": np.round(WEIGHTS["w"]) / 64, "b": np.zeros(32, np.float32)})
        feed = {"x": np.round(draw(3, 16))}
        session = self.compare(model, feed)
        self.assertEqual([part[-1] for part in taken(session)], ["Neg", "Relu"])
        self.assertEqual(parts_of(session, False), [["Cast"], ["Cast"]])
        with self.assertRaisesRegex(Exception, "fallback"):
            session_of(model, entries=ALONE)

    def test_no_cycle(self):
        """a -> Cast, Cast -> c and a -> c: a and c are not one node."""
        nodes = [helper.make_node("Neg", ["x"], ["n"]), helper.make_node("Round", ["n"], ["a"]),
                 *text_round_trip("a", "t"), helper.make_node("Add", ["a", "t"], ["c"]),
                 helper.make_node("Exp", ["c"], ["y"])]
        session = self.compare(model_of(nodes, [value("x", [6])], [value("y", [6])]), {"x": draw(6)})
        self.assertEqual(taken(session), [["Add", "Exp"], ["Neg", "Round"]])

    def test_sequences_do_not_cross(self):
        nodes = [helper.make_node("SplitToSequence", ["x", "parts"], ["q"], axis=0),
                 helper.make_node("SequenceAt", ["q", "one"], ["e"]), helper.make_node("Relu", ["e"], ["r"]),
                 helper.make_node("Exp", ["r"], ["y"])]
        model = model_of(nodes, [value("x", [4, 3])], [value("y", [2, 3])],
                         {"parts": np.int64([2, 2]), "one": np.int64(1)})
        self.compare(model, {"x": draw(4, 3)})

    def test_few_nodes(self):
        model = model_of([helper.make_node("Relu", ["x"], ["y"])], [value("x", [4])], [value("y", [4])])
        self.assertEqual(taken(self.compare(model, {"x": draw(4)})), [])
        self.assertEqual(taken(self.compare(model, {"x": draw(4)}, options={"min_nodes": "1"})), [["Relu"]])


class Options(ProviderTest):
    def test_old_versions(self):
        """Tables of an ONNX Runtime that is too old have a function that makes errors."""
        said = []
        make_status = ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_int, ctypes.c_char_p)(
            lambda code, message: said.append(message.decode()) or 1)
        table = (ctypes.c_void_p * 1)(ctypes.cast(make_status, ctypes.c_void_p))
        get_table = ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_uint32)(lambda number: ctypes.addressof(table))
        version = ctypes.create_string_buffer(b"1.22.1")
        get_version = ctypes.CFUNCTYPE(ctypes.c_size_t)(lambda: ctypes.addressof(version))
        base = (ctypes.c_void_p * 2)(ctypes.cast(get_table, ctypes.c_void_p), ctypes.cast(get_version, ctypes.c_void_p))
        factories, count = (ctypes.c_void_p * 4)(), ctypes.c_size_t()
        ctypes.CDLL(str(LIBRARY)).CreateEpFactories(b"tilewright", base, None, factories, ctypes.c_size_t(4),
                                                    ctypes.byref(count))
        self.assertEqual(said, ["Tilewright: ONNX Runtime 1.22.1 is too old: 1.24 or later is needed"])

    def test_refused(self):
        for options, message in [({"thread": "2"}, 'there is no option "thread"; the options are cache_dir, min_nodes'),
                                 ({"threads": "two"}, 'option threads="two": expected a number'),
                                 ({"precision": "f8"}, 'option precision="f8": expected f32, integer, f16 or bf16'),
                                 ({"min_nodes": "0"}, "expected a positive number")]:
            with self.subTest(options), self.assertRaisesRegex(Exception, message):
                session_of(chain(2), options=options)

    def test_taken(self):
        for options in [{"precision": "bf16"}, {"opt_level": "0"}, {"cache_dir": "off"}, {"threads": "0"}]:
            with self.subTest(options):
                self.compare(chain(2), {"x": draw(2, 16)}, rtol=3e-2, options=options, entries=ALONE)

    def test_cache(self):
        with tempfile.TemporaryDirectory() as folder:
            session_of(chain(7), options={"cache_dir": folder})
            self.assertTrue(list(Path(folder).iterdir()))


class Sessions(ProviderTest):
    def test_two(self):
        first, second = session_of(chain("n")), session_of(chain(5))
        x = draw(5, 16)
        np.testing.assert_allclose(first.run(None, {"x": x})[0], second.run(None, {"x": x})[0], rtol=1e-4, atol=1e-4)

    def test_threads(self):
        session, expected = session_of(chain("n")), session_of(chain("n"), provided=False)
        failures = []

        def call(rows):
            for _ in range(20):
                feed = {"x": draw(rows, 16)}
                if not np.allclose(session.run(None, feed)[0], expected.run(None, feed)[0], rtol=1e-4, atol=1e-4):
                    failures.append(rows)

        threads = [threading.Thread(target=call, args=(rows,)) for rows in (1, 3, 64)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])

    def test_given_memory(self):
        """Arguments and results at addresses that are not aligned."""
        session, x = session_of(chain(4)), draw(4, 16)
        memory = np.zeros(4 * (16 + 32) + 2, np.float32)
        argument, result = memory[1:65].reshape(4, 16), memory[65:193].reshape(4, 32)
        argument[:] = x
        binding = session.io_binding()
        binding.bind_input("x", "cpu", 0, np.float32, [4, 16], argument.ctypes.data)
        binding.bind_output("y", "cpu", 0, np.float32, [4, 32], result.ctypes.data)
        session.run_with_iobinding(binding)
        np.testing.assert_allclose(result, np.maximum(x @ WEIGHTS["w"] + WEIGHTS["b"], 0), rtol=1e-4, atol=1e-4)

    def test_errors(self):
        """What a run refuses is said by name, and the session runs on."""
        nodes = [helper.make_node("Reshape", ["x", "shape"], ["r"]), helper.make_node("Relu", ["r"], ["y"])]
        model = model_of(nodes, [value("x", ["n"])], [value("y", ["m", 4])], {"shape": np.int64([-1, 4])})
        session = session_of(model, entries=ALONE)
        with self.assertRaisesRegex(Exception, "Tilewright: "):
            session.run(None, {"x": draw(7)})
        self.assertEqual(session.run(None, {"x": draw(8)})[0].shape, (2, 4))


CACHE = tempfile.TemporaryDirectory()
if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
