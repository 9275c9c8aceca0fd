# SPDX-License-Identifier: Apache-2.0
"""Tensors in memory, and the driver process with its format (driver.h has it)."""
import os
import select
import struct
import subprocess
import tempfile

import numpy as np

from conf_schema import NibbleArray, Nibbles, bfloat_bits, dtype_of, type_name

STAGES = ("done", "CreateOperator", "CompileOperator", "execution", "guard", "request")
SOURCES = ("direct", "identity", "not", "constant")
NONE = 0xFFFFFFFF
GRAPH_SLOTS = 12
MAX_ELEMENTS = 1 << 20  # that gaps may stretch a tensor to


def bits_of(name):
    dtype = dtype_of(name)
    return 4 if isinstance(dtype, Nibbles) else dtype.itemsize * 8


class Layout:
    """Where the elements of a tensor lie: strides in elements (None: packed, not given) and the size of the memory."""

    def __init__(self, name, shape, strides=None, slack=0):
        self.name, self.shape, self.strides, self.bits = name, tuple(shape), strides, bits_of(name)
        self.real = strides if strides is not None else packed_strides(shape)
        self.extent = 1 + sum((size - 1) * stride for size, stride in zip(self.shape, self.real))
        self.bytes = ((self.extent * self.bits + 7) // 8 + 3) // 4 * 4 + slack

    def indices(self):
        """The element's position in memory, for each index."""
        out = np.zeros(self.shape, np.int64)
        for axis, (size, stride) in enumerate(zip(self.shape, self.real)):
            out += (np.arange(size) * stride).reshape([-1 if i == axis else 1 for i in range(len(self.shape))])
        return out

    def store(self, array, poison):
        """The tensor's memory as bytes."""
        if self.bits == 4:
            nibbles = np.full(self.bytes * 2, poison & 15, np.uint8)
            nibbles[1::2] = poison >> 4
            nibbles[self.indices()] = np.asarray(array).astype(np.uint8) & 15
            return (nibbles[::2] | nibbles[1::2] << 4).tobytes()
        memory = np.full(self.bytes, poison, np.uint8)
        elements = memory[:self.bytes // (self.bits // 8) * (self.bits // 8)].view(dtype_of(self.name))
        elements[self.indices()] = array
        return memory.tobytes()

    def load(self, data, poison):
        """(array, whether all bytes between the elements are poison)."""
        memory = np.frombuffer(data, np.uint8)
        where = self.indices()
        if self.bits == 4:
            nibbles = np.empty(len(memory) * 2, np.uint8)
            nibbles[::2], nibbles[1::2] = memory & 15, memory >> 4
            values = nibbles[where]
            dtype = dtype_of(self.name)
            if dtype.low < 0:
                values = ((values.astype(np.int8) ^ 8) - 8).astype(np.int8)
            expected = np.full(len(nibbles), poison & 15, np.uint8)
            expected[1::2] = poison >> 4
            rest = np.ones(len(nibbles), bool)
            rest[where] = False
            # The last byte's other half is unused.
            rest[self.extent:self.extent + self.extent % 2] = False
            return dtype.wrap(values), bool((nibbles == expected)[rest].all())
        size = self.bits // 8
        elements = memory[:len(memory) // size * size].view(dtype_of(self.name))
        rest = np.ones(len(memory), bool)
        rest[:len(elements) * size].reshape(-1, size)[where] = False
        return elements[where], bool((memory[rest] == poison).all())


def packed_strides(shape):
    out, stride = [], 1
    for size in reversed(shape):
        out.append(stride)
        stride *= size
    return out[::-1]


def _constant_axes(array):
    """The dimensions along which the bytes do not change."""
    raw = np.asarray(np.ascontiguousarray(array))
    raw = raw.view(f"u{raw.dtype.itemsize}")
    return [axis for axis in range(raw.ndim)
            if raw.shape[axis] > 1 and (raw == np.take(raw, [0], axis=axis)).all()]


def random_layout(rng, array, name, is_output):
    """A layout that the array can have."""
    shape = array.shape
    slack = int(rng.choice([0, 0, 0, 4, 16]))
    kind = rng.random()
    broadcast = [] if is_output else [axis for axis in _constant_axes(array) if rng.random() < 0.7]
    if kind < 0.4 and not broadcast:
        return Layout(name, shape, None, slack)
    order = list(range(len(shape)))
    if kind > 0.6:
        rng.shuffle(order)
    strides, stride = [0] * len(shape), 1
    for axis in reversed(order):
        if axis in broadcast:
            continue
        if kind > 0.75 and rng.random() < 0.5:
            stride += int(rng.integers(1, 4)) * (stride if rng.random() < 0.3 and stride < 4096 else 1)
        strides[axis] = stride
        stride *= shape[axis]
    return Layout(name, shape, strides if stride < MAX_ELEMENTS else None, slack)


class Encoder:
    """One case as a request."""

    def __init__(self, schema, op, case, rng):
        self.schema, self.op, self.case, self.rng = schema, schema.operators[op], case, rng
        self.poison = int(rng.choice([0xFF, 0xA5, 0x00, 0x7C]))
        self.graph = self.may_be_graph() and rng.random() < 0.25
        self.sources = []  # of each tensor, for people
        self.words = bytearray()
        self.inputs = []   # per slot: (layout, owned) or None
        self.outputs = []  # per slot: (field, index, layout) or None
        self.plan_aliases()
        self.word(self.op.number, int(rng.choice([0, 0, 0, 2, 4])), self.poison, self.graph)
        values = self.complete(self.op, case.fields)
        for field in self.op.fields:
            self.field(field, values.get(field.name), values)
        for field in list(case.fields) + list(case.outputs):
            assert field in self.op.by_name, f"{op} has no field {field}"

    @property
    def seen(self):
        """(field, data type) of every tensor."""
        named = [(field.name, self.case.fields.get(field.name) if field.kind == "input" else self.case.outputs.get(field.name))
                 for field in self.op.fields if field.kind != "attribute"]
        flat = [(name, one) for name, given in named for one in (given if isinstance(given, list) else [given])]
        return {(name, type_name(one)) for name, one in flat if one is not None}

    def describe(self):
        """The case for people."""
        slots = [f"{one.name}{list(one.shape)}" + (f" strides {one.strides}" if one.strides is not None else "")
                 if one else "-" for one in self.inputs]
        slots += ["-> " + f"{one[2].name}{list(one[2].shape)}" + (f" strides {one[2].strides}" if one[2].strides else "") +
                  (" over an input" if one[3] else "") if one else "-> -" for one in self.outputs]
        plain = {name: value for name, value in self.case.fields.items()
                 if not isinstance(value, np.ndarray) and not (isinstance(value, list) and value and
                                                               isinstance(value[0], np.ndarray))}
        graph = f"\n  in a graph: {', '.join(self.sources)}" if self.graph else ""
        return f"  {'; '.join(slots)}\n  {plain}{graph}"

    def request(self):
        return struct.pack("<I", len(self.words)) + bytes(self.words)

    def complete(self, op, fields):
        """The fields with the lengths of arrays and the types of scalars."""
        out = dict(fields)
        for field in op.fields:
            given = fields.get(field.name)
            if field.kind == "output" and op is self.op:
                given = out[field.name] = self.case.outputs.get(field.name)
            if field.length and given is not None:
                out.setdefault(field.length, len(given))
        for field in op.fields:
            if field.type == "type" and field.name not in out:
                results = [x for x in self.case.outputs.values() if x is not None]
                out[field.name] = type_name(results[0])
        return out

    def may_be_graph(self):
        """A node of a graph has at most DRIVER_GRAPH_SLOTS inputs and outputs, and every output of a graph has an edge, so
        that none of the operator's may be absent."""
        def slots(given):
            return sum(len(one) if isinstance(one, list) else 1 for one in given)
        named = {field.name: field.kind for field in self.op.fields}
        return (all(self.case.outputs.get(name) is not None for name, kind in named.items() if kind == "output") and
                slots(value for name, value in self.case.fields.items() if named.get(name) == "input") <= 6 and
                slots(self.case.outputs.values()) <= 6 and
                sum(field.kind == "input" for field in self.op.fields) <= GRAPH_SLOTS and
                # Every output of a graph has an edge.
                all(self.case.outputs.get(field.name) is not None for field in self.op.fields if field.kind == "output"))

    def source(self, layout, array):
        """How a tensor reaches the operator in a graph; nodes for it need a type and strides that an output may have."""
        plain = layout.bits >= 8 and all(stride or size == 1 for size, stride in zip(layout.shape, layout.real))
        choices = (["direct"] + (["identity", "not"] if plain else []) + (["constant"] if array is not None else []))
        out = self.rng.choice(choices) if self.graph else "direct"
        self.sources.append(str(out))
        return SOURCES.index(out)

    def plan_aliases(self):
        """Which output shares its memory with which input slot."""
        self.alias = {}
        if self.graph:
            return
        inputs = [self.case.fields.get(field.name) for field in self.op.fields if field.kind == "input"]
        for field in self.op.fields:
            want = self.case.outputs.get(field.name)
            if field.kind != "output" or not field.aliases or want is None or self.rng.random() > 0.2:
                continue
            for slot, given in enumerate(inputs):
                if (field.aliases >> slot & 1 and isinstance(given, np.ndarray) and given.shape == want.shape and
                        type_name(given) == type_name(want) and slot not in self.alias.values()):
                    self.alias[field.name] = slot
                    break

    def word(self, *values):
        for value in values:
            self.words += struct.pack("<I", int(value) & NONE)

    def raw(self, data):
        self.words += data + bytes(-len(data) % 4)

    def layout(self, field, array, is_output):
        array = np.ma.getdata(array) if not isinstance(array, NibbleArray) else array
        packed = self.case.packed
        if packed is True or field.name in packed:
            return Layout(type_name(array), array.shape)
        return random_layout(self.rng, array, type_name(array), is_output)

    def input(self, field, array):
        if array is None:
            self.inputs.append(None)
            self.word(0)
            return
        array = array if isinstance(array, np.ndarray) else np.asarray(array)
        array = array.astype(np.uint8) if array.dtype == np.bool_ else array
        aliased = len(self.inputs) in self.alias.values()
        layout = self.layout(field, array, aliased)
        source = self.source(layout, array)
        owned = not aliased and not source and self.rng.random() < 0.15 and self.case.owned
        self.inputs.append(layout)
        self.tensor(layout, owned)
        data = layout.store(array, self.poison)
        self.word(NONE, source, len(data))
        self.raw(data)

    def output(self, field, index, array):
        if array is None:
            self.outputs.append(None)
            self.word(0)
            return
        slot = self.alias.get(field.name)
        layout = self.inputs[slot] if slot is not None else self.layout(field, array, True)
        self.outputs.append((field.name, index, layout, slot is not None))
        self.tensor(layout, False)
        self.word(NONE if slot is None else slot, self.source(layout, None), 0)

    def tensor(self, layout, owned):
        self.word(1, self.schema.numbers[layout.name], owned, len(layout.shape), layout.strides is not None)
        self.word(*layout.shape)
        self.word(*(layout.strides or ()))
        self.word(layout.bytes, layout.bytes >> 32)

    def field(self, field, value, values):
        if field.type == "tensor":
            self.input(field, value) if field.kind == "input" else self.output(field, None, value)
        elif field.type == "tensors":
            self.word(len(value or ()))
            for index, one in enumerate(value or ()):
                self.input(field, one) if field.kind == "input" else self.output(field, index, one)
        else:
            self.attribute(field, value, values)

    def attribute(self, field, value, values):
        if field.type in ("uint", "int", "bool"):
            self.word(value or 0)
        elif field.type == "enum":
            self.word(field.values.index(value) if isinstance(value, str) else value or 0)
        elif field.type == "type":
            self.word(value if isinstance(value, int) else self.schema.numbers[type_name(value)])
        elif field.type == "float":
            self.words += struct.pack("<f", np.float32(0 if value is None else value))
        elif field.type == "scalar":
            self.scalar(0 if value is None else value, values)
        elif field.type == "size":
            self.word(*(value or (0, 0)))
        elif field.type == "scale_bias":
            self.word(value is not None)
            self.words += struct.pack("<ff", *map(np.float32, value)) if value is not None else b""
        elif field.type in ("uints", "ints"):
            self.word(NONE if value is None else len(value))
            self.word(*(value if value is not None else ()))
        elif field.type == "floats":
            self.word(NONE if value is None else len(value))
            self.words += np.asarray(value if value is not None else (), np.float32).tobytes()
        elif field.type == "activation":
            self.activations([] if value is None else [value])
        elif field.type == "activations":
            self.activations(value or [])
        else:
            raise AssertionError(field.type)

    def scalar(self, value, values):
        name = next(values[field.name] for field in self.op.fields if field.type == "type")
        dtype = dtype_of(type_name(name))
        value = bfloat_bits(value) if type_name(name) == "BFLOAT16" else value
        data = np.asarray(value).astype(dtype.storage if isinstance(dtype, Nibbles) else dtype).tobytes()
        # Bytes after the value must not matter.
        self.words += data + bytes([self.poison]) * (8 - len(data))

    def activations(self, activations):
        self.word(len(activations))
        for name, attributes in activations:
            op = self.schema.operators[name]
            self.word(op.number)
            for field in op.fields:
                if field.type == "tensor":
                    self.word(0)
                else:
                    assert field.type != "tensors"
                    self.attribute(field, attributes.get(field.name), attributes)


class Crash(Exception):
    pass


class Driver:
    """The process; started again after a crash."""

    def __init__(self, path, adapter, timeout):
        self.path, self.adapter, self.timeout, self.process, self.log = path, adapter, timeout, None, None

    def start(self):
        self.log = self.log or tempfile.TemporaryFile()
        self.log.seek(0)
        self.log.truncate()
        self.process = subprocess.Popen([self.path, "--adapter", self.adapter], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=self.log, bufsize=0)

    def stop(self):
        """Ends it; what a sanitizer says at the end is a crash too."""
        process, self.process = self.process, None
        if not process:
            return
        process.stdin.close()
        try:
            process.wait(self.timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()
        last_words = self.tail()
        self.log.close()
        self.log = None
        if process.returncode not in (0, 1):
            raise Crash(f"the driver ended with {process.returncode}: {last_words}")

    def tail(self):
        self.log.seek(0)
        text = self.log.read().decode(errors="replace")
        return text if len(text) < 3000 else text[:1500] + "\n...\n" + text[-1500:]

    def fail(self, reason):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()
        status, self.process = self.process.returncode, None
        raise Crash(f"{reason} (status {status}) {self.tail()}")

    def read(self, count):
        data = bytearray()
        while len(data) < count:
            if not select.select([self.process.stdout], [], [], self.timeout)[0]:
                self.fail(f"no answer within {self.timeout} s")
            part = os.read(self.process.stdout.fileno(), min(1 << 20, count - len(data)))
            if not part:
                try:
                    self.process.wait(10)
                except subprocess.TimeoutExpired:
                    pass
                self.fail("the driver crashed")
            data += part
        return bytes(data)

    def run(self, request):
        """(stage, HRESULT, message, list of the outputs' bytes)."""
        if not self.process:
            self.start()
        try:
            view = memoryview(request)
            while view:
                view = view[self.process.stdin.write(view):]
        except BrokenPipeError:
            self.read(1)
        answer = self.read(struct.unpack("<I", self.read(4))[0])
        stage, hr, length = struct.unpack_from("<III", answer)
        at = 12 + (length + 3) // 4 * 4
        message = answer[12:12 + length].decode(errors="replace")
        outputs, (count,) = [], struct.unpack_from("<I", answer, at)
        at += 4
        for _ in range(count):
            (size,) = struct.unpack_from("<I", answer, at)
            outputs.append(answer[at + 4:at + 4 + size])
            at += 4 + (size + 3) // 4 * 4
        if stage == 3:
            self.process.stdin.close()
            self.process.wait()
            self.process.stdout.close()
            self.process = None
        return STAGES[stage], hr, message, outputs
