#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures GEMMs with 4-bit weights in ggml (Q4_0: blocks of 32) through ctypes, to compare with `matvec.py --filter "level 4"`.

Its libraries are part of other projects' packages, for example npm's @node-llama-cpp/linux-x64 (`npm pack`, MIT), whose folder
bins/linux-x64 has one for each kind of CPU. Every kind of buffer that the library supports is measured (plain rows of blocks,
rows of eight columns, AMX tiles); the minimum of --rounds medians counts.

    python3 bench/ggml.py --library bins/linux-x64 --kinds icelake,sapphirerapids --rows 1,128 --threads 1
"""

import argparse
import ctypes
import os
import time

import numpy as np

Q4_0, F32 = 2, 0


class InitParams(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("buffer", ctypes.c_void_p), ("no_alloc", ctypes.c_bool)]


class PoolParams(ctypes.Structure):
    _fields_ = [("cpus", ctypes.c_bool * 512), ("threads", ctypes.c_int), ("priority", ctypes.c_int),
                ("poll", ctypes.c_uint32), ("strict", ctypes.c_bool), ("paused", ctypes.c_bool)]


class Ggml:
    def __init__(self, folder, kind):
        self.base = ctypes.CDLL(os.path.join(folder, "libggml-base.so"), mode=ctypes.RTLD_GLOBAL)
        self.cpu = ctypes.CDLL(os.path.join(folder, f"libggml-cpu-{kind}.so"), mode=ctypes.RTLD_LOCAL)
        self.backend = self.call(self.cpu, "ggml_backend_cpu_init")
        self.pool = None

    @staticmethod
    def call(library, name, *args, result=ctypes.c_void_p):
        function = getattr(library, name)
        function.restype = result
        return function(*(ctypes.c_void_p(a) if isinstance(a, int) and a > 2**31 else a for a in args))

    def __getattr__(self, name):
        return lambda *args, result=ctypes.c_void_p: self.call(self.base, "ggml_" + name, *args, result=result)

    def buffers(self):
        """Returns names and buffer types: the plain one, then those of the library for the CPU."""
        registry = self.call(self.cpu, "ggml_backend_cpu_reg")
        device = self.backend_reg_dev_get(registry, ctypes.c_size_t(0))
        found = [self.backend_cpu_buffer_type()]
        extra = self.backend_reg_get_proc_address(registry, b"ggml_backend_dev_get_extra_bufts")
        if extra:
            kinds = ctypes.CFUNCTYPE(ctypes.POINTER(ctypes.c_void_p), ctypes.c_void_p)(extra)(device)
            i = 0
            while kinds and kinds[i]:
                found.append(kinds[i])
                i += 1
        return [(self.backend_buft_name(f, result=ctypes.c_char_p).decode(), f) for f in found]

    def threads(self, count):
        params = PoolParams()
        self.threadpool_params_init(ctypes.byref(params), ctypes.c_int(count))
        params.poll = 50
        if self.pool:
            self.call(self.cpu, "ggml_backend_cpu_set_threadpool", self.backend, None)
            self.call(self.cpu, "ggml_threadpool_free", self.pool)
        self.pool = self.call(self.cpu, "ggml_threadpool_new", ctypes.byref(params))
        self.call(self.cpu, "ggml_backend_cpu_set_n_threads", self.backend, ctypes.c_int(count))
        self.call(self.cpu, "ggml_backend_cpu_set_threadpool", self.backend, self.pool)

    def context(self):
        return self.init(InitParams(1 << 24, None, True))

    def chain(self, buffer, size, rows, count):
        """Returns (graph, input, output) of `count` GEMMs of [rows, size] with [size, size]."""
        blocks = size * size // 32
        rng = np.random.default_rng(1)
        data = rng.integers(0, 256, (blocks, 18), np.uint8)
        data[:, :2] = np.full(blocks, 0.25 / np.sqrt(size), np.float16).view(np.uint8).reshape(-1, 2)
        weights = self.context()
        w = [self.new_tensor_2d(weights, Q4_0, ctypes.c_int64(size), ctypes.c_int64(size)) for _ in range(count)]
        if not self.backend_alloc_ctx_tensors_from_buft(weights, buffer):
            return None
        for tensor in w:
            self.backend_tensor_set(tensor, data.ctypes.data, ctypes.c_size_t(0), ctypes.c_size_t(data.nbytes))
        values = self.context()
        x = y = self.new_tensor_2d(values, F32, ctypes.c_int64(size), ctypes.c_int64(rows))
        for tensor in w:
            y = self.mul_mat(values, tensor, y)
        graph = self.new_graph(values)
        self.build_forward_expand(graph, y, result=None)
        self.backend_alloc_ctx_tensors_from_buft(values, self.backend_cpu_buffer_type())
        fill = rng.standard_normal((rows, size)).astype(np.float32)
        self.backend_tensor_set(x, fill.ctypes.data, ctypes.c_size_t(0), ctypes.c_size_t(fill.nbytes))
        return graph, x, y, data, fill

    def product(self, y, rows, size):
        out = np.empty((rows, size), np.float32)
        self.backend_tensor_get(y, out.ctypes.data, ctypes.c_size_t(0), ctypes.c_size_t(out.nbytes))
        return out

    def run(self, graph):
        self.backend_graph_compute(self.backend, graph, result=ctypes.c_int)


def right(ggml, buffer, size, rows):
    """Returns whether one GEMM agrees with Q4_0; None if the buffer does not support its weights."""
    made = ggml.chain(buffer, size, rows, 1)
    if not made:
        return None
    graph, _, y, data, x = made
    ggml.run(graph)
    codes = np.concatenate([data[:, 2:] & 15, data[:, 2:] >> 4], 1).astype(np.float32) - 8
    want = x @ (codes * data[:, :2].copy().view(np.float16)).reshape(size, size).T
    return np.abs(ggml.product(y, rows, size) - want).max() < 0.03 * np.abs(want).max()


def median(ggml, graph, seconds):
    times, end = [], time.perf_counter() + seconds
    ggml.run(graph)
    while time.perf_counter() < end or len(times) < 3:
        begin = time.perf_counter()
        ggml.run(graph)
        times.append(time.perf_counter() - begin)
    return sorted(times)[len(times) // 2]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", required=True)
    parser.add_argument("--kinds", default="icelake,sapphirerapids")
    parser.add_argument("--size", type=int, default=4096)
    parser.add_argument("--rows", default="1,128")
    parser.add_argument("--threads", default="1")
    parser.add_argument("--count", type=int, default=10, help="number of matrices; enough of them exceed the caches")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.3)
    args = parser.parse_args()
    print("| kind | buffer | rows | threads | us | right |\n|---|---|---|---|---|---|")
    for kind in args.kinds.split(","):
        ggml = Ggml(args.library, kind)
        for name, buffer in ggml.buffers():
            for rows in map(int, args.rows.split(",")):
                good = right(ggml, buffer, 256, rows)
                made = good is not None and ggml.chain(buffer, args.size, rows, args.count)
                if not made:
                    print(f"| {kind} | {name} | {rows} | - | - | - |", flush=True)
                    continue
                for threads in map(int, args.threads.split(",")):
                    ggml.threads(threads)
                    best = min(median(ggml, made[0], args.seconds) for _ in range(args.rounds)) / args.count
                    print(f"| {kind} | {name} | {rows} | {threads} | {best * 1e6:.0f} | {good} |", flush=True)


if __name__ == "__main__":
    main()
