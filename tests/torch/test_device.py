# SPDX-License-Identifier: Apache-2.0
"""The device dml as torch sees it: package, memory, copies, random numbers, streams, processes and errors."""
import copy
import gc
import glob
import io
import json
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import unittest

import numpy
import torch
import torch_directml

DEVICE = torch_directml.device()


def fresh_process(code, **environment):
    return subprocess.run([sys.executable, "-c", code], env={**os.environ, **environment}, capture_output=True, text=True,
                          timeout=300, check=False)


def worker_samples(index):
    """In a forked worker: what a data set computes on the CPU, and what seeding does there."""
    torch.manual_seed(index)
    return torch.full((3,), float(index)) @ torch.ones(3)


class Samples(torch.utils.data.Dataset):
    def __len__(self):
        return 20

    def __getitem__(self, index):
        return worker_samples(index), index


class Package(unittest.TestCase):
    def test_autoload(self):
        """By `import torch`, unless there is an accelerator of torch's own, which dml would take the place of."""
        known = "import sys; print('torch_directml' in sys.modules)"
        ran = fresh_process("import torch; " + known)
        self.assertEqual(ran.stdout.strip(), "True", ran.stderr)
        ran = fresh_process("import torch; torch.accelerator.current_accelerator = lambda check_available: 'cuda'; "
                            "import torch_directml_autoload as a; a.autoload(); " + known, TORCH_DEVICE_BACKEND_AUTOLOAD="0")
        self.assertEqual(ran.stdout.strip(), "False", ran.stderr)

    def test_devices(self):
        count = torch_directml.device_count()
        self.assertTrue(torch_directml.is_available())
        self.assertEqual(torch_directml.default_device(), 0)
        self.assertEqual(repr(torch_directml.device()), "device(type='dml', index=0)")
        self.assertEqual(torch_directml.device(count - 1), torch.device("dml", count - 1))
        self.assertTrue(torch_directml.device_name(0))
        for index in (-1, count, 1000):
            self.assertEqual(torch_directml.device_name(index), "")
        with self.assertRaises(Exception) as error:
            torch_directml.device(count + 1)
        self.assertEqual(str(error.exception), f"Invalid device_id argument supplied {count + 1}. "
                         f"device_id must be in range [0, {count}).")
        with self.assertRaisesRegex(Exception, "Invalid device_id argument supplied -1"):
            torch_directml.device(-1)
        with self.assertRaisesRegex(RuntimeError, "device_id must be in range"):
            torch.empty(1, device=f"dml:{count}")

    def test_the_rest_of_the_package(self):
        self.assertIsInstance(torch_directml.has_float64_support(), bool)
        torch_directml.disable_tiled_resources(True)
        kept = torch.ones(3 << 20, dtype=torch.uint8, device=DEVICE)
        tiles = torch_directml.gpu_memory(0, mb_per_tile=1)
        self.assertGreaterEqual(sum(tile == 1 for tile in tiles), 3)
        self.assertTrue(all(0 <= tile <= 1 for tile in tiles))
        del kept
        with self.assertRaisesRegex(ValueError, "mb_per_tile"):
            torch_directml.gpu_memory(0, 0)

    def test_torch_finds_the_device_itself(self):
        self.assertEqual(torch.accelerator.current_accelerator(), torch.device("dml"))
        self.assertEqual(torch.accelerator.device_count(), torch_directml.device_count())
        self.assertIs(torch.get_device_module("dml"), torch.dml)
        self.assertEqual(torch.ones(2).dml().device, DEVICE)
        with torch.dml.device(0):
            self.assertEqual(torch.dml.current_device(), 0)
        torch.dml.synchronize()
        self.assertTrue(torch.ones(1, device="dml").is_dml)

    def test_other_versions_of_torch(self):
        with tempfile.TemporaryDirectory() as folder:
            package = os.path.join(folder, "torch_directml")
            shutil.copytree(os.path.dirname(torch_directml.__file__), package, symlinks=True)
            for glue in glob.glob(os.path.join(package, "glue-*.so")):
                os.remove(glue)
            for version in ("1.2", "1.10"):
                open(os.path.join(package, f"glue-{version}.so"), "wb").close()
            ran = fresh_process("import torch, torch_directml", PYTHONPATH=folder, TORCH_DEVICE_BACKEND_AUTOLOAD="0")
        self.assertNotEqual(ran.returncode, 0)
        self.assertIn(f"ImportError: this torch_directml supports torch 1.2, 1.10, but torch {torch.__version__} is installed: "
                      'install one of these (pip install "torch==1.10.*"), or torch_directml from its sdist', ran.stderr)

    def test_printing(self):
        self.assertEqual(str(torch.tensor([1.5, 2.0], device=DEVICE)), "tensor([1.5000, 2.0000], device='dml:0')")
        self.assertEqual(str(torch.tensor([[True], [False]], device=DEVICE)),
                         "tensor([[ True],\n        [False]], device='dml:0')")

    def test_fallback_is_counted_and_can_be_forbidden(self):
        torch_directml.fallbacks(clear=True)
        torch.linalg.eig(torch.ones(2, 2, device=DEVICE))
        self.assertIn("aten::linalg_eig", torch_directml.fallbacks(clear=True))
        self.assertEqual(torch_directml.fallbacks(), {})
        code = "import torch, torch_directml; torch.linalg.eig(torch.ones(2, 2, device='dml'))"
        ran = fresh_process(code)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn("The operator 'aten::linalg_eig' is not currently supported on the DML backend and will fall "
                      "back to run on the CPU.", ran.stderr)
        ran = fresh_process(code, TORCH_DIRECTML_FALLBACK="error")
        self.assertNotEqual(ran.returncode, 0)
        self.assertIn("TORCH_DIRECTML_FALLBACK=error", ran.stderr)


