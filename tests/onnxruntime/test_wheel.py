# SPDX-License-Identifier: Apache-2.0
"""The installed Python package, used as README.md says.

    test_wheel.py README MODEL

Runs README.md's lines on a model whose image may have any size, and compares with the CPU provider. Everything that the
package loads must come from the package.
"""
import importlib.metadata
import os
import re
import sys
import tempfile

import numpy as np
import onnxruntime as ort
import onnxruntime_ep_directml as directml

LIBRARIES = "onnxruntime_ep_directml|directml|d3d12|dxcore"
NAME = "AnyDMLExecutionProvider"
VERSION = tuple(map(int, ort.__version__.split(".")[:2]))
BY_NAME = 1, 25  # where providers=[...] takes plugins
failures = []


def check(good, what):
    if not good:
        failures.append(what)
        print("FAILED:", what)


def check_module():
    path = directml.get_library_path()
    check(os.path.isabs(path) and os.path.isfile(path), f"get_library_path() is {path}")
    check(directml.get_ep_names() == [NAME, "DmlExecutionProvider"], "get_ep_names()")
    check(directml.get_ep_name() == NAME, "get_ep_name()")
    first, again = directml.register(), directml.register(ort)
    check(len(first) >= 1 and len(first) == len(again), "register() finds the same devices twice")
    check(all(d.ep_name == NAME for d in first), "register() returns the provider's devices")


def readme_sessions(readme, model):
    """The sessions that README.md's first two blocks of Python make: by name, and by devices."""
    with open(readme, encoding="utf-8") as file:
        blocks = re.findall(r"^```python\n(.*?)^```$", file.read(), re.S | re.M)[:2]
    scope, sessions = {}, []
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(os.path.abspath(model), os.path.join(folder, "model.onnx"))
        back = os.getcwd()
        os.chdir(folder)
        for block in blocks:
            exec(block, scope)  # pylint: disable=exec-used
            sessions.append(scope["session"])
        os.chdir(back)
    return sessions if VERSION >= BY_NAME else sessions[1:]


def whole_session(model):
    """Fails to load when a node is left to the CPU provider."""
    options = ort.SessionOptions()
    options.add_provider_for_devices(directml.register()[:1], {})
    options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
    return ort.InferenceSession(model, options)


def check_values(sessions, model):
    cpu = ort.InferenceSession(model, providers=["CPUExecutionProvider"])
    name = cpu.get_inputs()[0].name
    rng = np.random.default_rng(1)
    for height, width in (20, 33), (64, 48), (20, 33):
        image = rng.random((1, 3, height, width), dtype=np.float32)
        want = cpu.run(None, {name: image})[0]
        for session in sessions:
            got = session.run(None, {name: image})[0]
            check(got.shape == want.shape and np.abs(got - want).max() < 1e-4, f"picture of {height} x {width}")


def check_loaded():
    home = os.path.dirname(os.path.dirname(directml.get_library_path()))
    with open("/proc/self/maps", encoding="utf-8") as file:
        paths = {line.split()[-1] for line in file}
    loaded = {p for p in paths if re.match(rf"lib({LIBRARIES})[-.]", os.path.basename(p))}
    foreign = sorted(p for p in loaded if not p.startswith(home))
    check(len(loaded) >= 4, f"the provider is loaded: {sorted(loaded)}")
    check(not foreign, f"only libraries of the package are loaded, not {foreign}")


def check_licences():
    """The wheel holds no library of others, and the licence of what is compiled in."""
    files = {os.path.basename(file): file for file in importlib.metadata.files("onnxruntime-ep-directml")}
    ours = {"libonnxruntime_ep_directml.so", "libdirectml.so", "libd3d12.so", "libdxcore.so"}
    foreign = {name for name in files if ".so" in name} - ours
    check(not foreign, f"libraries of others are in the wheel: {sorted(foreign)}")
    missing = {"LICENSE", "NOTICE", "LICENSE.onnxruntime"} - set(files)
    check(not missing, f"licences of the wheel: {sorted(missing)} missing")
    notice = files["NOTICE"].locate().read_text(encoding="utf-8") if "NOTICE" in files else ""
    line = re.search(r"^  DirectX-Headers: .*licence in ([^ ,]+)", notice, re.M)
    licence = line and files.get(line.group(1))
    check(licence and licence.locate().stat().st_size > 500, "licence of DirectX-Headers")


def main():
    readme, model = sys.argv[1:]
    check_module()
    sessions = readme_sessions(readme, model)
    for session in sessions:
        check(NAME in session.get_providers(), f"providers are {session.get_providers()}")
    check_values(sessions + [whole_session(model)], model)
    check_loaded()
    check_licences()
    print(f"wheel with ONNX Runtime {ort.__version__}: {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
