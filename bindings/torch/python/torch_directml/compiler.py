# SPDX-License-Identifier: Apache-2.0
"""torch.compile(backend="directml"): compiles forward and backward passes to DirectML graphs.

AOTAutograd produces graphs of core ATen operators. Supported operators are grouped into partitions that are as large as
possible, and each partition is compiled to one DirectML graph for the sizes with which it is called; the operators between
partitions run eagerly."""
import copy
import ctypes
import functools
import os
import threading

import torch
from torch._dynamo.backends.common import aot_autograd
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.passes.fake_tensor_prop import FakeTensorProp
from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner
from torch.fx.passes.operator_support import OperatorSupportBase

from . import rewrites
from .name import DEVICE_TYPE

_ops = torch.ops.torch_directml
_RANK = 8
_NONE, _TENSOR, _TENSORS, _INT, _REAL, _BOOL, _INTS, _REALS, _BOOLS, _STRING, _GENERATOR, _NUMBERS = range(12)
_ABSENT = -1
_MESSAGE = 512
_TYPES = {torch.uint8: 0, torch.int8: 1, torch.int16: 2, torch.int32: 3, torch.int64: 4, torch.float16: 5,
          torch.float32: 6, torch.float64: 7, torch.bool: 11, torch.bfloat16: 15, torch.uint16: 27, torch.uint32: 28,
          torch.uint64: 29}
_LAYOUTS = {torch.strided: 0}
_FORMATS = {torch.contiguous_format: 0, torch.preserve_format: 1, torch.channels_last: 2, torch.channels_last_3d: 3}
# Operators that return other sizes and strides of the same memory.
_VIEWS = {"alias", "as_strided", "detach", "diagonal", "expand", "lift_fresh", "permute", "select", "slice", "split",
          "split_with_sizes", "squeeze", "t", "transpose", "unbind", "unfold", "unsqueeze", "view", "_unsafe_view",
          "_reshape_alias"}


class _Tensor(ctypes.Structure):  # struct aten_tensor
    _fields_ = [("type", ctypes.c_int32), ("rank", ctypes.c_uint32), ("sizes", ctypes.c_int64 * _RANK),
                ("strides", ctypes.c_int64 * _RANK), ("data", ctypes.c_void_p)]


class _Value(ctypes.Union):
    _fields_ = [("tensors", ctypes.POINTER(_Tensor)), ("integer", ctypes.c_int64), ("real", ctypes.c_double),
                ("integers", ctypes.POINTER(ctypes.c_int64)), ("reals", ctypes.POINTER(ctypes.c_double)),
                ("numbers", ctypes.c_void_p), ("string", ctypes.c_char_p)]


class _Arg(ctypes.Structure):  # struct aten_arg
    _anonymous_ = ["value"]
    _fields_ = [("kind", ctypes.c_int), ("count", ctypes.c_uint32), ("value", _Value)]


def _number(value):
    if isinstance(value, float):
        return _Arg(kind=_REAL, real=value)
    return _Arg(kind=_BOOL if isinstance(value, bool) else _INT, integer=value)


class _Op(ctypes.Structure):  # struct aten_op
    _fields_ = [("name", ctypes.c_char_p), ("overload", ctypes.c_char_p), ("out_overload", ctypes.c_char_p),
                ("in_place", ctypes.c_bool), ("no_functional", ctypes.c_bool), ("random", ctypes.c_bool),
                ("writes", ctypes.c_uint32)]