NAMES = """
import torch, torch_directml
d = torch_directml.device()
assert d.type == TYPE and str(d) == TYPE + ":0" and d == torch.device(TYPE, 0) == torch.device("privateuseone:0"), d
x = torch.arange(6.0, device=TYPE).view(2, 3).requires_grad_()
assert x.device.type == TYPE and x.device == d and getattr(x, "is_" + TYPE), x.device
(x @ x.t()).sum().backward()
assert torch.equal(x.grad.cpu(), 2 * x.detach().cpu().sum(0).expand(2, 3)), x.grad
assert torch.accelerator.current_accelerator().type == TYPE
module = getattr(torch, TYPE)
assert module is torch.dml and module.device_count() == torch_directml.device_count()
torch.manual_seed(3)
a = torch.rand(4, device=TYPE)
module.manual_seed(3)
assert torch.equal(a.cpu(), torch.rand(4, device="privateuseone").cpu()) and module.get_rng_state().numel() == 16
with module.device(0), torch.random.fork_rng(devices=[0], device_type=TYPE), torch.autocast(TYPE, torch.bfloat16):
    assert (x @ x.t()).dtype == torch.bfloat16
event = module.Event()
event.record(module.current_stream())
event.synchronize()
assert (module.current_stream().device, event.device) == (d, d)
assert module.memory_allocated() > 0 and TYPE + ":0" in module.memory_summary()
model = torch.nn.Linear(3, 2).to(TYPE)
want = model(x)
assert torch.allclose(torch.compile(model, backend="directml", fullgraph=True)(x).cpu(), want.cpu(), atol=1e-5)
import io, torch_directml.compiler as compiler
assert compiler.statistics["graphs"] > 0, compiler.statistics
file = io.BytesIO()
torch.save(model.state_dict(), file)
file.seek(0)
assert torch.load(file)["weight"].device == d
assert x.detach().__dlpack_device__()[1] == 0 and getattr(torch.ones(2), TYPE)().device == d
try:
    x + torch.ones(2, 3)
    raise SystemExit("mixed devices")
except RuntimeError as error:
    assert f"at least two devices, {TYPE}:0 and cpu!" in str(error), error
"""


