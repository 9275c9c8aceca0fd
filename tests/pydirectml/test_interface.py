#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The documented interface of pydirectml by names, order and defaults; stubs and functions are the same; every operator has a
function."""
import ast
import glob
import inspect
import os
import re
import struct
import unittest

import pydirectml as dml
from pydirectml import _graph, _native, _operators, _schema

FOLDER = os.path.dirname(dml.__file__)
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")

# Names in their order; =: has a default.
DOCUMENTED = """
input_tensor(scope, input_index, tensor_desc)
convolution(input, filter, bias=None, mode=ConvolutionMode.CROSS_CORRELATION, direction=ConvolutionDirection.FORWARD, strides=,
 dilations=, start_padding=, end_padding=, output_padding=, group_count=1, fused_activation=, output_sizes=)
up_sample_2d(input, scale_size, interpolation_mode)
activation_relu(input)
activation_sigmoid(input)
activation_identity(input)
add(a, b, fused_activation=)
subtract(a, b)
activation_tanh(input)
multiply(a, b)
divide(a, b)
padding(input, padding_mode, padding_value, start_padding, end_padding)
mean_variance_normalization(input, scale=None, bias=None, axes=, normalize_variance, epsilon, fused_activation=)
slice(input, input_window_offsets, input_window_sizes, input_window_strides)
value_scale_2d(input, scale, bias)
activation_linear(input, alpha, beta)
batch_normalization(input, mean, variance, scale, bias, spatial, epsilon, fused_activation=)
local_response_normalization(input, cross_channel, local_size, alpha, beta, bias)
gemm(a, b, c=None, trans_a=MatrixTransform.NONE, trans_b=MatrixTransform.NONE, alpha=1.0, beta=1.0, fused_activation=)
average_pooling(input, strides, window_sizes, start_padding, end_padding, include_padding)
max_pooling(input, window_sizes, strides=, start_padding=, end_padding=, dilations=, output_indices=False)
reinterpret(input, new_type, new_size, new_strides)
activation_soft_max(input)
join(input, axis)
gru(input, weight, recurrence, bias=None, hidden_init=None, sequence_lengths=None, activation_descs, direction,
 linear_before_reset=True, output_options)
