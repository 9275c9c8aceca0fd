# SPDX-License-Identifier: Apache-2.0
"""Graphs of torch.compile beside those of the same networks in ONNX: the steps that run are of the same kinds and not more,
parameters are constants of the graph, and results are those of the CPU in float64."""
import collections
import contextlib
import json
import os
import subprocess
import tempfile
import unittest
import warnings

TRACE = tempfile.NamedTemporaryFile(suffix=".json")  # of all devices of this process, from now on
os.environ["ANYDML_TRACE"] = TRACE.name

import graph_blocks
import torch
import torch_directml
from torch import nn
from torch.nn.functional import scaled_dot_product_attention
from torch_directml import compiler

DEVICE = torch_directml.device()
BUILD = os.path.join(os.path.dirname(os.path.abspath(torch_directml.__file__)), *[os.pardir] * 4)
# What runs more often than in ONNX. Torch's maximum of a window with NaN is NaN, ONNX leaves it open: which elements are NaN, as numbers, their maximum, whether
# there are any, and the choice.
MORE = {"resnet": {"map": 4, "pool": 1}}
ROUNDOFF = {torch.float32: 2.0 ** -24, torch.float16: 2.0 ** -11, torch.bfloat16: 2.0 ** -8}


def events(path):
    with open(path) as file:
        found = json.load(file)
    found = found if isinstance(found, list) else found["traceEvents"]
    return [event["args"] for event in found if event.get("cat") == "step"]


@contextlib.contextmanager
def steps():
    """A list, which holds the steps that ran when the context ends."""
    torch.dml.synchronize()
    before, made = len(events(TRACE.name)), []
    yield made
    torch.dml.synchronize()
    made.extend(events(TRACE.name)[before:])


def kinds(ran):
    return collections.Counter(step["op"].split()[0] for step in ran)


def exported(module, inputs):
    """The steps of the same module through ONNX."""
    tool = os.path.join(BUILD, "tools", "anydml")
    if not os.path.exists(tool):
        subprocess.run(["ninja", "-C", BUILD, "tools/anydml"], check=True, stdout=subprocess.DEVNULL)
    with tempfile.TemporaryDirectory() as folder:
        model, trace = os.path.join(folder, "model.onnx"), os.path.join(folder, "trace.json")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.onnx.export(module, tuple(inputs), model, dynamo=False, opset_version=20)
        run = subprocess.run([tool, "profile", model, "--device", "cpu", "--threads", "2", "--trace", trace],
                             env={k: v for k, v in os.environ.items() if k != "ANYDML_TRACE"}, capture_output=True,
                             text=True)
        if run.returncode:
            raise AssertionError(run.stderr)
        return events(trace)


def compiled(module):
    torch._dynamo.reset()
    return torch.compile(module, backend="directml", fullgraph=True)