@functools.lru_cache(None)
def _library():
    """The C library with its prototypes (aten.h); None if it lacks the functions of graphs."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "libanydml_torch_ops.so")
    library = ctypes.CDLL(os.path.realpath(path))
    pointer, number, count = ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint32
    prototypes = {
        "aten_op_find": (ctypes.POINTER(_Op), [ctypes.c_char_p, ctypes.c_char_p]),
        "aten_device_open": (pointer, [count, ctypes.c_char_p, ctypes.c_size_t]),
        "aten_graph_begin": (pointer, [pointer]),
        "aten_graph_input": (number, [pointer, ctypes.POINTER(_Tensor), ctypes.c_bool]),
        "aten_graph_node": (ctypes.c_bool, [pointer, ctypes.POINTER(_Op), ctypes.POINTER(_Arg), count,
                                            ctypes.POINTER(_Tensor), count, ctypes.POINTER(number)]),
        "aten_graph_view": (number, [pointer, number, ctypes.POINTER(_Tensor), ctypes.c_int64]),
        "aten_graph_compile": (pointer, [pointer, ctypes.POINTER(number), count, ctypes.c_char_p, ctypes.c_size_t]),
        "aten_graph_destroy": (None, [pointer]),
        "aten_plan_packed": (number, [pointer]),
        "aten_release": (None, [pointer]),
    }
    try:
        for name, (result, arguments) in prototypes.items():
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments
    except AttributeError:
        return None
    return library


def _name(target):
    return target._schema.name.partition("::")[2], target._overloadname if target._overloadname != "default" else ""


@functools.lru_cache(None)
def _row(target):
    """The row of an operator in the C library's table, or None if a graph cannot contain it."""
    library = _library()
    if not library or not isinstance(target, torch._ops.OpOverload) or target.namespace not in ("aten", "torch_directml"):
        return None
    name, overload = _name(target)
    name = name if target.namespace == "aten" else f"{target.namespace}::{name}"
    row = library.aten_op_find(name.encode(), overload.encode())
    if not row or row.contents.no_functional or row.contents.random or row.contents.writes:
        return None  # operators that draw random numbers or write to arguments run eagerly
    return row


def _is_view(target):
    return isinstance(target, torch._ops.OpOverload) and target.namespace == "aten" and _name(target)[0] in _VIEWS


def _is_item(node):
    return node.op == "call_function" and getattr(node.target, "__name__", "") == "getitem"


class Unsupported(Exception):
    """The partition cannot be compiled and runs eagerly."""


def _layout(tensor):
    layout = _Tensor()
    if tensor is None:
        layout.type = _ABSENT
        return layout
    if tensor.dtype not in _TYPES or tensor.dim() > _RANK:
        raise Unsupported(f"{tensor.dtype} of rank {tensor.dim()}")
    layout.type, layout.rank = _TYPES[tensor.dtype], tensor.dim()
    layout.sizes[:tensor.dim()] = [int(size) for size in tensor.shape]
    layout.strides[:tensor.dim()] = [int(stride) for stride in tensor.stride()]
    return layout