class Name(unittest.TestCase):
    """Torch's own name of the device stays where a variable says so."""

    def test_names(self):
        for variable, name in (("", "dml"), ("dml", "dml"), ("privateuseone", "privateuseone")):
            ran = fresh_process(NAMES.replace("TYPE", repr(name)), TORCH_DIRECTML_DEVICE_TYPE=variable)
            self.assertEqual(ran.returncode, 0, f"{variable!r}: {ran.stderr}")
        ran = fresh_process("import torch_directml", TORCH_DIRECTML_DEVICE_TYPE="cuda", TORCH_DEVICE_BACKEND_AUTOLOAD="0")
        self.assertNotEqual(ran.returncode, 0)
        self.assertIn("ImportError: TORCH_DIRECTML_DEVICE_TYPE=cuda: must be dml or privateuseone", ran.stderr)

    def test_processes(self):
        """A tensor that a spawned process sends back, and a process group, under torch's own name."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "program.py")
            with open(path, "w", encoding="utf-8") as file:
                file.write("import torch, torch_directml\nimport torch.distributed as dist, torch.multiprocessing as mp\n"
                           "def work(queue, x):\n    x += 1\n    queue.put((x.device.type, x.sum().item()))\n"
                           "if __name__ == '__main__':\n"
                           "    context = mp.get_context('spawn')\n    queue = context.Queue()\n"
                           "    x = torch.ones(3, device='privateuseone')\n"
                           "    child = context.Process(target=work, args=(queue, x))\n    child.start()\n"
                           "    assert queue.get(timeout=120) == ('privateuseone', 6.0)\n    child.join()\n"
                           f"    dist.init_process_group(init_method='file://{folder}/store', rank=0, world_size=1)\n"
                           "    dist.all_reduce(x)\n    dist.destroy_process_group()\n    print(x.device.type)\n")
            ran = subprocess.run([sys.executable, path], env={**os.environ, "TORCH_DIRECTML_DEVICE_TYPE": "privateuseone"},
                                 capture_output=True, text=True, timeout=300, check=False)
            self.assertEqual((ran.returncode, ran.stdout.strip()), (0, "privateuseone"), ran.stderr)


class Default(unittest.TestCase):
    """The first adapter of the list is the device of every name, and neither importing nor listing opens one."""

    def test_default(self):
        code = ("import torch, torch_directml\nx = torch.ones(2, device='dml')\n"
                "assert x.device == torch.ones(2, device=torch_directml.device()).device == torch.ones(2, device='dml:0').device\n"
                "assert x.device == torch.ones(2, device='privateuseone:0').device and torch_directml.default_device() == 0\n"
                "print(torch_directml.device_name(0), '|', torch.dml.get_device_name())\n"
                "print(*map(torch_directml.device_name, range(torch_directml.device_count())), sep='|')")
        names = {}
        for adapters, hardware in (("cpu", "0"), ("vulkan", "0"), ("", "1"), ("cpu,vulkan", "0")):
            ran = fresh_process(code, ANYDML_ADAPTERS=adapters, ANYDML_VULKAN_HARDWARE=hardware)
            if ran.returncode and "cpu" not in adapters:
                print("no Vulkan device: not tested there")
                break
            self.assertEqual(ran.returncode, 0, ran.stderr)
            names[adapters] = ran.stdout.splitlines()
        else:
            host, vulkan = names["cpu"][1], names["vulkan"][1]
            self.assertEqual(names[""][1], vulkan + "|" + host)
            self.assertEqual(names["cpu,vulkan"][1], host + "|" + vulkan)
        for lines in names.values():
            self.assertEqual(lines[0].split(" | "), [lines[1].split("|")[0]] * 2)

    def test_import_loads_no_driver(self):
        """Workers of a DataLoader are forked from processes that have only imported: a driver would not survive that."""
        code = "import torch, torch_directml; print(any('libvulkan' in line for line in open('/proc/self/maps')))"
        for adapters in ("", "vulkan"):
            ran = fresh_process(code, ANYDML_ADAPTERS=adapters, ANYDML_VULKAN_HARDWARE="1")
            self.assertEqual(ran.stdout.strip(), "False", ran.stderr)

    @unittest.skipIf("ASAN_OPTIONS" in os.environ, "drivers stay loaded, so that what they leak has names")
    def test_forks_after_listing(self):
        """A child may open what its parent has only listed."""
        code = ("import os, sys, torch, torch_directml\nif not torch_directml.device_count(): sys.exit()\n"
                "assert torch_directml.device_name(0)\nchild = os.fork()\n"
                "if not child:\n    os._exit(torch.ones(3, device='dml').add(1).sum().item() != 6)\n"
                "assert os.waitpid(child, 0)[1] == 0\n"
                "assert torch.ones(3, device='dml').add(1).sum().item() == 6")
        for adapters in ("", "vulkan"):
            ran = fresh_process(code, ANYDML_ADAPTERS=adapters, ANYDML_VULKAN_HARDWARE="1")
            self.assertEqual(ran.returncode, 0, ran.stderr)


class Telemetry(unittest.TestCase):
    def test_off_unless_switched_on(self):
        code = "import torch, torch_directml; torch.ones(2, device='dml').sum().item()"
        for value in (None, "0", "1"):
            with tempfile.TemporaryDirectory() as home:
                environment = {"HOME": home, "ANYDML_TELEMETRY": value or ""}
                environment.update({key: "" for key in os.environ if key.startswith("XDG_")})
                ran = fresh_process(code, **environment)
                self.assertEqual(ran.returncode, 0, ran.stderr)
                found = [os.path.join(folder, name) for folder, _, names in os.walk(home) for name in names
                         if "anydml" in folder[len(home):]]
                if value != "1":
                    self.assertEqual(found, [])
                    continue
                self.assertEqual(found, [os.path.join(home, ".local/state/anydml/telemetry.jsonl")])
                with open(found[0], encoding="ascii") as file:
                    rows = [json.loads(line) for line in file]
                self.assertEqual([(row["component"], row["device"]) for row in rows], [("torch", "cpu")])


class Memory(unittest.TestCase):
    def test_blocks_are_kept_and_given_back(self):
        gc.collect()
        torch.dml.empty_cache()
        before = torch.dml.memory_allocated()
        tensor = torch.empty(1 << 20, dtype=torch.uint8, device=DEVICE)
        self.assertEqual(torch.dml.memory_allocated() - before, 1 << 20)
        address = tensor.data_ptr()
        del tensor
        self.assertEqual(torch.dml.memory_allocated(), before)
        self.assertGreaterEqual(torch.dml.memory_reserved(), before + (1 << 20))
        self.assertEqual(torch.empty(1 << 20, dtype=torch.uint8, device=DEVICE).data_ptr(), address)
        torch.dml.empty_cache()
        self.assertLess(torch.dml.memory_reserved(), before + (1 << 20))
        self.assertGreaterEqual(torch.dml.max_memory_allocated(), before + (1 << 20))
        torch.dml.reset_peak_memory_stats()
        self.assertEqual(torch.dml.max_memory_allocated(), torch.dml.memory_allocated())
        free, total = torch.dml.mem_get_info()
        self.assertTrue(0 < free <= total)

    def test_out_of_memory(self):
        with self.assertRaisesRegex(torch.OutOfMemoryError, "Tried to allocate 1048576.00 GiB"):
            torch.empty(1 << 50, dtype=torch.uint8, device=DEVICE)
        total = torch.dml.mem_get_info()[1]
        torch.dml.set_per_process_memory_fraction(((64 << 20) + torch.dml.memory_reserved()) / total)
        try:
            with self.assertRaises(torch.OutOfMemoryError):
                torch.empty(256 << 20, dtype=torch.uint8, device=DEVICE)
            self.assertEqual(torch.ones(1000, device=DEVICE).sum().item(), 1000)  # and all goes on
            x = torch.ones(12 << 20, device=DEVICE, requires_grad=True)
            for use in (lambda: x.exp(), lambda: torch.cat([x, x]), lambda: torch.nonzero(x), lambda: x.sum().backward()):
                with self.assertRaisesRegex(torch.OutOfMemoryError, "Tried to allocate .* MiB"):
                    use()
            del x
            # What is kept of other sizes is given back first.
            torch.empty(48 << 20, dtype=torch.uint8, device=DEVICE)
            torch.empty(60 << 20, dtype=torch.uint8, device=DEVICE)
        finally:
            torch.dml.set_per_process_memory_fraction(1)
        torch.empty(256 << 20, dtype=torch.uint8, device=DEVICE)

    def test_pinned_memory(self):
        tensor = torch.arange(1000.0).pin_memory()
        self.assertTrue(tensor.is_pinned())
        self.assertTrue(tensor[10:].is_pinned())
        self.assertFalse(torch.arange(10.0).is_pinned())
        self.assertTrue(torch.equal(tensor.to(DEVICE, non_blocking=True).cpu(), torch.arange(1000.0)))

    def test_nothing_is_left_behind(self):
        x = torch.randn(100, device=DEVICE, requires_grad=True)

        def step():
            y = (x * 2 + 1).relu().reshape(10, 10)
            (y @ y.t()).sum().backward()
            x.grad = None

        step()
        gc.collect()
        before = torch.dml.memory_allocated()
        for _ in range(200):
            step()
        gc.collect()
        self.assertEqual(torch.dml.memory_allocated(), before)

    def test_hundred_thousand_operators(self):
        """Neither the device's memory nor the process grows: views, work in place, gradients, shapes that come again and
        again, numbers that change, errors, results that the fallback makes."""
        weight = torch.randn(8, 8, device=DEVICE, requires_grad=True)

        def work(i):  # 20 operators
            x = torch.ones(8, 5 + i % 40, device=DEVICE)
            y = (weight @ x).mul(1 + i / 7).add_(i)[2:, 1:].t()
            y = torch.cat([y.relu(), y.tanh()]).sum(0, keepdim=True).clone()
            y[0, 0] = 2
            y.mean().backward()
            weight.grad = None
            if i % 50 == 0:
                torch.linalg.eig(torch.eye(3, device=DEVICE))  # the CPU's
                with self.assertRaises(RuntimeError):
                    x @ x

        def resident():
            gc.collect()
            torch.dml.synchronize()
            with open("/proc/self/statm") as f:
                return int(f.read().split()[1]) * 4096

        for i in range(600):
            work(i)
        before, allocated = resident(), torch.dml.memory_allocated()
        for i in range(5000):
            work(i)
        self.assertEqual(torch.dml.memory_allocated(), allocated)
        self.assertLess(resident() - before, 4 << 20)


class Copies(unittest.TestCase):
    TYPES = (torch.float32, torch.float16, torch.bfloat16, torch.float64, torch.int64, torch.int32, torch.int16, torch.int8,
             torch.uint8, torch.bool, torch.complex64)

    def test_every_type_and_layout(self):
        for there in self.TYPES:
            for here in self.TYPES:
                if there.is_complex and not here.is_complex:
                    continue
                source = (torch.randn(5, 7, 3) * 3).to(there)
                for view in (lambda t: t, lambda t: t.transpose(0, 2), lambda t: t[1:, ::2], lambda t: t[:, :1].expand(5, 4, 3)):
                    want = view(source).to(here)
                    got = view(source.to(DEVICE)).to(here)
                    self.assertEqual(got.dtype, here)
                    self.assertTrue(torch.equal(got.cpu(), want), (there, here))
                    target = torch.zeros(2, *want.shape, dtype=here, device=DEVICE)[1]
                    target.copy_(view(source))
                    self.assertTrue(torch.equal(target.cpu(), want), (there, here))

    def test_gaps_stay(self):
        target = torch.zeros(6, 6, device=DEVICE)
        target[1::2, ::3] = torch.ones(3, 2)
        want = torch.zeros(6, 6)
        want[1::2, ::3] = 1
        self.assertTrue(torch.equal(target.cpu(), want))

    def test_views_of_complex_numbers(self):
        x = torch.randn(4, dtype=torch.complex64)
        y = x.to(DEVICE)
        self.assertTrue(torch.equal(y.conj().cpu(), x.conj().resolve_conj()))
        self.assertTrue(torch.equal(y.conj().imag.cpu(), x.conj().imag.resolve_neg()))
        self.assertTrue(torch.equal(torch.view_as_real(y).cpu(), torch.view_as_real(x)))
        self.assertEqual(y.conj()[1].item(), x.conj()[1].item())
        z = torch.empty_like(y).conj()
        z.copy_(x)
        self.assertTrue(torch.equal(z.cpu(), x))
        y.requires_grad_(True)
        torch.sgn(y).abs().sum().backward()
        self.assertEqual(y.grad.shape, y.shape)

    def test_resize_and_set(self):
        x = torch.arange(4.0, device=DEVICE)
        x.resize_(8)
        self.assertEqual(x.untyped_storage().nbytes(), 32)
        self.assertTrue(torch.equal(x[:4].cpu(), torch.arange(4.0)))
        y = torch.empty(0, device=DEVICE)
        y.set_(x)
        self.assertEqual(y.data_ptr(), x.data_ptr())
        y.set_(x.untyped_storage(), 2, (2, 2), (1, 2))
        self.assertEqual(y[0, 0].item(), 2)
        y.set_()
        self.assertEqual(y.numel(), 0)
        out = torch.empty(0, device=DEVICE)
        torch.mm(torch.ones(2, 3, device=DEVICE), torch.ones(3, 4, device=DEVICE), out=out)
        self.assertEqual(out.cpu().tolist(), [[3.0] * 4] * 2)

    def test_saving(self):
        module = torch.nn.Linear(3, 2).to(DEVICE)
        file = io.BytesIO()
        torch.save({"module": module.state_dict(), "x": module.weight.detach()}, file)
        for where in (None, "cpu", "dml", "dml:0", DEVICE):
            file.seek(0)
            loaded = torch.load(file, map_location=where)
            self.assertEqual(loaded["x"].device.type, "cpu" if where == "cpu" else "dml")
            self.assertTrue(torch.equal(loaded["module"]["weight"].cpu(), module.weight.detach().cpu()))
        file = io.BytesIO()
        torch.save(torch.arange(3.0), file)
        file.seek(0)
        self.assertEqual(torch.load(file, map_location="dml").device, DEVICE)
        again = copy.deepcopy(module)
        self.assertEqual(again.weight.device, DEVICE)
        self.assertNotEqual(again.weight.data_ptr(), module.weight.data_ptr())
        self.assertTrue(torch.equal(again.weight.cpu(), module.weight.cpu()))

    def test_dlpack(self):
        x = torch.arange(6.0, device=DEVICE).reshape(2, 3)
        address = x.data_ptr()
        for y in (torch.from_dlpack(torch.utils.dlpack.to_dlpack(x.t())), torch.from_dlpack(x.t())):
            self.assertEqual((y.device, y.data_ptr(), y.stride()), (DEVICE, address, (1, 3)))
        self.assertEqual(x.__dlpack_device__(), (12, 0))  # kDLExtDev
        del x  # its memory lives on in the other
        gc.collect()
        self.assertEqual((y + torch.zeros(3, 2, device=DEVICE)).tolist(), [[0, 3], [1, 4], [2, 5]])
        host = torch.from_dlpack(y, device="cpu")
        self.assertEqual((host.device.type, host.tolist()), ("cpu", [[0, 3], [1, 4], [2, 5]]))
        with self.assertRaisesRegex((BufferError, RuntimeError), "gradient|[Uu]nsupported device"):
            numpy.from_dlpack(y.clone().requires_grad_())

    def test_inference_mode(self):
        outside = torch.ones(3, 4, device=DEVICE)
        with torch.inference_mode():
            inside = torch.ones(3, 4, device=DEVICE)
            for x in (inside, outside):
                view = x.t()[1:].unfold(0, 2, 1).select(0, 0)
                self.assertEqual(view.shape, (3, 2))
                view += 1
                self.assertEqual(x.cpu()[0].tolist(), [1.0, 2, 2, 1])
            self.assertTrue(inside.is_inference() and (inside + 1).is_inference())
        outside.mul_(2)
        self.assertFalse(outside.is_inference())


class Random(unittest.TestCase):
    def test_seeds_and_states(self):
        for draw in (lambda **k: torch.randn(33, device=DEVICE, **k), lambda **k: torch.rand(33, device=DEVICE, **k),
                     lambda **k: torch.randint(0, 1000, (33,), device=DEVICE, **k),
                     lambda **k: torch.randperm(33, device=DEVICE, **k)):
            torch.manual_seed(7)
            a, b = draw(), draw()
            self.assertFalse(torch.equal(a, b))
            torch.manual_seed(7)
            self.assertTrue(torch.equal(a, draw()))
            state = torch.dml.get_rng_state()
            b = draw()
            torch.dml.set_rng_state(state)
            self.assertTrue(torch.equal(b, draw()))
            generator = torch.Generator(device=DEVICE)
            self.assertEqual(generator.device, DEVICE)
            generator.manual_seed(3)
            a = draw(generator=generator)
            state = generator.get_state()
            b = draw(generator=generator)
            generator.set_state(state)
            self.assertTrue(torch.equal(b, draw(generator=generator)))
            self.assertTrue(torch.equal(a, draw(generator=generator.manual_seed(3))))
        torch.dml.manual_seed_all(9)
        self.assertEqual(torch.dml.initial_seed(), 9)
        with torch.random.fork_rng(devices=[0], device_type="dml"):
            state = torch.dml.get_rng_state()
            torch.rand(4, device=DEVICE)
        self.assertTrue(torch.equal(state, torch.dml.get_rng_state()))
        with self.assertRaisesRegex(RuntimeError, "RNG state"):
            torch.dml.set_rng_state(torch.zeros(3, dtype=torch.uint8))

    def test_distributions(self):
        torch.manual_seed(0)
        n = 100000
        x = torch.randn(n, device=DEVICE).cpu().double()
        self.assertLess(abs(x.mean().item()), 0.02)
        self.assertLess(abs(x.std().item() - 1), 0.02)
        x = torch.empty(n, device=DEVICE).uniform_(2, 5).cpu()
        self.assertTrue(2 <= x.min() and x.max() <= 5)
        self.assertLess(abs(x.mean().item() - 3.5), 0.02)
        x = torch.empty(n, device=DEVICE).bernoulli_(0.3).cpu()
        self.assertLess(abs(x.mean().item() - 0.3), 0.01)
        x = torch.nn.functional.dropout(torch.ones(n, device=DEVICE), 0.25).cpu()
        self.assertLess(abs((x == 0).float().mean().item() - 0.25), 0.01)
        self.assertLess(abs(x.max().item() - 4 / 3), 1e-5)
        self.assertEqual(sorted(torch.randperm(100, device=DEVICE).tolist()), list(range(100)))


class Order(unittest.TestCase):
    def test_streams_and_events(self):
        begin, end = torch.Event("dml", enable_timing=True), torch.Event("dml", enable_timing=True)
        stream = torch.Stream("dml")
        begin.record()
        with stream:
            self.assertEqual(torch.accelerator.current_stream(), stream)
            x = torch.ones(100, 100, device=DEVICE)
            y = x @ x
            end.record()
        self.assertNotEqual(torch.accelerator.current_stream(), stream)
        end.synchronize()
        self.assertTrue(end.query() and stream.query())
        self.assertGreaterEqual(begin.elapsed_time(end), 0)
        torch.accelerator.current_stream().wait_event(end)
        y.record_stream(stream)
        stream.synchronize()
        self.assertEqual(y[3, 3].item(), 100)

    def test_threads(self):
        problems = []

        def work(seed):
            try:
                generator = torch.Generator().manual_seed(seed)
                for size in range(1, 40):
                    a, b = torch.randn(size, size, generator=generator), torch.randn(size, size, generator=generator)
                    a.requires_grad_(True)
                    x, y = a.detach().to(DEVICE).requires_grad_(True), b.to(DEVICE)
                    want = ((a @ b).relu() + b).tanh().sum()
                    got = ((x @ y).relu() + y).tanh().sum()
                    want.backward()
                    got.backward()
                    torch.testing.assert_close(got.cpu(), want)
                    torch.testing.assert_close(x.grad.cpu(), a.grad)
            except BaseException as error:  # pylint: disable=broad-except
                problems.append(error)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(problems, [])


def in_child(queue):
    torch.manual_seed(1)  # must not touch the device
    try:
        torch.ones(2, device="dml").add(1).sum().item()
        queue.put("computed")
    except RuntimeError as error:
        queue.put(str(error))


class Processes(unittest.TestCase):
    def test_threads_that_python_ends_do_not_abort(self):
        code = ("import ctypes, threading, time, torch, torch_directml\n"
                "terminate = ctypes.CDLL('libstdc++.so.6')._ZSt9terminatev  # what unwinding a thread comes to\n"
                "torch.ops.torch_directml.hold_ended_threads()\n"
                "threading.Thread(target=terminate, daemon=True).start()\ntime.sleep(0.2)\n")
        ended = fresh_process(code)
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))
        self.assertEqual(fresh_process(code + "terminate()").returncode, -signal.SIGABRT)

    def test_data_loader(self):
        torch.ones(2, device=DEVICE).sum().item()
        loader = torch.utils.data.DataLoader(Samples(), batch_size=6, num_workers=2, pin_memory=True,
                                             multiprocessing_context="fork")
        total = 0
        for values, indices in loader:
            self.assertTrue(torch.equal(values, indices * 3.0))
            total += values.to(DEVICE, non_blocking=True).sum().item()
        self.assertEqual(total, 3 * sum(range(20)))

    def test_a_fork_cannot_use_the_device(self):
        torch.ones(2, device=DEVICE).sum().item()
        context = multiprocessing.get_context("fork")
        queue = context.Queue()
        child = context.Process(target=in_child, args=(queue,))
        child.start()
        self.assertIn("forked subprocess", queue.get(timeout=60))
        child.join(60)
        self.assertEqual(child.exitcode, 0)


class Errors(unittest.TestCase):
    def test_devices_do_not_mix(self):
        x, y = torch.ones(3, device=DEVICE), torch.ones(3)
        for call in (lambda: x + y, lambda: y + x, lambda: x.add_(y), lambda: torch.where(x > 0, x, y),
                     lambda: torch.cat([x, y]), lambda: torch.mm(x.view(1, 3), y.view(3, 1)),
                     lambda: torch.nn.functional.linear(x, y.view(1, 3)), lambda: torch._foreach_add([x], [y]),
                     lambda: torch.nn.functional.embedding(torch.tensor([0]), x.view(1, 3)), lambda: torch.equal(x, y),
                     lambda: x.index_put((torch.tensor([0, 1, 2]),), y), lambda: x.masked_fill(y > 0, 1),
                     lambda: torch.linalg.eigvals(x.view(1, 3).t() @ x.view(1, 3)).real + y,
                     lambda: torch.add(x, x, out=y), lambda: y.add_(x)):
            with self.assertRaisesRegex(RuntimeError, "Expected all tensors to be on the same device"):
                call()
        x[torch.tensor([0])] = y[0]
        x.copy_(y)
        with self.assertRaisesRegex(RuntimeError, r"dml:0 and cpu! \(when checking argument for argument other in method "
                                    r"aten::add"):
            x.add(y)
        self.assertEqual((x + torch.tensor(2.0)).tolist(), [3.0] * 3)  # a number is a number
        self.assertEqual((torch.tensor(2.0) * x).device, DEVICE)
        self.assertEqual(x[torch.tensor([0, 2])].tolist(), [1.0, 1.0])

    def test_wrong_arguments(self):
        x = torch.ones(2, 3, device=DEVICE)
        for call, text in ((lambda: x @ x, "mat1 and mat2 shapes cannot be multiplied"),
                           (lambda: x + torch.ones(2, 4, device=DEVICE), "must match the size"),
                           (lambda: x.view(7), "invalid for input of size 6"),
                           (lambda: torch.cat([x, x[:, 1:]]), "Sizes of tensors must match"),
                           (lambda: x.sum(5), "Dimension out of range"),
                           (lambda: x.to(torch.int64).add_(0.5), "can't be cast"),
                           (lambda: x.numpy(), "can't convert dml")):
            with self.assertRaises((RuntimeError, IndexError, TypeError)) as error:
                call()
            self.assertIn(text, str(error.exception))


if __name__ == "__main__":
    unittest.main()
