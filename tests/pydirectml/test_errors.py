#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What is wrong raises, with a sentence that names operator, field, value and rule, and the builder goes on."""
import math
import random
import unittest

import numpy as np
import pydirectml as dml

F32 = dml.TensorDataType.FLOAT32
DEVICE = dml.Device(adapter=0)
NONE = dml.ExecutionFlags.NONE


def tensor(builder, index, *sizes):
    return dml.input_tensor(builder, index, dml.TensorDesc(F32, sizes))


class Errors(unittest.TestCase):
    def setUp(self):
        self.builder = dml.GraphBuilder(DEVICE)
        self.x = tensor(self.builder, 0, 2, 4, 8, 7)
        self.w = tensor(self.builder, 1, 6, 4, 3, 3)

    def refused(self, kind, text, function, *arguments, **named):
        with self.assertRaises(kind) as caught:
            function(*arguments, **named)
        self.assertIn(text, str(caught.exception))
        # The builder is what it was before.
        model = self.builder.build(NONE, [y := dml.activation_relu(self.x)])
        data = np.zeros((2, 4, 8, 7), np.float32)
        DEVICE.compute(model, [dml.Binding(self.x, data)], [y])

    def test_operators(self):
        x, w = self.x, self.w
        self.refused(ValueError, "DML_OPERATOR_GEMM: BTensor: Sizes[0] = 6", dml.gemm, x, w)
        self.refused(ValueError, "DML_OPERATOR_CONVOLUTION: Strides[0] = 0, must be at least 1", dml.convolution, x, w,
                     strides=[0, 1])
        self.refused(ValueError, "Dilations has 3 elements, but Strides has 2", dml.convolution, x, w,
                     strides=[1, 1], dilations=[1, 1, 1])
        self.refused(ValueError, "DML_OPERATOR_CONVOLUTION: DimensionCount = 3", dml.convolution, x, w, strides=[1, 1, 1])
        self.refused(ValueError, "Strides[1] = -1, must be from 0 to 4294967295", dml.convolution, x, w, strides=[1, -1])
        self.refused(TypeError, "Strides[0] = 1.5, must be an integer", dml.convolution, x, w, strides=[1.5, 1])
        self.refused(TypeError, "Strides = 2, must be", dml.convolution, x, w, strides=2)
        self.refused(TypeError, "Mode = 'x', must be of ConvolutionMode", dml.convolution, x, w, mode="x")
        self.refused(TypeError, "must be of ConvolutionMode", dml.convolution, x, w, mode=dml.PaddingMode.EDGE)
        self.refused(TypeError, "ATensor = None, must be an Expression", dml.add, None, x)
        self.refused(TypeError, "no input is an Expression", dml.activation_relu, np.ones(3))
        self.refused(TypeError, "BTensor = 3, must be an Expression", dml.add, x, 3)
        self.refused(TypeError, "must be a FusedActivation", dml.gemm, x, x, fused_activation=dml.OperatorType.ACTIVATION_RELU)
        self.refused(ValueError, "FusedActivation", dml.gemm, x, dml.reinterpret(x, F32, [2, 4, 7, 8]),
                     fused_activation=dml.FusedActivation(dml.OperatorType.GEMM))
        self.refused(TypeError, "Alpha = 'a', must be a number", dml.gemm, x, x, alpha="a")
        self.refused(ValueError, "Axis = 4", dml.top_k, x, 4, 1)
        self.refused(ValueError, "Axes: NULL, must be given", dml.mean_variance_normalization, x)
        self.refused(TypeError, "no input is an Expression", dml.join, [], 0)
        self.refused(TypeError, "must be a sequence of Expressions", dml.join, x, 0)
        self.refused(TypeError, "InputTensors[1] = 3, must be an Expression", dml.join, [x, 3], 0)
        self.refused(ValueError, "DML_OPERATOR_SPLIT", dml.split, x, 3, [3, 3])
        self.refused(TypeError, "scope", dml.fill_value_constant, x, [2], F32, 1)
        self.refused(ValueError, "Value = 300, must be from -128 to 127", dml.fill_value_constant, self.builder, [2],
                     dml.TensorDataType.INT8, 300)
        self.refused(ValueError, "must be an integer as the tensor is INT8", dml.fill_value_constant, self.builder, [2],
                     dml.TensorDataType.INT8, 1.5)
        self.refused(ValueError, "DataType", dml.fill_value_constant, self.builder, [2], dml.TensorDataType.UNKNOWN, 1)
        self.refused(TypeError, "must be a ScaleBias", dml.abs, x, 3)
        self.refused(TypeError, "must be a Size2D", dml.up_sample_2d, x, 2)
        self.refused(ValueError, "DataType", dml.cast, x, 99)

    def test_graphs(self):
        other = tensor(dml.GraphBuilder(DEVICE), 0, 2)
        self.refused(ValueError, "is an expression of another graph", dml.add, self.x, other)
        self.refused(ValueError, "outputs[0]: is an expression of another graph", self.builder.build, NONE, [other])
        self.refused(TypeError, "outputs[0] = 3", self.builder.build, NONE, [3])
        self.refused(ValueError, "at least one output", self.builder.build, NONE, [])
        self.refused(ValueError, "is an input or a constant", self.builder.build, NONE, [self.x])
        self.refused(TypeError, "flags", self.builder.build, "fast", [self.x])
        y = self.x + 1
        self.refused(ValueError, "twice", self.builder.build, NONE, [y, y])
        self.refused(ValueError, "already has this input", tensor, self.builder, 1, 2)
        self.refused(ValueError, "index", tensor, self.builder, 1 << 20, 2)
        self.refused(TypeError, "must be a TensorDesc", dml.input_tensor, self.builder, 2, [2])
        self.refused(ValueError, "has", dml.reinterpret, self.x, F32, [10000])
        self.refused(ValueError, "strides", dml.reinterpret, self.x, F32, [2, 2], [1])
        self.refused(ValueError, "sizes[", dml.broadcast, self.x, [3, 4, 8, 7])
        self.refused(ValueError, "DataType", dml.reinterpret, self.x, 77, [2])
        self.refused(TypeError, "input_tensor()", dml.Expression)
        self.refused(TypeError, "must be a Device", dml.GraphBuilder, None)
        self.refused(ValueError, "adapter = 99, must be below", dml.Device, adapter=99)

    def test_descriptions(self):
        for arguments in ((F32, []), (F32, [0]), (F32, [1] * 9), (0, [1]), (99, [1]), (F32, [2], [1, 1]), (F32, [-1]),
                          (F32, 9, [1]), (F32, dml.TensorFlags.NONE, [4], None, 8), (F32, [2 ** 33])):
            self.assertRaises(ValueError, dml.TensorDesc, *arguments)
        for arguments in ((F32,), (F32, "ab"), (F32, [1.5]), (F32, [1], None, 4, 0, 0)):
            self.assertRaises(TypeError, dml.TensorDesc, *arguments)
        self.assertRaises(TypeError, dml.Dimensions, [None])
        self.refused(ValueError, "2^32 - 1 elements", tensor, self.builder, 7, 65536, 65536)

    def test_bindings(self):
        x, y = self.x, self.x + 1
        good = np.zeros((2, 4, 8, 7), np.float32)
        self.assertRaisesRegex(TypeError, "the data is complex64, must be float32", dml.Binding, x, good.astype(np.complex64))
        bytes_ = dml.input_tensor(self.builder, 5, dml.TensorDesc(dml.TensorDataType.UINT8, [2]))
        half = dml.input_tensor(self.builder, 6, dml.TensorDesc(dml.TensorDataType.BFLOAT16, [2]))
        self.assertRaisesRegex(TypeError, "the data is float64, must be uint8", dml.Binding, bytes_, np.ones(2))
        self.assertRaisesRegex(TypeError, "the data is float32, must be uint16 as the tensor is BFLOAT16", dml.Binding, half,
                               np.ones(2, np.float32))
        self.assertRaisesRegex(ValueError, "the data has 256, must be from 0 to 255", dml.Binding, bytes_, np.array([1, 256]))
        self.assertRaisesRegex(ValueError, "the data has -1, must be from 0 to 255", dml.Binding, bytes_,
                               np.array([-1, 1], ">i2"))
        self.assertRaisesRegex(ValueError, "has 10 elements, must have 448", dml.Binding, x, good.reshape(-1)[:10])
        self.assertRaisesRegex(ValueError, "must have at least 1792", dml.Binding, x, b"1234")
        self.assertRaisesRegex(TypeError, "input_tensor", dml.Binding, y, good)
        self.assertRaises(TypeError, dml.Binding, x, None)
        self.assertRaises(TypeError, dml.Binding, x, "text")
        model = self.builder.build(NONE, [y])
        bound = dml.Binding(x, good)
        late = dml.Binding(tensor(self.builder, 9, 2), np.zeros(2, np.float32))
        foreign = dml.Binding(tensor(dml.GraphBuilder(DEVICE), 0, 2), np.zeros(2, np.float32))
        compute = DEVICE.compute
        self.refused(ValueError, "input 0 has no binding", compute, model, [], [y])
        self.refused(ValueError, "input 0 is bound twice", compute, model, [bound, bound], [y])
        self.refused(ValueError, "another graph", compute, model, [bound, late], [y])
        self.refused(ValueError, "another graph", compute, model, [bound, foreign], [y])
        self.refused(TypeError, "must be a Binding", compute, model, [good], [y])
        self.refused(ValueError, "is not an output of the model", compute, model, [bound], [x])
        self.refused(TypeError, "must be a Model", compute, None, [bound], [y])
        self.refused(ValueError, "another device", dml.Device(adapter=0).compute, model, [bound], [y])

    def test_numbers_at_the_limits(self):
        """What a float32 cannot hold is infinite, as numpy has it."""
        y = dml.clip(self.x, -math.inf, 1e300)
        model = self.builder.build(NONE, [y])
        data = np.full((2, 4, 8, 7), 3e38, np.float32)
        np.testing.assert_array_equal(DEVICE.compute(model, [dml.Binding(self.x, data)], [y])[0], data)

    def test_anything_at_all(self):
        """Random wrong arguments raise and do not end the process."""
        rng = random.Random(3)
        junk = [None, -1, 2 ** 40, 1.5, "x", b"y", [], [1], [2 ** 33], (0,) * 20, {}, self, F32, dml.TensorDesc(F32, [2]),
                math.nan, np.zeros(3), self.x, self.w, [self.x], dml.FusedActivation(), dml.Size2D(), object]
        names = [name for name in dml.__all__ if name[0].islower() and name != "device_count"]
        raised = 0
        for _ in range(3000):
            function = getattr(dml, rng.choice(names))
            try:
                function(*(rng.choice(junk) for _ in range(rng.randrange(1, 8))))
            except (TypeError, ValueError, OverflowError, dml.Error, MemoryError):
                raised += 1
        self.assertGreater(raised, 2500)
        self.refused(ValueError, "DML_OPERATOR_GEMM", dml.gemm, self.x, self.w)


if __name__ == "__main__":
    unittest.main()