class _Builder:
    """Adds the nodes of one partition to a graph of the C library. fixed: for each input, the tensor whose contents stay, or
    None."""

    def __init__(self, module, device_index, fixed):
        self.module, self.library, self.fixed = module, _library(), iter(fixed)
        message = ctypes.create_string_buffer(_MESSAGE)
        self.device = self.library.aten_device_open(device_index, message, _MESSAGE)
        if not self.device:
            raise Unsupported(message.value.decode())
        self.graph = self.library.aten_graph_begin(self.device)
        self.numbers, self.roots, self.kept = {}, {}, []

    def _tensor(self, node, layout=None):
        made = layout or _layout(node.meta["val"])
        made.data = self.numbers[node]
        return made

    def _array(self, kind, values):
        made = (kind * max(len(values), 1))(*values)
        self.kept.append(made)
        return made

    def _list(self, arg, value, kind):
        arg.count = len(value)
        if "Tensor" in kind or any(isinstance(x, torch.fx.Node) for x in value):
            absent = _Tensor(type=_ABSENT)
            arg.kind, arg.tensors = _TENSORS, self._array(_Tensor, [absent if x is None else self._tensor(x) for x in value])
        elif "number" in kind:
            numbers = self._array(_Arg, [_number(x) for x in value])
            arg.kind, arg.numbers = _NUMBERS, ctypes.cast(numbers, ctypes.c_void_p).value
        elif "float" in kind or any(isinstance(x, float) for x in value):
            arg.kind, arg.reals = _REALS, self._array(ctypes.c_double, [float(x) for x in value])
        else:
            arg.kind = _BOOLS if "bool" in kind else _INTS
            arg.integers = self._array(ctypes.c_int64, [int(x) for x in value])

    def argument(self, schema, value):
        arg, kind = _Arg(kind=_NONE), str(schema.real_type if hasattr(schema, "real_type") else schema.type)
        if value is None or schema.name in ("device", "pin_memory"):
            return arg
        if isinstance(value, torch.fx.Node):
            if not isinstance(value.meta["val"], torch.Tensor):
                raise Unsupported(f"argument {schema.name} is a computed number")
            arg.kind, arg.count, arg.tensors = _TENSOR, 1, self._array(_Tensor, [self._tensor(value)])
        elif isinstance(value, (list, tuple)):
            self._list(arg, value, kind)
        elif isinstance(value, (bool, int, float)):
            return _number(value)
        elif isinstance(value, str):
            arg.kind, arg.string = _STRING, value.encode()
        else:
            for known in (_TYPES, _LAYOUTS, _FORMATS):
                if value in known:
                    arg.kind, arg.integer = _INT, known[value]
                    return arg
            raise Unsupported(f"argument {schema.name} is {value!r}")
        return arg

    def _arguments(self, node):
        named, values = dict(node.kwargs), []
        for position, schema in enumerate(node.target._schema.arguments):
            value = node.args[position] if position < len(node.args) else named.get(schema.name, schema.default_value)
            values.append(self.argument(schema, value))
        return self._array(_Arg, values), len(values)

    def _view(self, node, source, result):
        root = self.roots.get(source, source)  # a view of a view may exceed the first view
        first = int(root.meta["val"].storage_offset()) if isinstance(root.meta["val"], torch.Tensor) else 0
        layout = _layout(result)
        number = self.library.aten_graph_view(self.graph, self.numbers[root], ctypes.byref(layout),
                                              int(result.storage_offset()) - first)
        self.roots[node] = root
        return number

    def add(self, node):
        if node.op == "placeholder":
            layout, tensor = _layout(node.meta["val"]), next(self.fixed)
            layout.data = tensor.data_ptr() if tensor is not None else None
            self.numbers[node] = self.library.aten_graph_input(self.graph, ctypes.byref(layout), tensor is not None)
        elif _is_item(node):
            source, index = node.args
            self.numbers[node] = self.numbers[source][index]
            if source in self.roots:
                self.roots[node] = self.roots[source]
        elif _is_view(node.target):
            value = node.meta["val"]
            several = isinstance(value, (list, tuple))
            made = [self._view(node, node.args[0], result) for result in (value if several else [value])]
            self.numbers[node] = made if several else made[0]
        else:
            self._operator(node)

    def _operator(self, node):
        value = node.meta["val"]
        several = isinstance(value, (list, tuple))
        read = {user.args[1] for user in node.users if _is_item(user) and user.users}
        results = [x if i in read else None for i, x in enumerate(value)] if several else [value]
        layouts = self._array(_Tensor, [_layout(result) for result in results])
        numbers = (ctypes.c_uint64 * len(results))()
        args, count = self._arguments(node)
        self.library.aten_graph_node(self.graph, _row(node.target), args, count, layouts, len(results), numbers)
        self.numbers[node] = list(numbers) if several else numbers[0]

    def build(self):
        try:
            for node in self.module.graph.nodes:
                if node.op != "output":
                    self.add(node)
            (results,) = next(n for n in self.module.graph.nodes if n.op == "output").args
            results = results if isinstance(results, (list, tuple)) else [results]
            numbers = self._array(ctypes.c_uint64, [self.numbers[node] for node in results])
        except BaseException:
            self.library.aten_graph_destroy(self.graph)
            raise
        message = ctypes.create_string_buffer(_MESSAGE)
        plan = self.library.aten_graph_compile(self.graph, numbers, len(results), message, _MESSAGE)
        if not plan:
            raise Unsupported(message.value.decode())
        return plan


class _Plan:
    """A compiled partition, which owns its plan."""

    def __init__(self, plan, device_index, single, stays):
        self.plan, self.device_index, self.single, self.library = plan, device_index, single, _library()
        self.stays = stays  # whether any input stays packed

    def packed(self):
        """Returns how often the inputs that stay packed have been packed."""
        return self.library.aten_plan_packed(self.plan)

    def __call__(self, *inputs):
        results = _ops.run_plan(self.plan, self.device_index, inputs)
        return results[0] if self.single else results

    def __del__(self):
        self.library.aten_release(self.plan)