class Graphs(unittest.TestCase):
    def close(self, got, want, dtype, factor=64):
        """Within some roundings of the largest element."""
        bound = factor * ROUNDOFF[dtype] * max(want.abs().max().item(), 1)
        self.assertLessEqual((got.detach().cpu().double() - want).abs().max().item(), bound)

    def check_network(self, name, dtype):
        module, inputs = graph_blocks.made(name)
        module, inputs = module.to(dtype), [x.to(dtype) for x in inputs]
        want = kinds(exported(module, inputs))
        there, moved = module.to(DEVICE), [x.to(DEVICE) for x in inputs]
        run = compiled(there)
        problems = len(compiler.statistics["problems"])
        with torch.no_grad():
            run(*moved)
            with steps() as ran:
                got = run(*moved)
        self.assertEqual(compiler.statistics["problems"][problems:], [])
        made, more = kinds(ran), collections.Counter(MORE.get(name))
        for kind in made:
            if kind not in ("map", "move"):  # which of them copies or converts depends on layouts
                self.assertLessEqual(made[kind], want[kind] + more[kind], (kind, made, want))
        self.assertLessEqual(sum(made.values()), sum(want.values()) + sum(more.values()), (made, want))
        for step in ran:
            self.assertNotIn("f64", step["shapes"], step)
            if dtype == torch.float16 and step["op"].split()[0] in ("gemm", "attention"):
                self.assertNotIn("f32", step["shapes"], step)
        module.cpu().double()
        with torch.no_grad():
            self.close(got, module(*[x.double() for x in inputs]), dtype)

    def test_kinds_of_steps(self):
        for name in graph_blocks.SMALL:
            for dtype in (torch.float32, torch.float16):
                with self.subTest(name=name, dtype=dtype):
                    self.check_network(name, dtype)

    def test_training(self):
        """Gradients of all parameters, in the parameters' type."""
        for name in graph_blocks.SMALL:
            for dtype in (torch.float32, torch.float16):
                with self.subTest(name=name, dtype=dtype):
                    module, inputs = graph_blocks.made(name)
                    module, inputs = module.to(dtype), [x.to(dtype) for x in inputs]
                    there, moved = module.to(DEVICE), [x.to(DEVICE) for x in inputs]
                    run = compiled(there)
                    problems = len(compiler.statistics["problems"])
                    with steps() as ran:
                        y = run(*moved)
                    self.assertEqual((kinds(ran)["attention"], kinds(ran)["softmax"]),
                                     (name in ("vit", "whisper", "llama"), 0), kinds(ran))
                    weights = torch.randn(y.shape, dtype=dtype)
                    y.backward(weights.to(DEVICE))
                    self.assertEqual(compiler.statistics["problems"][problems:], [])
                    got = {key: p.grad.cpu() for key, p in there.named_parameters()}
                    module.cpu().double().zero_grad()
                    module(*[x.double() for x in inputs]).backward(weights.double())
                    for key, p in module.named_parameters():
                        self.close(got[key], p.grad, dtype, 256)

    def test_modules_of_torch(self):
        """nn.MultiheadAttention and TransformerEncoderLayer, in evaluation with and without gradients."""
        torch.manual_seed(1)
        attention = nn.MultiheadAttention(24, 3, batch_first=True).eval()
        layer = nn.TransformerEncoderLayer(24, 3, 48, batch_first=True, activation="gelu").eval()
        late = torch.zeros(2, 9, dtype=torch.bool)
        late[1, 6:] = True
        for dtype in (torch.float32, torch.float16):
            for module, call in ((attention, lambda m, x: m(x, x, x, need_weights=False)[0]),
                                 (attention, lambda m, x: m(x, x, x, late.to(x.device), need_weights=False)[0]),
                                 (layer, lambda m, x: m(x)),
                                 (layer, lambda m, x: m(x, src_key_padding_mask=late.to(x.device)))):
                x = torch.randn(2, 9, 24).to(dtype)
                module.to(dtype).to(DEVICE)
                run = compiled(lambda x: call(module, x))
                for mode in (torch.no_grad, contextlib.nullcontext):
                    with mode():
                        run(x.to(DEVICE))
                        with steps() as ran:
                            got = run(x.to(DEVICE))
                    self.assertEqual(kinds(ran)["attention"], 1, kinds(ran))
                    self.assertEqual(kinds(ran)["softmax"], 0, kinds(ran))
                module.cpu().double()
                with torch.no_grad():
                    want = call(module, x.double())
                self.close(got[~late] if got.shape == (2, 9, 24) else got, want[~late], dtype)