gather(input, indices, axis, index_dimensions)
"""
ENUMS = {
    "TensorDataType": "UNKNOWN FLOAT32 FLOAT16 UINT32 UINT16 UINT8 INT32 INT16 INT8 FLOAT64 UINT64 INT64",
    "TensorFlags": "NONE OWNED_BY_DML", "MatrixTransform": "NONE TRANSPOSE",
    "RecurrentNetworkDirection": "FORWARD BACKWARD BIDIRECTIONAL", "OutputOptions": "Both Sequence Single",
    "ConvolutionMode": "CONVOLUTION CROSS_CORRELATION", "ConvolutionDirection": "FORWARD BACKWARD",
    "InterpolationMode": "NEAREST_NEIGHBOR LINEAR", "PaddingMode": "CONSTANT EDGE REFLECTION",
    "ExecutionFlags": "NONE ALLOW_HALF_PRECISION_COMPUTATION DISABLE_META_COMMANDS DESCRIPTORS_VOLATILE",
    "OperatorType": "INVALID ELEMENT_WISE_IDENTITY ACTIVATION_RELU CONVOLUTION RESAMPLE FOLD",
}


def stub_functions():
    with open(os.path.join(FOLDER, "_operators.pyi"), encoding="utf-8") as file:
        tree = ast.parse(file.read())
    return {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}


class Interface(unittest.TestCase):
    def test_documented_functions(self):
        for name, text in re.findall(r"(\w+)\((.*?)\)\n", DOCUMENTED, re.S):
            wanted = [one.strip().partition("=") for one in text.split(",")]
            given = list(inspect.signature(getattr(dml, name)).parameters.values())
            self.assertEqual([one.name for one in given][:len(wanted)], [one[0] for one in wanted], name)
            for (parameter, equals, default), have in zip(wanted, given):
                if equals:
                    self.assertIsNot(have.default, inspect.Parameter.empty, f"{name}: {parameter}")
                if default:
                    self.assertEqual(have.default, eval(default, vars(dml)), f"{name}: {parameter}")
            for more in given[len(wanted):]: # ours behind theirs
                self.assertIsNot(more.default, inspect.Parameter.empty, f"{name}: {more.name}")

    def test_enumerations(self):
        for name, members in ENUMS.items():
            for member in members.split():
                getattr(getattr(dml, name), member)

    def test_results(self):
        self.assertEqual(dml.MaxPoolingOutputs._fields, ("values", "indices"))
        self.assertEqual(dml.GRUOutputs._fields, ("sequence", "single"))
        self.assertEqual(dml.TopKOutputs._fields, ("value", "index"))
        self.assertEqual(dml.Size2D(3, 2).height, 2)
        self.assertEqual(dml.FusedActivation(dml.OperatorType.ACTIVATION_RELU).param_2, 0)

    def test_every_operator_has_a_function(self):
        with open(os.path.join(ROOT, "include/anydml/dml_operator_type.h"), encoding="utf-8") as file:
            operators = set(re.findall(r"DML_OPERATOR_(\w+) = [1-9]", file.read()))
        self.assertEqual(len(operators), 177)
        self.assertLessEqual(operators, set(_schema.OPERATORS))
        named = set()
        for name in dml.__all__:
            named |= set(re.findall(r"DML_OPERATOR_(\w+)", inspect.getdoc(getattr(dml, name)) or ""))
        self.assertLessEqual(operators, named)
        self.assertEqual({one.name for one in dml.OperatorType} - {"INVALID"}, set(_schema.OPERATORS))

    def test_stubs_are_the_functions(self):
        stubs = stub_functions()
        functions = {name: one for name, one in vars(_operators).items()
                     if inspect.isfunction(one) and one.__module__ == _operators.__name__}
        self.assertEqual(set(stubs), set(functions))
        for name, node in stubs.items():
            parameters = inspect.signature(functions[name]).parameters.values()
            arguments = node.args.args
            self.assertEqual([one.arg for one in arguments], [one.name for one in parameters], name)
            for argument in arguments:
                self.assertIsNotNone(argument.annotation, f"{name}: {argument.arg}")
            self.assertIsNotNone(node.returns, name)
            defaults = [eval(ast.unparse(one), vars(dml)) for one in node.args.defaults]
            self.assertEqual(defaults, [one.default for one in parameters if one.default is not inspect.Parameter.empty], name)
        self.assertTrue(os.path.exists(os.path.join(FOLDER, "py.typed")))

    def test_hand_written_functions_are_annotated(self):
        for name in dml.__all__:
            one = getattr(dml, name)
            if inspect.isfunction(one) and one.__module__ != _operators.__name__:
                for parameter in inspect.signature(one).parameters.values():
                    self.assertIsNot(parameter.annotation, inspect.Parameter.empty, f"{name}: {parameter.name}")

    def test_descriptions_have_the_size_of_their_structs(self):
        """Of operators whose struct is known by heart; the conformance cases run all of them."""
        self.assertEqual(_graph._row("GEMM").struct.size, 56)
        self.assertEqual(_graph._row("CONVOLUTION").struct.size, 104)
        self.assertEqual(_graph._row("FILL_VALUE_CONSTANT").struct.size, 24)

    def test_library_exports_its_own_functions(self):
        """The dynamic symbols of the ELF file that have a section; all relocations are done when it is loaded."""
        with open(_native._path(), "rb") as file:
            data = file.read()
        first, size, count = struct.unpack_from("<Q", data, 40)[0], *struct.unpack_from("<HH", data, 58)
        sections = [struct.unpack_from("<IIQQQQIIQQ", data, first + i * size) for i in range(count)]
        for kind, found in ((11, set()), (6, {})): # SHT_DYNSYM, SHT_DYNAMIC
            _, _, _, _, at, length, link, *_ = next(one for one in sections if one[1] == kind)
            if kind == 6:
                found.update(struct.unpack_from("<QQ", data, at + i) for i in range(0, length, 16))
                self.assertTrue(found.get(30, 0) & 8 or found.get(0x6FFFFFFB, 0) & 1, "not bound at once")
                continue
            for i in range(0, length, 24):
                name, _, _, section = struct.unpack_from("<IBBH", data, at + i)
                if section:
                    start = sections[link][4] + name
                    found.add(data[start:data.index(b"\0", start)].decode())
            self.assertTrue(found and all(name.startswith("pydml_") for name in found), found)

    def test_syntax_of_python_3_9(self):
        for path in glob.glob(os.path.join(FOLDER, "*.py")):
            with open(path, encoding="utf-8") as file:
                ast.parse(file.read(), feature_version=(3, 9))


if __name__ == "__main__":
    unittest.main()
