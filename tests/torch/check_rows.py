#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares rows of bindings/torch/ops/ops.def with the CPU's results, without the glue: OpInfo's samples run on the
CPU, and each aten call that has a row is repeated through the C library on the same memory.

    check_rows.py LIBRARY [-d float32,int64] [-k SUBSTRING-OF-OPINFO-NAME] [-r ROW[,ROW]]
                  [-i ADAPTER] [-v]

Prints a line for each row: calls that agree, that the builder refused (fallback), that differ. Exits with 1 if any
differ. Needs torch with its testing package; LIBRARY: build/bindings/torch/ops/libanydml_torch_ops.so."""
import argparse
import collections
import ctypes as C
import sys

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten

RANK = 8
NONE, TENSOR, TENSORS, INT, REAL, BOOL, INTS, REALS, BOOLS, STRING, GENERATOR = range(11)
TYPES = {torch.uint8: 0, torch.int8: 1, torch.int16: 2, torch.int32: 3, torch.int64: 4, torch.float16: 5,
         torch.float32: 6, torch.float64: 7, torch.bool: 11, torch.bfloat16: 15}


class Tensor(C.Structure):
    _fields_ = [('type', C.c_int32), ('rank', C.c_uint32), ('sizes', C.c_int64 * RANK), ('strides', C.c_int64 * RANK),
                ('data', C.c_void_p)]


class Value(C.Union):
    _fields_ = [('tensors', C.POINTER(Tensor)), ('integer', C.c_int64), ('real', C.c_double),
                ('integers', C.POINTER(C.c_int64)), ('reals', C.POINTER(C.c_double)), ('string', C.c_char_p)]


class Arg(C.Structure):
    _anonymous_ = ['u']
    _fields_ = [('kind', C.c_int), ('count', C.c_uint32), ('u', Value)]


class Op(C.Structure):
    _fields_ = [('name', C.c_char_p), ('overload', C.c_char_p), ('out_overload', C.c_char_p), ('in_place', C.c_bool),
                ('no_functional', C.c_bool), ('random', C.c_bool), ('writes', C.c_uint32)]


class Refused(Exception):
    pass


def tensor_of(t):
    if t is None:
        return Tensor(type=-1)
    if t.dtype not in TYPES or t.dim() > RANK or t.layout != torch.strided:
        raise Refused(f'{t.dtype} {t.dim()} dimensions')
    return Tensor(TYPES[t.dtype], t.dim(), (C.c_int64 * RANK)(*t.shape), (C.c_int64 * RANK)(*t.stride()),
                  t.data_ptr())


def arg_of(value, kept):
    """kept: keeps what the argument points to alive."""
    def array(kind, ctype, values):
        data = (ctype * max(1, len(values)))(*values)
        kept.append(data)
        arg = Arg(kind, len(values))
        setattr(arg, {C.c_int64: 'integers', C.c_double: 'reals', Tensor: 'tensors'}[ctype], data)
        return arg

    if value is None or isinstance(value, torch.device):
        return Arg(NONE)
    if isinstance(value, torch.Tensor):
        if value.dim() == 0 and getattr(value, 'wrapped', False):
            value = value.item()
        else:
            return array(TENSOR, Tensor, [tensor_of(value)])
    if isinstance(value, torch.dtype):
        if value not in TYPES:
            raise Refused(str(value))
        return Arg(INT, 0, Value(integer=TYPES[value]))
    if isinstance(value, torch.memory_format):
        order = [torch.contiguous_format, torch.preserve_format, torch.channels_last, torch.channels_last_3d]
        return Arg(INT, 0, Value(integer=order.index(value)))
    if isinstance(value, torch.layout):
        return Arg(INT)
    if isinstance(value, bool):
        return Arg(BOOL, 0, Value(integer=value))
    if isinstance(value, int):
        return Arg(INT, 0, Value(integer=value))
    if isinstance(value, float):
        return Arg(REAL, 0, Value(real=value))
    if isinstance(value, str):
        text = value.encode()
        kept.append(text)
        return Arg(STRING, 0, Value(string=text))
    if isinstance(value, (list, tuple)):
        if any(isinstance(v, torch.Tensor) for v in value):
            return array(TENSORS, Tensor, [tensor_of(v) for v in value])
        if value and all(isinstance(v, bool) for v in value):
            return array(BOOLS, C.c_int64, value)
        if any(isinstance(v, float) for v in value):
            return array(REALS, C.c_double, value)
        if all(isinstance(v, int) for v in value):
            return array(INTS, C.c_int64, value)
    raise Refused(f'argument {type(value).__name__}')


class Library:
    def __init__(self, path, index=0):
        lib = self.lib = C.CDLL(path)
        for name in ('aten_op_at', 'aten_op_find', 'aten_device_open', 'aten_find', 'aten_compile', 'aten_allocate'):
            getattr(lib, name).restype = C.c_void_p
        for name in ('aten_run', 'aten_host_memory', 'aten_copy'):
            getattr(lib, name).restype = C.c_bool
        self.message = C.create_string_buffer(512)
        lib.aten_device_count.restype = C.c_uint32
        self.device = C.c_void_p(lib.aten_device_open(index, self.message, 512))
        assert self.device, self.message.value
        self.host = lib.aten_host_memory(self.device)
        self.rows = {}
        at = lib.aten_op_at(0)
        i = 0
        while at:
            op = C.cast(at, C.POINTER(Op)).contents
            self.rows[op.name.decode(), op.overload.decode()] = (C.c_void_p(at), op)
            i += 1
            at = lib.aten_op_at(i)

    def run(self, row, args, outputs):
        """Into outputs (None: not wanted). Raises Refused when there is no plan, and RuntimeError."""
        kept = []
        c_args = (Arg * max(1, len(args)))(*[arg_of(a, kept) for a in args])
        c_out = (Tensor * max(1, len(outputs)))(*[tensor_of(t) for t in outputs])
        call = (c_args, C.c_uint32(len(args)), c_out, C.c_uint32(len(outputs)))
        if self.host:
            self.run_call(row, call)
            return
        moved = [self.to_device(t) for a in c_args for t in (a.tensors[:a.count] if a.kind in (TENSOR, TENSORS) else [])
                 if t.type >= 0]
        written = [self.to_device(t) for t in c_out[:len(outputs)] if t.type >= 0]
        for arg in c_args:
            if arg.kind in (TENSOR, TENSORS):
                for i in range(arg.count):
                    if arg.tensors[i].type >= 0:
                        arg.tensors[i].data = next(m[2] for m in moved if m[0] == arg.tensors[i].data)
        for i in range(len(outputs)):
            if c_out[i].type >= 0:
                c_out[i].data = next(m[2] for m in written if m[0] == c_out[i].data)
        try:
            self.run_call(row, call)
            for host, size, address in written:
                self.copy(host, address, size, 1)
        finally:
            for host, size, address in moved + written:
                self.lib.aten_free(self.device, C.c_void_p(address))

    def copy(self, to, source, size, direction):
        if not self.lib.aten_copy(self.device, C.c_void_p(to), C.c_void_p(source), C.c_size_t(size),
                                  C.c_int(direction), self.message, C.c_size_t(512)):
            raise RuntimeError(self.message.value.decode())

    def to_device(self, t):
        size = 0
        if all(t.sizes[:t.rank]):
            bytes_ = next(d.itemsize for d, number in TYPES.items() if number == t.type)
            size = (1 + sum((t.sizes[i] - 1) * t.strides[i] for i in range(t.rank))) * bytes_
        address = self.lib.aten_allocate(self.device, C.c_size_t(size))
        self.copy(address, t.data, size, 0) if size else None
        return t.data, size, address

    def run_call(self, row, call):
        plan = self.lib.aten_find(self.device, row, *call)
        if not plan:
            plan = self.lib.aten_compile(self.device, row, *call, self.message)
        if not plan:
            raise Refused(self.message.value.decode())
        plan = C.c_void_p(plan)
        ok = self.lib.aten_run(plan, *call, self.message, C.c_size_t(512))
        self.lib.aten_release(plan)
        if not ok:
            raise RuntimeError(self.message.value.decode())


def poisoned(like):
    """A tensor of the same layout, full of values that would be noticed."""
    if like is None:
        return None
    y = torch.empty_strided(like.shape, like.stride(), dtype=like.dtype)
    if y.numel() and y.is_contiguous() and y.dtype != torch.bool:
        y.reshape(-1).view(torch.uint8).fill_(0x5b)
    return y


class Checker(TorchDispatchMode):
    def __init__(self, library, only, verbose):
        super().__init__()
        self.library, self.only, self.verbose = library, only, verbose
        self.counts = collections.defaultdict(collections.Counter)
        self.reasons = collections.defaultdict(collections.Counter)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        schema = func._schema
        name, overload = schema.name.partition('::')[2], schema.overload_name
        row = self.library.rows.get((name, overload))
        if row is None or row[1].no_functional or row[1].random or (self.only and name not in self.only):
            return func(*args, **kwargs)
        values = list(args) + [kwargs.get(a.name, a.default_value) for a in schema.arguments[len(args):]]
        before = [v.clone() if isinstance(v, torch.Tensor) and row[1].writes >> i & 1 else v
                  for i, v in enumerate(values)]
        result = func(*args, **kwargs)
        flat = [r for r in (result if isinstance(result, (list, tuple)) else [result])]
        flat = [x for r in flat for x in (r if isinstance(r, (list, tuple)) else [r])]
        if not all(r is None or isinstance(r, torch.Tensor) for r in flat):
            return result
        for i, v in enumerate(values):
            if row[1].writes >> i & 1:
                flat += list(v) if isinstance(v, (list, tuple)) else [v]
        self.check((name, overload), row, before, flat)
        return result

    def check(self, key, row, values, expected):
        label = '.'.join(filter(None, key))
        outputs = [poisoned(t) for t in expected]
        for position in (i for i in range(32) if row[1].writes >> i & 1):
            outputs[len(outputs) - bin(row[1].writes >> position).count('1')] = values[position]
        try:
            self.library.run(row[0], values, outputs)
        except Refused as why:
            self.counts[label]['refused'] += 1
            self.reasons[label][str(why)[:150]] += 1
            return
        for i, (got, want) in enumerate(zip(outputs, expected)):
            problem = differs(got, want, [v for v in values if isinstance(v, torch.Tensor)])
            if problem:
                self.counts[label]['differ'] += 1
                text = f'result {i}: {problem}'
                self.reasons[label][text.splitlines()[0][:150]] += 1
                if self.verbose:
                    print(label, text, [tuple(v.shape) + (v.dtype, v.stride()) if isinstance(v, torch.Tensor) else v
                                        for v in values])
                return
        self.counts[label]['agree'] += 1


TOLERANCES = {torch.float16: (2e-3, 1e-3), torch.bfloat16: (1.6e-2, 1e-2), torch.float32: (1e-5, 2e-5),
              torch.float64: (1e-7, 1e-7)}


def differs(got, want, inputs):
    if got is None or want is None:
        return None
    rtol, atol = TOLERANCES.get(want.dtype, (0, 0))
    if want.is_floating_point() and want.numel() and want.isfinite().any():
        atol *= max(1.0, float(want[want.isfinite()].abs().max()) / 100)
    try:
        torch.testing.assert_close(got, want, rtol=rtol, atol=atol, equal_nan=True)
    except AssertionError as e:
        lines = [line for line in str(e).splitlines() if 'ifference' in line or 'differ' in line or 'match' in line]
        return ' '.join(lines[1:] or lines)
    return None


def samples(op, dtype):
    try:
        yield from op.sample_inputs('cpu', dtype, requires_grad=False)
        if op.supports_autograd and dtype.is_floating_point:
            for s in op.sample_inputs('cpu', dtype, requires_grad=True):
                yield s
    except Exception:  # samples that cannot be made on this machine
        return


def run_sample(op, sample):
    out = op(sample.input, *sample.args, **sample.kwargs)
    leaves = [t for t in tree_flatten(out)[0] if isinstance(t, torch.Tensor) and t.requires_grad]
    if leaves:
        torch.autograd.backward(leaves, [torch.randn_like(t) for t in leaves])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('library')
    parser.add_argument('-d', '--dtypes', default='float32')
    parser.add_argument('-k', '--opinfo', default='')
    parser.add_argument('-r', '--rows', default='')
    parser.add_argument('-i', '--index', type=int, default=0, help='of the adapter')
    parser.add_argument('-v', '--verbose', action='store_true')
    options = parser.parse_args()
    from torch.testing._internal.common_methods_invocations import op_db
    checker = Checker(Library(options.library, options.index), set(filter(None, options.rows.split(','))), options.verbose)
    torch.manual_seed(1)
    for op in op_db:
        if options.opinfo not in op.name:
            continue
        for dtype in (getattr(torch, d) for d in options.dtypes.split(',')):
            if dtype not in op.dtypes:
                continue
            for sample in samples(op, dtype):
                try:
                    with checker:
                        run_sample(op, sample)
                except Exception as e:
                    if options.verbose:
                        print(op.name, type(e).__name__, str(e)[:200])
    for label, count in sorted(checker.counts.items()):
        print(f"{label:45} agree {count['agree']:6} refused {count['refused']:5} differ {count['differ']:5}", end='')
        print('' if not checker.reasons[label] else '   ' + checker.reasons[label].most_common(1)[0][0])
    differ = sum(count['differ'] for count in checker.counts.values())
    print(f'{len(checker.counts)} of {len(checker.library.rows)} rows called, {differ} calls differ')
    return differ != 0


if __name__ == '__main__':
    sys.exit(main())
