# SPDX-License-Identifier: Apache-2.0
"""The cases through the Python module pydirectml: each is a call of the operator's function with its parameters by name, in
a graph of its own. The mapping from parameters to fields is that of scripts/generate/make-pydirectml, which wrote the functions;
values and results come from the case alone."""
import importlib.machinery
import importlib.util
import os
import sys

import numpy as np
import pydirectml as dml

from conf_schema import dtype_of, type_name
from conf_wire import Layout, bits_of, random_layout

HERE = os.path.dirname(os.path.abspath(__file__))


def load_generator():
    folder = os.path.join(HERE, "../../scripts/generate")
    sys.path.append(folder)  # the generator imports its neighbours
    path = os.path.join(folder, "make-pydirectml")
    loader = importlib.machinery.SourceFileLoader("make_pydirectml", path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("make_pydirectml", loader))
    loader.exec_module(module)
    return module


class Inexpressible(Exception):
    """The module has no words for the case."""


class Module:
    def __init__(self, adapter, schema):
        if not adapter.isdigit():
            os.environ["ANYDML_ADAPTERS"] = adapter
        self.generator, self.schema = load_generator(), schema
        self.operators = {one.name: one for one in self.generator.read_operators()}
        self.defaults = self.generator.read_defaults()
        self.device = dml.Device(adapter=int(adapter) if adapter.isdigit() else 0)

    def run(self, name, case, rng):
        """The outputs by slot, None for absent ones, as arrays of the case's types."""
        call = Call(self, name, case, rng)
        result = call.call()
        outputs = [one for one in result if one is not None]
        flags = dml.ExecutionFlags(int(rng.choice([0, 0, 2, 4])))
        model = call.builder.build(flags, outputs)
        got = iter(self.device.compute(model, call.bindings, outputs))
        return [None if one is None else call.read(next(got), one.get_output_desc()) for one in result]


