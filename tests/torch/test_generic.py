# SPDX-License-Identifier: Apache-2.0
"""torch's own way of testing a device, instantiate_device_type_tests with the operators of OpInfo: methods, operators in place
and with `out` give what the function gives, also for tensors with gaps. (torch's test files themselves are not in its wheel.)
A seed chooses the operators again each day; TORCH_OPINFO_SEED=N repeats a choice, TORCH_OPINFO_CASES=N makes it larger."""
import itertools
import os
import random
import time
import unittest
import warnings

import torch
import torch_directml  # noqa: F401: the device
from torch.testing._internal.common_device_type import instantiate_device_type_tests, ops
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.common_utils import TestCase, freeze_rng_state
from torch.utils._pytree import tree_leaves, tree_map

SEED = int(os.environ.get("TORCH_OPINFO_SEED", int(time.time()) // 86400))
SAMPLES = 2
DENSE = [op for op in op_db if "sparse" not in op.name and "jiterator" not in op.name and "empty" not in op.name]
CHOSEN = random.Random(SEED).sample(DENSE, min(len(DENSE), int(os.environ.get("TORCH_OPINFO_CASES", 60))))
# Sums, of products or of elements: methods, outputs with gaps and similar may add the terms in another order.
SUMS = {"__rmatmul__", "addbmm", "addmm", "addmv", "addr", "baddbmm", "bmm", "cumsum", "dot", "einsum", "inner",
        "linalg.multi_dot", "linalg.vecdot", "matmul", "mm", "mv", "nansum", "nn.functional.bilinear", "nn.functional.linear",
        "sum", "sum_to_size", "tensordot", "trace", "vdot"}
ROUNDOFF = 2.0 ** -24
warnings.simplefilter("ignore")


def seeded(function, *args, **kwargs):
    with freeze_rng_state():
        torch.manual_seed(5)
        return function(*args, **kwargs)


def call(function, sample, **more):
    return seeded(function, sample.input, *sample.args, **sample.kwargs, **more)


def room_of(op, sample):
    """How far two sums of the same terms may lie apart, of elements: in either, n roundings of the sum of the terms' sizes at
    most. The operator itself gives n, of ones, and the sum of sizes, of absolute values."""
    if op.name not in SUMS:
        return None

    def of(change):
        def moved(x):
            return change(x.detach().double()) if isinstance(x, torch.Tensor) and x.is_floating_point() else x
        factors = {k: change(torch.tensor(float(v))).item() for k, v in sample.kwargs.items() if k in ("alpha", "beta")}
        x, args, kwargs = tree_map(moved, (sample.input, sample.args, sample.kwargs))
        return seeded(op, x, *args, **{**kwargs, **factors})
    return 2 * ROUNDOFF * of(torch.ones_like) * of(torch.abs)


def usable(make):
    """What the CPU raises for, or computes otherwise itself, is left out."""
    try:
        make()
    except Exception:
        return False
    return True


def samples_of(op, device, dtype):
    """Samples on the CPU and on the device, with what the function gives there, and room_of."""
    pairs = zip(op.sample_inputs("cpu", dtype), op.sample_inputs(device, dtype))
    for on_cpu, sample in itertools.islice(pairs, SAMPLES):
        if usable(lambda: call(op, on_cpu)):
            yield on_cpu, sample, call(op, sample), room_of(op, on_cpu)


class Operators(TestCase):
    def same(self, got, want, room=None):
        for g, w in zip(tree_leaves(got), tree_leaves(want)):
            if isinstance(w, torch.Tensor):
                self.assertEqual(g.device, w.device)
        if room is None:
            self.assertEqual(got, want)
            return
        self.assertEqual((got.dtype, got.shape), (want.dtype, want.shape))
        distance = (got.cpu().double() - want.cpu().double()).abs().nan_to_num(float("inf"))
        same = (got == want).cpu() | (got.isnan() & want.isnan()).cpu()
        self.assertTrue(bool((same | (distance <= room)).all()), f"{got}, not {want}: farther apart than {room}")

    @ops(CHOSEN, allowed_dtypes=[torch.float32])
    def test_methods(self, device, dtype, op):
        for variant in filter(None, (op.get_method(), op.get_operator())):
            for on_cpu, sample, want, room in samples_of(op, device, dtype):
                if usable(lambda: call(variant, on_cpu)):
                    self.same(call(variant, sample), want, room)

    @ops(CHOSEN, allowed_dtypes=[torch.float32])
    def test_in_place(self, device, dtype, op):
        variant = op.get_inplace()
        if not variant:
            return
        for on_cpu, sample, want, room in samples_of(op, device, dtype):
            if isinstance(sample.input, torch.Tensor) and usable(lambda: call(variant, on_cpu)):
                self.assertIs(call(variant, sample), sample.input)
                self.same(sample.input, want.to(sample.input.dtype), room)

    @ops(CHOSEN, allowed_dtypes=[torch.float32])
    def test_out(self, device, dtype, op):
        if not op.supports_out:
            return

        def outs(like):
            gaps = torch.empty(like.shape + (2,), dtype=like.dtype, device=like.device)[..., 0]
            return torch.full_like(like, 7), torch.empty(0, dtype=like.dtype, device=like.device), gaps
        for on_cpu, sample, want, room in samples_of(op, device, dtype):
            if not isinstance(want, torch.Tensor) or not want.numel():
                continue
            for there, here in zip(outs(want.cpu()), outs(want)):
                if usable(lambda: self.same(call(op, on_cpu, out=there), call(op, on_cpu), room)):
                    self.assertIs(call(op, sample, out=here), here)
                    self.same(here, want, room)

    @ops(CHOSEN, allowed_dtypes=[torch.float32])
    def test_with_gaps(self, device, dtype, op):
        for on_cpu, sample, want, room in samples_of(op, device, dtype):
            if usable(lambda: self.same(call(op, on_cpu.noncontiguous()), call(op, on_cpu), room)):
                self.same(call(op, sample.noncontiguous()), want, room)


instantiate_device_type_tests(Operators, globals(), only_for=("privateuse1", "dml"), allow_mps=False)

if __name__ == "__main__":
    print(f"TORCH_OPINFO_SEED={SEED}", flush=True)
    unittest.main()