class _Support(OperatorSupportBase):
    def is_node_supported(self, submodules, node):
        if node.op != "call_function":
            return False
        if _is_item(node):
            return self.is_node_supported(submodules, node.args[0])
        values = [n.meta.get("val") for n in (node, *node.all_input_nodes)]
        flat = [v for value in values for v in (value if isinstance(value, (list, tuple)) else [value])]
        tensors = [v for v in flat if isinstance(v, torch.Tensor)]
        if len(tensors) != len([v for v in flat if v is not None]) or not tensors:
            return False
        if any(t.device.type != DEVICE_TYPE or t.dtype not in _TYPES or t.dim() > _RANK for t in tensors):
            return False
        return _is_view(node.target) or _row(node.target) is not None


#: Totals since import: compiled partitions (DirectML graphs), the operators in them, operators that run eagerly, and the
#: reasons why partitions could not be compiled.
statistics = {"graphs": 0, "operators": 0, "eager_operators": 0, "problems": []}


def _operators(module):
    return sum(n.op == "call_function" and not _is_item(n) and not _is_view(n.target) for n in module.graph.nodes)


def _compile_part(module, device_index, fixed):
    (results,) = next(n for n in module.graph.nodes if n.op == "output").args
    single = not isinstance(results, (list, tuple))
    stays = any(tensor is not None for tensor in fixed)
    try:
        made = _Builder(module, device_index, fixed).build()
    except Unsupported:
        if not stays or _ops.host_memory(device_index):
            raise
        made, stays = _Builder(module, device_index, [None] * len(fixed)).build(), False  # constants take memory
    plan = _Plan(made, device_index, single, stays)
    statistics["graphs"] += 1
    statistics["operators"] += _operators(module)
    return plan


def _device_index(args):
    return next((a.device.index for a in args if isinstance(a, torch.Tensor) and a.device.type == DEVICE_TYPE), None)


class _Sizes(FakeTensorProp):
    """Propagates fake tensors through all nodes, and the numbers that are computed from their sizes. Plans return some results
    in other layouts than torch traced: a view that these do not allow is preceded by a copy."""

    def run_node(self, n):
        if n.target in _RESHAPES and not _has_view(self.env[n.args[0]], self.fetch_args_kwargs_from_env(n)[0][1]):
            source = n.args[0]
            with n.graph.inserting_before(n):
                packed = n.graph.call_function(torch.ops.aten.clone.default, (source,),
                                               {"memory_format": torch.contiguous_format})
            self.env[packed] = super().run_node(packed)
            n.replace_input_with(source, packed)
        result = super().run_node(n)
        if isinstance(result, (bool, int, float)):
            n.meta["val"] = result
        return result


_RESHAPES = {torch.ops.aten.view.default, torch.ops.aten._unsafe_view.default}


def _has_view(tensor, sizes):
    try:
        tensor.view(sizes)
    except (RuntimeError, ValueError):
        return False
    return True


def _settle_numbers(graph):
    """Replaces nodes that are computed from sizes by their values, because sizes are known."""
    def settled(node):
        value = node.meta.get("val")
        return value if isinstance(value, (bool, int, float)) else node
    for node in graph.nodes:
        node.args, node.kwargs = torch.fx.map_arg((node.args, node.kwargs), settled)
    for node in reversed(graph.nodes):
        if node.op == "call_function" and not node.users and settled(node) is not node:
            graph.erase_node(node)


def _constants(args, fixed, index):
    """The arguments that become constants, as {index: tensor}: on devices with their own memory, which then holds them twice,
    up to half of the free memory; elsewhere they are packed copies."""
    tensors = {i: args[i] for i in fixed if isinstance(args[i], torch.Tensor)}
    if index is None or _ops.host_memory(index):
        return tensors
    free, _ = torch.dml.mem_get_info(index)
    return tensors if 2 * sum(t.nbytes for t in tensors.values()) <= free else {}


