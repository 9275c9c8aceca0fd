#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What a program does with pydirectml, against numpy: expressions, types, layouts, bindings, several outputs. Runs on the first
adapter, so ANYDML_ADAPTERS chooses."""
import unittest

import numpy as np
import pydirectml as dml

TYPES = dml.TensorDataType
F32 = TYPES.FLOAT32
RNG = np.random.default_rng(7)


class Graph:
    """A builder with inputs that are bound."""

    def __init__(self, device=None):
        self.device = device or dml.Device(adapter=0)
        self.builder = dml.GraphBuilder(self.device)
        self.bindings = []

    def input(self, array, data_type=None, owned=False):
        desc = dml.TensorDesc(data_type or TYPES[array.dtype.name.upper()],
                              dml.TensorFlags.OWNED_BY_DML if owned else dml.TensorFlags.NONE, array.shape)
        expression = dml.input_tensor(self.builder, len(self.bindings), desc)
        self.bindings.append(dml.Binding(expression, array))
        return expression

    def run(self, *outputs, flags=dml.ExecutionFlags.NONE):
        model = self.builder.build(flags, outputs)
        return self.device.compute(model, self.bindings, outputs)


class Expressions(unittest.TestCase):
    def test_operators(self):
        for dtype in (np.float32, np.float16, np.int32, np.uint8, np.int64):
            a = RNG.integers(3, 100, (3, 5)).astype(dtype)
            b = RNG.integers(1, 3, (3, 5)).astype(dtype)
            graph = Graph()
            x, y = graph.input(a), graph.input(b)
            z = x
            z += y
            z *= 2
            z -= 1
            outputs = [x + y, x - y, x * y, x / y, x % y, x + 2, 2 + x, x * 2, 3 - y, 100 / y, x / 2, x % 2, 101 % y, z]
            def divided(p, q):
                return p // q if np.issubdtype(dtype, np.integer) else p / q
            wanted = [a + b, a - b, a * b, divided(a, b), a % b, a + 2, 2 + a, a * 2, 3 - b, divided(dtype(100), b),
                      divided(a, dtype(2)), a % 2, 101 % b, (a + b) * 2 - 1]
            for i, (got, want) in enumerate(zip(graph.run(*outputs), wanted)):
                self.assertEqual(got.dtype, dtype)
                np.testing.assert_allclose(got, want.astype(dtype), rtol=1e-3 if dtype == np.float16 else 1e-6, err_msg=str(i))

    def test_negation_and_modulus_have_the_signs_of_directml(self):
        a = np.float32([5, -5, 7.5])
        graph = Graph()
        x = graph.input(a)
        negated, rest = graph.run(-x, x % 3)
        np.testing.assert_array_equal(negated, -a)
        np.testing.assert_array_equal(rest, np.fmod(a, 3))

    def test_numpy_numbers(self):
        a = np.float32([1, 2])
        graph = Graph()
        x = graph.input(a)
        np.testing.assert_array_equal(graph.run(x * np.float32(1.5) + np.int64(2))[0], a * 1.5 + 2)

    def test_other_operands_are_refused(self):
        x = Graph().input(np.ones(2, np.float32))
        for wrong in ("1", None, [1]):
            self.assertRaises(TypeError, lambda one=wrong: x + one)

    def test_description_of_an_expression(self):
        x = Graph().input(np.ones((2, 3), np.float32))
        desc = dml.broadcast(x, [4, 2, 3]).get_output_desc()
        self.assertEqual((desc.data_type, desc.sizes, desc.strides, desc.flags), (F32, (4, 2, 3), (0, 3, 1), 0))
        self.assertIn("FLOAT32", repr(x))


class Types(unittest.TestCase):
    def test_every_type_comes_through(self):
        for data_type in TYPES:
            if data_type.name in ("UNKNOWN", "UINT4", "INT4", "BFLOAT16"):
                continue
            a = RNG.integers(0, 100, (4, 3)).astype(data_type.name.lower())
            graph = Graph()
            try:
                got, = graph.run(dml.identity(graph.input(a)))
            except dml.Error as error: # devices without 64 bits
                self.assertEqual(error.hresult, 0x887A0004)
                continue
            self.assertEqual(got.dtype, a.dtype)
            np.testing.assert_array_equal(got, a)

    def test_four_bits(self):
        """Two values in a byte, the first one in the lower half."""
        values = np.arange(-8, 8, dtype=np.int8)
        packed = (values[::2].astype(np.uint8) & 15) | (values[1::2].astype(np.uint8) & 15) << 4
        graph = Graph()
        desc = dml.TensorDesc(TYPES.INT4, [16])
        x = dml.input_tensor(graph.builder, 0, desc)
        graph.bindings.append(dml.Binding(x, packed))
        scale = dml.fill_value_constant(graph.builder, [1], F32, 0.5)
        plain = dml.dequantize(x, [scale], dml.QuantizationType.SCALE)
        again = dml.quantize(plain, [scale], dml.QuantizationType.SCALE, output_data_type=TYPES.INT4)
        got, back = graph.run(plain, again)
        np.testing.assert_array_equal(got, values * np.float32(0.5))
        self.assertEqual((back.dtype, back.shape), (np.uint8, (8,)))
        np.testing.assert_array_equal(back, packed)

    def test_bfloat16_as_bits(self):
        values = np.float32([1, -2.5, 96])
        bits = (values.view(np.uint32) >> 16).astype(np.uint16)
        graph = Graph()
        x = graph.input(bits, TYPES.BFLOAT16)
        got, = graph.run(dml.cast(x * 2, F32))
        np.testing.assert_array_equal(got, values * 2)

    def test_scalars_of_each_type(self):
        for dtype, value in ((np.int64, -2 ** 62 - 1), (np.uint64, 2 ** 64 - 1), (np.float16, 0.5), (np.int8, -128)):
            graph = Graph()
            try:
                got, = graph.run(dml.fill_value_constant(graph.builder, [3], TYPES[np.dtype(dtype).name.upper()], value))
            except dml.Error:
                continue
            np.testing.assert_array_equal(got, np.full(3, value, dtype))


class Layouts(unittest.TestCase):
    def test_descriptions(self):
        desc = dml.TensorDesc(F32, [2, 3, 4, 5], dml.TensorPolicy.interleaved_channel())
        self.assertEqual(desc.strides, (60, 1, 15, 3))
        self.assertIsNone(dml.TensorDesc(F32, [2], dml.TensorPolicy.default()).strides)
        desc = dml.TensorDesc(TYPES.UINT8, dml.TensorFlags.OWNED_BY_DML, [3, 3], [4, 1], 16, 256)
        self.assertEqual((desc.flags, desc.sizes, desc.strides, desc.total_tensor_size_in_bytes,
                          desc.guaranteed_base_offset_alignment), (1, (3, 3), (4, 1), 16, 256))
        self.assertEqual(dml.TensorDesc(F32, dml.TensorFlags.NONE, dml.Dimensions([2, 2])).total_tensor_size_in_bytes, 16)
        self.assertEqual(dml.TensorDesc(F32, [2, 2], [1, 2]).strides, (1, 2))
        self.assertEqual(dml.TensorDesc(TYPES.INT4, [3]).total_tensor_size_in_bytes, 4)

    def test_interleaved_input(self):
        image = RNG.standard_normal((1, 5, 6, 3)).astype(np.float32) # channels last in memory
        weights = RNG.standard_normal((2, 3, 3, 3)).astype(np.float32)
        graph = Graph()
        x = dml.input_tensor(graph.builder, 0, dml.TensorDesc(F32, [1, 3, 5, 6], dml.TensorPolicy.interleaved_channel()))
        graph.bindings.append(dml.Binding(x, image))
        got, = graph.run(dml.convolution(x, graph.input(weights, owned=True)))
        planes = image.transpose(0, 3, 1, 2)
        windows = np.lib.stride_tricks.sliding_window_view(planes, (3, 3), (2, 3))
        np.testing.assert_allclose(got, np.einsum("nchwij,ocij->nohw", windows, weights), rtol=1e-4, atol=1e-4)

    def test_data_in_any_order_and_from_any_buffer(self):
        a = RNG.standard_normal((4, 6)).astype(np.float32)
        for data in (a, np.asfortranarray(a), a[::-1][::-1], a.reshape(-1), memoryview(a), a.tobytes(), bytearray(a.tobytes()),
                     np.frombuffer(b"\0" + a.tobytes(), np.uint8)[1:].view(np.float32)):
            graph = Graph()
            x = dml.input_tensor(graph.builder, 0, dml.TensorDesc(F32, [4, 6]))
            graph.bindings.append(dml.Binding(x, data))
            np.testing.assert_array_equal(graph.run(dml.identity(x))[0], a)

    def test_reinterpret_and_constant(self):
        a = RNG.standard_normal((2, 6)).astype(np.float32)
        graph = Graph()
        x = graph.input(a)
        turned = dml.identity(dml.reinterpret(x, F32, [6, 2], [1, 6]))
        bits = dml.identity(dml.reinterpret(x, TYPES.UINT32))
        known = dml.constant_data(graph.builder, a, dml.TensorDesc(F32, [2, 6])) + x
        results = graph.run(turned, bits, known)
        for got, want in zip(results, (a.T, a.view(np.uint32), a + a)):
            np.testing.assert_array_equal(got, want)


    def test_reinterpreted_outputs(self):
        """An output's memory is as large as what is written there, however little of it the strides reach."""
        for rows, sizes, strides in ((1000, [2, 2], [500000, 1]), (4, [2, 2], [6, 2]), (4, [2, 3], [1, 2]), (4, [5], [0]),
                                     (4, [2, 2], None), (4, [2, 2, 2], [8, 1, 2])):
            a = RNG.standard_normal((rows, rows)).astype(np.float32)
            graph = Graph()
            got, plain = graph.run(dml.reinterpret((y := graph.input(a) * 2), F32, sizes, strides), y + 1)
            inner = 4 * np.array(strides or [2, 1])
            want = np.lib.stride_tricks.as_strided(a * 2, sizes, inner)
            np.testing.assert_array_equal(got, want)
            np.testing.assert_allclose(plain, a * 2 + 1, rtol=1e-6)
            self.assertEqual((got.shape, got.dtype), (tuple(sizes), np.float32))
        a = np.arange(7, dtype=np.uint8) # 1 byte rounds it up
        graph = Graph()
        got, = graph.run(dml.reinterpret(graph.input(a) + 1, TYPES.UINT32, [1]))
        self.assertEqual(got.tobytes(), b"\1\2\3\4")

    def test_inputs_as_large_as_their_description(self):
        """reinterpret() reaches all of an input's bytes."""
        values = np.arange(8, dtype=np.float32)
        graph = Graph()
        x = dml.input_tensor(graph.builder, 0, dml.TensorDesc(F32, dml.TensorFlags.NONE, [2], None, 32))
        y = dml.identity(dml.reinterpret(x, F32, [8]))
        for short in (values[:2], values[:7], values[:2].tobytes()):
            with self.assertRaisesRegex(ValueError, "must have at least 32"):
                dml.Binding(x, short)
        graph.bindings.append(dml.Binding(x, values))
        np.testing.assert_array_equal(graph.run(y)[0], values)
        graph = Graph()
        x = dml.input_tensor(graph.builder, 0, dml.TensorDesc(TYPES.UINT8, [5]))
        graph.bindings.append(dml.Binding(x, np.arange(1, 6, dtype=np.uint8)))
        got, = graph.run(dml.identity(dml.reinterpret(x, TYPES.UINT8, [8])))
        np.testing.assert_array_equal(got, [1, 2, 3, 4, 5, 0, 0, 0])

    def test_byte_orders_and_addresses(self):
        """Of every type of more than a byte, in inputs, weights and constants; the given array is left alone."""
        for name in ("float16", "float32", "float64", "int16", "uint16", "int32", "uint32", "int64", "uint64", "bfloat16"):
            data_type = TYPES[name.upper()]
            a = RNG.integers(1, 100, (3, 5)).astype("uint16" if name == "bfloat16" else name)
            odd = np.frombuffer(b"\0" + a.tobytes(), np.uint8)[1:].view(a.dtype).reshape(a.shape)
            raw = memoryview(bytearray(b"\0" + a.tobytes()))[1:]
            swapped = a.astype(a.dtype.newbyteorder())
            self.assertFalse(odd.flags.aligned or swapped.dtype.isnative)
            for data in (swapped, swapped.T.copy().T, odd, raw):
                graph = Graph()
                desc = dml.TensorDesc(data_type, a.shape)
                x = dml.input_tensor(graph.builder, 0, desc)
                graph.bindings.append(dml.Binding(x, data))
                w = dml.input_tensor(graph.builder, 1, dml.TensorDesc(data_type, dml.TensorFlags.OWNED_BY_DML, a.shape))
                graph.bindings.append(dml.Binding(w, data))
                known = dml.constant_data(graph.builder, data, desc)
                try:
                    results = graph.run(*map(dml.identity, (x, w, known)))
                except dml.Error as error: # devices without 64 bits
                    self.assertEqual(error.hresult, 0x887A0004)
                    continue
                for got in results:
                    np.testing.assert_array_equal(got, a, name)
            np.testing.assert_array_equal(swapped.astype(a.dtype), a)

    def test_numbers_of_other_types(self):
        a = RNG.integers(0, 100, (2, 3))
        for name, kinds in (("float32", "float64 float16 int64 uint8 >f8 bool"), ("float16", "float32 int32"),
                            ("float64", "float32 uint64"), ("int32", "int64 uint8 bool"), ("uint8", "int64 >i4 bool")):
            for kind in kinds.split():
                data = a.astype(kind)
                for given in (data, data.tolist()):
                    graph = Graph()
                    desc = dml.TensorDesc(TYPES[name.upper()], a.shape)
                    x = dml.input_tensor(graph.builder, 0, desc)
                    graph.bindings.append(dml.Binding(x, given))
                    try:
                        got = graph.run(dml.identity(x), dml.identity(dml.constant_data(graph.builder, given, desc)))
                    except dml.Error as error:
                        self.assertEqual(error.hresult, 0x887A0004)
                        continue
                    np.testing.assert_array_equal(got[0], data.astype(name), kind)
                    np.testing.assert_array_equal(got[1], data.astype(name), kind)


