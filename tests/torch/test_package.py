# SPDX-License-Identifier: Apache-2.0
"""The package torch_directml and the processes that use it: import, names, devices, the log of telemetry, workers and forks."""
import glob
import json
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

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


if __name__ == "__main__":
    unittest.main()