class _Special:
    """A graph for arguments of given sizes: a module with compiled partitions."""
    LOOK = 16  # calls

    def __init__(self, module, args, fixed):
        module = torch.fx.GraphModule(module, copy.deepcopy(module.graph))
        rewrites.settle_attention(module.graph)
        mode = FakeTensorMode(allow_non_fake_inputs=True)
        fakes = [mode.from_tensor(a, static_shapes=True) if isinstance(a, torch.Tensor) else a for a in args]
        with mode:
            _Sizes(module, mode).propagate_dont_convert_inputs(*fakes)
        _settle_numbers(module.graph)
        rewrites.settle_softmax(module.graph, _is_view)
        module.recompile()
        index = _device_index(args)
        self.plans, self.calls, self.packed = [], 0, 0
        self.fixed = _constants(args, fixed, index)
        own = bool(self.fixed) and not _ops.host_memory(index)
        self.contents = _ops.contents_of(list(self.fixed.values())) if own else None
        self.module = self._compiled(module, index)
        self.fixed = list(self.fixed)

    def _compiled(self, module, index):
        if index is None or not _library():
            statistics["eager_operators"] += _operators(module)
            return module
        inputs = [node for node in module.graph.nodes if node.op == "placeholder"]
        staying = {inputs[i].name: tensor for i, tensor in self.fixed.items()}
        partitioner = CapabilityBasedPartitioner(module, _Support(), allows_single_node_partition=False)
        fused = partitioner.fuse_partitions(partitioner.propose_partitions(), prefix="directml_")
        for node in [n for n in fused.graph.nodes if n.op == "call_module" and n.target.startswith("directml_")]:
            part = getattr(fused, node.target)
            try:
                plan = _compile_part(part, index, [staying.get(a.name) if a.op == "placeholder" else None
                                                   for a in node.args])
            except Unsupported as problem:
                statistics["problems"].append(str(problem))
                statistics["eager_operators"] += _operators(part)
                continue
            part.forward = plan
            self.plans.append(plan)
        statistics["eager_operators"] += _operators(fused)
        return fused

    def keeps_packing(self):
        """Returns whether inputs that should stay packed change in most calls; checks this once every LOOK calls."""
        self.calls += 1
        if self.calls % self.LOOK or self.contents is not None:
            return False
        before, self.packed = self.packed, sum(plan.packed() for plan in self.plans)
        return (self.packed - before) * 4 > 3 * self.LOOK * sum(plan.stays for plan in self.plans)

    def is_stale(self, args):
        """Returns whether constants of the graph have other contents than when it was compiled."""
        return self.contents is not None and _ops.contents_of([args[i] for i in self.fixed]) != self.contents


class _Compiled:
    """A graph that is specialized for each set of sizes with which it is called; the least recently used specializations are
    discarded."""
    LIMIT = 64
    STALE = 3  # specializations whose constants have changed until the inputs are constants no longer

    def __init__(self, module, fixed=()):
        self.module, self.fixed, self.made, self.lock = module, fixed, {}, threading.Lock()
        self.stale = 0

    def _settle_fixed(self, special, args):
        """Returns the specialization if it may be used; decides whether inputs that change often stay fixed."""
        if special is None:
            return None
        if special.is_stale(args):
            self.stale += 1
            self.fixed = () if self.stale >= self.STALE else self.fixed
            return None
        if special.keeps_packing():
            self.fixed = ()
            return None
        return special

    def _special(self, key, args):
        with self.lock:
            special = self._settle_fixed(self.made.pop(key, None), args)
            special = special or _Special(self.module, args, self.fixed)
            self.made[key] = special  # as the most recently used
            while len(self.made) > self.LIMIT:
                del self.made[next(iter(self.made))]
            return special

    def __call__(self, *args):
        key = tuple((a.shape, a.stride(), a.dtype) if isinstance(a, torch.Tensor) else a for a in args)
        return self._special(key, args).module(*args)


def _compiler(module, example_inputs):
    from functorch.compile import make_boxed_func
    return make_boxed_func(_Compiled(module))