class Running(unittest.TestCase):
    def test_results_are_buffers(self):
        a = RNG.standard_normal((2, 3)).astype(np.float32)
        graph = Graph()
        got, = graph.run(dml.activation_relu(graph.input(a)))
        self.assertIsInstance(got, dml.TensorData)
        self.assertEqual((memoryview(got).format, memoryview(got).shape), ("f", (2, 3)))
        plain = np.asarray(got)
        self.assertTrue(np.shares_memory(plain, got))
        np.testing.assert_array_equal(np.array(got, np.float32), np.maximum(a, 0))
        self.assertTrue(np.shares_memory(dml.TensorData(plain), plain))

    def test_outputs_in_any_order(self):
        a = RNG.standard_normal((3, 3)).astype(np.float32)
        graph = Graph()
        x = graph.input(a)
        outputs = [x + 1, x * 2, dml.max_pooling(dml.reinterpret(x, F32, [1, 1, 3, 3]), [2, 2], output_indices=True).indices]
        model = graph.builder.build(dml.ExecutionFlags.NONE, outputs)
        got = graph.device.compute(model, graph.bindings, [outputs[1], outputs[0], outputs[1]])
        np.testing.assert_array_equal(got[0], a * 2)
        np.testing.assert_array_equal(got[1], a + 1)
        self.assertEqual(graph.device.compute(model, graph.bindings, []), [])
        self.assertEqual(graph.device.compute(model, graph.bindings, [outputs[2]])[0].dtype, np.uint32)

    def test_owned_inputs_are_read_once(self):
        a, w = RNG.standard_normal((2, 3)).astype(np.float32), RNG.standard_normal((3, 4)).astype(np.float32)
        graph = Graph()
        x, weights = graph.input(a), graph.input(w.copy(), owned=True)
        y = dml.gemm(x, weights)
        model = graph.builder.build(dml.ExecutionFlags.NONE, [y])
        first, = graph.device.compute(model, graph.bindings, [y])
        graph.bindings[1]._array[...] = 0 # a program that reuses its memory
        for bindings in (graph.bindings, graph.bindings[:1]):
            again, = graph.device.compute(model, bindings, [y])
            np.testing.assert_array_equal(again, first)
        np.testing.assert_allclose(first, a @ w, rtol=1e-5, atol=1e-5)

    def test_fused_activation_with_parameters(self):
        a = RNG.standard_normal((4, 4)).astype(np.float32)
        graph = Graph()
        x = graph.input(a)
        leaky = dml.FusedActivation(dml.OperatorType.ACTIVATION_LEAKY_RELU, 0.25)
        clip = dml.FusedActivation(dml.OperatorType.ELEMENT_WISE_CLIP, -0.5, 0.5)
        product = a @ a
        got = graph.run(dml.gemm(x, x, fused_activation=leaky), dml.add(x, x, leaky), dml.gemm(x, x, fused_activation=clip))
        np.testing.assert_allclose(got[0], np.where(product > 0, product, product * 0.25), rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(got[1], np.where(a > 0, a * 2, a * 0.5), rtol=1e-6)
        np.testing.assert_allclose(got[2], np.clip(product, -0.5, 0.5), rtol=1e-5, atol=1e-5)

    def test_recurrent_outputs(self):
        graph = Graph()
        x = graph.input(np.ones((1, 3, 2, 4), np.float32))
        w, r = graph.input(np.ones((1, 1, 15, 4), np.float32)), graph.input(np.ones((1, 1, 15, 5), np.float32))
        for option, sequence, single in ((dml.OutputOptions.Both, True, True), (dml.OutputOptions.Sequence, True, False),
                                         (dml.OutputOptions.Single, False, True)):
            made = dml.gru(x, w, r, output_options=option)
            self.assertEqual((made.sequence is not None, made.single is not None), (sequence, single))

    def test_flags(self):
        a = RNG.standard_normal((8, 8)).astype(np.float32)
        flags = dml.ExecutionFlags.ALLOW_HALF_PRECISION_COMPUTATION | dml.ExecutionFlags.DESCRIPTORS_VOLATILE
        graph = Graph()
        np.testing.assert_allclose(graph.run(dml.gemm(*[graph.input(a)] * 2), flags=flags)[0], a @ a, rtol=1e-4, atol=1e-4)

    def test_unused_inputs_and_gaps(self):
        a = np.float32([1, 2])
        graph = Graph()
        dml.input_tensor(graph.builder, 0, dml.TensorDesc(F32, [9]))
        x = dml.input_tensor(graph.builder, 5, dml.TensorDesc(F32, [2]))
        owned = dml.TensorDesc(F32, dml.TensorFlags.OWNED_BY_DML, [2])
        dml.exp(x) * dml.input_tensor(graph.builder, 2, owned) # leads to no output
        y = x + 1
        model = graph.builder.build(dml.ExecutionFlags.NONE, [y])
        np.testing.assert_array_equal(graph.device.compute(model, [dml.Binding(x, a)], [y])[0], a + 1)

    def test_devices(self):
        self.assertGreaterEqual(dml.device_count(), 1)
        self.assertRegex(repr(dml.Device(False)), "^dml.Device on (GPU|CPU)$")
        self.assertTrue(dml.Device(True, True).name)


if __name__ == "__main__":
    unittest.main()