class Attention(unittest.TestCase):
    def inputs(self, dtype, heads=4, shared=4, dims=4):
        torch.manual_seed(7)
        sizes = ((2, heads, 11, 16), (2, shared, 13, 16), (2, shared, 13, 24))
        return [torch.randn(size[4 - dims:]).to(dtype) for size in sizes]

    def compare(self, qkv, dtype, count=1, **options):
        """Forward and backward, eager and compiled; the forward pass runs `count` attentions and no softmax."""
        wide = [x.double().requires_grad_() for x in qkv]
        far = {key: x.double() if isinstance(x, torch.Tensor) and x.is_floating_point() else x
               for key, x in options.items()}
        want = scaled_dot_product_attention(*wide, **far)
        weights = torch.randn(want.shape).to(dtype)
        want.backward(weights.double())
        near = {key: x.to(DEVICE) if isinstance(x, torch.Tensor) else x for key, x in options.items()}

        def attend(q, k, v):
            return scaled_dot_product_attention(q, k, v, **near)

        for run in (attend, compiled(attend)):
            there = [x.to(DEVICE).requires_grad_() for x in qkv]
            with steps() as ran:
                got = run(*there)
            self.assertEqual((kinds(ran)["attention"], kinds(ran)["softmax"]), (count, 0), kinds(ran))
            got.backward(weights.to(DEVICE))
            Graphs.close(self, got, want.detach(), dtype, 16)
            for mine, theirs in zip(there, wide):
                Graphs.close(self, mine.grad, theirs.grad, dtype, 64)

    def test_options(self):
        mask = torch.rand(11, 13) > 0.3
        mask[4] = False  # a row without keys
        bias = torch.randn(2, 1, 11, 13)
        for dtype in (torch.float32, torch.float16, torch.bfloat16):
            with self.subTest(dtype=dtype):
                plain = self.inputs(dtype)
                self.compare(plain, dtype)
                self.compare(plain, dtype, scale=0.7)
                self.compare(plain, dtype, is_causal=True)
                self.compare(plain, dtype, attn_mask=mask)
                self.compare(plain, dtype, attn_mask=bias.to(dtype))
                self.compare(self.inputs(dtype, 6, 2), dtype, enable_gqa=True)
                self.compare(self.inputs(dtype, 6, 2), dtype, enable_gqa=True, attn_mask=mask, scale=0.5)
                self.compare(self.inputs(dtype, dims=3), dtype)
                self.compare([x.transpose(1, 2).contiguous().transpose(1, 2) for x in plain], dtype)

    def test_float64(self):
        """In parts, whose factors are as exact as the type."""
        torch.manual_seed(7)
        qkv = [x.double() for x in self.inputs(torch.float64)]
        want = scaled_dot_product_attention(*qkv)
        for run in (scaled_dot_product_attention, compiled(scaled_dot_product_attention)):
            got = run(*[x.to(DEVICE) for x in qkv]).cpu()
            torch.testing.assert_close(got, want, rtol=1e-12, atol=1e-12)

    def test_dropout(self):
        """With values of an identity matrix, the result is the weights: which of them are dropped is seen there, and gradients
        are those of the same choice."""
        torch.manual_seed(7)
        q, k = torch.randn(2, 3, 40, 16), torch.randn(2, 3, 32, 16)
        v, weights = torch.eye(32).expand(2, 3, 32, 32), torch.randn(2, 3, 40, 32)

        def attend(q, k, v):
            return scaled_dot_product_attention(q, k, v, dropout_p=0.25)

        torch._dynamo.reset()
        for run in (attend, torch.compile(attend, backend="aot_eager"), torch.compile(attend, backend="directml")):
            there = [x.to(DEVICE).requires_grad_() for x in (q, k, v)]
            got = run(*there)
            got.backward(weights.to(DEVICE))
            kept = got.detach().cpu() != 0
            self.assertTrue(0.7 < kept.double().mean() < 0.8, kept.double().mean())
            wide = [x.double().requires_grad_() for x in (q, k, v)]
            p = torch.softmax(wide[0] @ wide[1].transpose(-2, -1) / 4, -1) * kept / 0.75
            want = p @ wide[2]
            want.backward(weights.double())
            Graphs.close(self, got, want.detach(), torch.float32)
            for mine, theirs in zip(there, wide):
                Graphs.close(self, mine.grad, theirs.grad, torch.float32)
            self.assertFalse(torch.equal(run(*there), got))

    def test_sizes_without_another_trace(self):
        def attend(q, k, v):
            return scaled_dot_product_attention(q, k, v, is_causal=True)

        torch._dynamo.reset()
        torch._dynamo.utils.counters.clear()
        run = torch.compile(attend, backend="directml", dynamic=True)
        for length in (5, 9, 30):
            qkv = [torch.randn(2, 4, length, 16, requires_grad=True) for _ in range(3)]
            there = [x.detach().to(DEVICE).requires_grad_() for x in qkv]
            want, got = attend(*qkv), run(*there)
            want.sum().backward()
            got.sum().backward()
            for mine, theirs in ((got, want), *((a.grad, b.grad) for a, b in zip(there, qkv))):
                torch.testing.assert_close(mine.detach().cpu(), theirs.detach(), rtol=1e-5, atol=1e-5)
        self.assertEqual(torch._dynamo.utils.counters["stats"]["unique_graphs"], 1)


if __name__ == "__main__":
    unittest.main()