def _inference_compiler(module, example_inputs):
    """Parameters and buffers that the graph does not write stay packed until they change."""
    from functorch.compile import make_boxed_func
    context = torch._guards.TracingContext.try_get()
    metadata = context and context.fw_metadata
    infos = metadata.input_info if metadata else ()
    fixed = [i for i in (metadata.static_input_indices or () if metadata else ())
             if i < len(infos) and not infos[i].mutates_data and not infos[i].mutates_metadata]
    return make_boxed_func(_Compiled(module, fixed))


_CHANNELS_LAST = {4: torch.channels_last, 5: torch.channels_last_3d}


def _images(graph):
    """Returns the nodes whose values are images: inputs and outputs of convolutions, and values computed from images that have
    the same batch and channels."""
    def shape(node):
        value = node.meta.get("val")
        return value.shape if isinstance(value, torch.Tensor) and value.dim() in _CHANNELS_LAST else None

    images = set()
    for node in graph.nodes:
        if node.op != "call_function":
            continue
        if node.target is torch.ops.aten.convolution.default:
            images.update(n for n in (node, node.args[0]) if shape(n))
        elif shape(node) and not _is_view(node.target):
            source = node.args[0] if _is_item(node) else node
            images.update([node] if any(n in images and shape(n)[:2] == shape(node)[:2]
                                        for n in source.all_input_nodes) else [])
    return images


def _reordered(graph, node, memory_format):
    """Inserts a copy of the node's value with another memory format."""
    copy = graph.call_function(torch.ops.aten.clone.default, (node,), {"memory_format": memory_format})
    copy.meta["val"] = node.meta["val"].clone(memory_format=memory_format)
    return copy


def _keep_images_channels_last(forward, backward, results):
    """Saves images for the backward pass in NHWC, the layout in which convolutions are fastest: the forward graph converts
    the saved values, which follow its first `results` results, and the backward graph converts them back. Usually the
    compiler of DirectML eliminates both copies."""
    output = forward.output_node()
    values, images = list(output.args[0]), _images(forward)
    readers = {node.name: node for node in backward.nodes if node.op == "placeholder"}
    for i in range(results, len(values)):
        node = values[i]
        if node not in images or node.op == "placeholder" or node in values[:results] or _is_view(node.target):
            continue
        reader = readers.get(node.name)
        if reader is None or not node.meta["val"].is_contiguous() or reader.meta["val"].shape != node.meta["val"].shape:
            continue
        order = _CHANNELS_LAST[node.meta["val"].dim()]
        with forward.inserting_before(output):
            values[i] = _reordered(forward, node, order)
        reader.meta["val"] = values[i].meta["val"]
        users = list(reader.users)
        with backward.inserting_before(next(n for n in backward.nodes if n.op != "placeholder")):
            plain = _reordered(backward, reader, torch.contiguous_format)
        for user in users:
            user.replace_input_with(reader, plain)
    output.args = (tuple(values), *output.args[1:])


def _partition(joint, inputs, *, num_fwd_outputs, **options):
    from functorch.compile import min_cut_rematerialization_partition
    rewrites.settle_attention(joint.graph)
    joint.recompile()
    forward, backward = min_cut_rematerialization_partition(joint, inputs, num_fwd_outputs=num_fwd_outputs, **options)
    _keep_images_channels_last(forward.graph, backward.graph, num_fwd_outputs)
    forward.recompile(), backward.recompile()
    return forward, backward


def _decompositions():
    from torch._decomp import core_aten_decompositions
    table = dict(core_aten_decompositions())
    for target in [target for target in table if _row(target) is not None]:
        del table[target]  # the device supports it as a single operator
    return table


@functools.lru_cache(None)
def _backend():
    return aot_autograd(fw_compiler=_compiler, bw_compiler=_compiler, inference_compiler=_inference_compiler,
                        decompositions=_decompositions(), partition_fn=_partition)


def directml(module, example_inputs, **options):
    """The backend for torch.compile(backend="directml"), an entry point of torch_dynamo_backends (pyproject.toml). Raises
    TypeError if options are given."""
    if options:
        raise TypeError(f"the backend directml does not support options: {', '.join(options)}")
    return _backend()(module, example_inputs)


def compile(model=None, **options):  # like torch.compile
    """torch.compile with backend="directml". Can be used as a decorator."""
    return torch.compile(model, backend=directml, **options)