class Call:
    """One case as a call of a function."""

    def __init__(self, module, name, case, rng):
        self.module, self.case, self.rng, self.name = module, case, rng, name
        self.operator, self.desc = module.operators[name], module.schema.operators[name]
        self.builder = dml.GraphBuilder(module.device)
        self.bindings = []

    def call(self):
        function = getattr(dml, self.module.generator.function_name(self.operator))
        if self.name == "SPLIT":
            axis = self.case.fields.get("Axis") or 0
            parts = [one.shape[axis] for one in self.case.outputs["OutputTensors"]]
            return function(self.value("InputTensor"), axis, parts)
        if function is dml.add:
            arguments = {name: self.value(field) for name, field in
                         (("a", "ATensor"), ("b", "BTensor"), ("fused_activation", "FusedActivation"))
                         if field in self.desc.by_name}
        else:
            arguments = self.arguments()
        result = function(**arguments)
        return list(result) if isinstance(result, tuple) else [result]

    def arguments(self):
        parameters, _ = self.module.generator.parameters_of(self.operator, self.module.defaults)
        out = {}
        for one in parameters:
            if one.what == "scope":
                out[one.name] = self.builder
            elif one.what == "output":
                out[one.name] = self.output(one)
            elif one.default is None or self.case.fields.get(one.field) is not None or not self.is_null(one.field):
                out[one.name] = self.value(one.field)
        return out

    def is_null(self, field):
        """Whether a field that a case leaves out may be left out here: what is a pointer, and not a number, which is 0."""
        return self.desc.field(field).type in ("tensor", "uints", "ints", "floats", "activation", "activations",
                                               "scale_bias")

    def value(self, name):
        field, given = self.desc.field(name), self.case.fields.get(name)
        kind = field.type
        if kind == "tensor":
            return None if given is None else self.input(field, given)
        if kind == "tensors":
            return [self.input(field, one) for one in given]
        if kind == "enum":
            python = next(enum for c_name, (enum, _) in self.module.generator.ENUMS.items() if c_name in self.enum_of(name))
            return getattr(dml, python)(field.values.index(given) if isinstance(given, str) else given or 0)
        if kind == "type":
            first = next(one for one in self.case.outputs.values() if one is not None)
            return dml.TensorDataType[type_name(given if given is not None else first)]
        if kind == "activation":
            return None if given is None else self.activation(given)
        if kind == "activations":
            return [self.activation(one) for one in given or ()]
        if kind == "size":
            return dml.Size2D(*given)
        if kind == "scale_bias":
            return None if given is None else dml.ScaleBias(*given)
        if kind in ("uints", "ints", "floats"):
            return None if given is None else [one for one in given]
        if kind == "bool":
            return bool(given)
        return 0 if given is None else given

    def enum_of(self, name):
        return [arguments[1] for kind, arguments in self.operator.fields if kind == "ENUM" and arguments[0] == name]

    def activation(self, given):
        name, attributes = given
        rank = max(one.ndim for one in self.case.outputs.values() if one is not None)
        if attributes.get("Axes") is not None and list(attributes["Axes"]) != [rank - 1]:
            raise Inexpressible("a fused softmax over other axes than the last")
        fields = [one.name for one in self.module.schema.operators[name].fields if one.type == "float"]
        return dml.FusedActivation(dml.OperatorType[name], *(attributes.get(one) or 0 for one in fields))

    def output(self, parameter):
        """A parameter that concerns outputs."""
        outputs, name = self.case.outputs, parameter.name
        shapes = [one.shape for one in outputs.values() if one is not None and not isinstance(one, list)]
        if name == "output_options":
            both = outputs.get("OutputSequenceTensor") is not None, outputs.get("OutputSingleTensor") is not None
            return {(True, False): dml.OutputOptions.Sequence, (False, True): dml.OutputOptions.Single}.get(
                both, dml.OutputOptions.Both)
        if name == "output_length":
            return shapes[0][self.case.fields.get("Axis") or 0]
        if name in ("output_height", "image_height", "output_width", "image_width", "batch_size"):
            image = outputs.get("OutputTensor") if outputs.get("OutputTensor") is not None else outputs.get("OutputGradientTensor")
            axis = 0 if name == "batch_size" else 2 if name.endswith("height") else 3
            return image.shape[axis] if image is not None else 7
        if name in ("output_sizes", "output_gradient_sizes"):
            return outputs["OutputCoordinatesTensor"].shape if self.name == "NONZERO_COORDINATES" else shapes[0]
        if parameter.annotation == "bool":
            return outputs.get(parameter.field) is not None
        want = outputs.get(parameter.field)
        if name.endswith("_sizes"):
            return () if want is None else want.shape
        return dml.TensorDataType.UNKNOWN if want is None else dml.TensorDataType[type_name(want)]

    def input(self, field, array):
        """An input in some layout, owned or not, or a constant."""
        array = array if isinstance(array, np.ndarray) else np.asarray(array)
        array = array.astype(np.uint8) if array.dtype == np.bool_ else array
        name = type_name(array)
        data_type = dml.TensorDataType[name]
        plain = self.case.packed is True or field.name in self.case.packed or self.rng.random() < 0.4
        if plain:
            layout = Layout(name, array.shape)
        else:
            layout = random_layout(self.rng, array, name, False)
        data = layout.store(array, 0xA5)
        if bits_of(name) > 4 and layout.strides is None:
            data = np.ascontiguousarray(array).view(np.ndarray)
        else:
            size = max(bits_of(name) // 8, 1) # of an element, which the memory need not be a multiple of
            data = np.frombuffer(data, np.uint8)[:len(data) // size * size]
            data = data if bits_of(name) == 4 else data.view(dtype_of(name))
        if layout.strides is None and self.rng.random() < 0.2:
            return dml.constant_data(self.builder, data, dml.TensorDesc(data_type, array.shape))
        owned = self.case.owned and self.rng.random() < 0.2
        flags = dml.TensorFlags.OWNED_BY_DML if owned else dml.TensorFlags.NONE
        desc = dml.TensorDesc(data_type, flags, array.shape, layout.strides)
        expression = dml.input_tensor(self.builder, len(self.bindings), desc)
        self.bindings.append(dml.Binding(expression, data))
        return expression

    def read(self, data, desc):
        """A result as the case has it."""
        layout = Layout(desc.data_type.name, desc.sizes)
        array, _ = layout.load(np.asarray(data).tobytes().ljust(layout.bytes, b"\0"), 0)
        return array
