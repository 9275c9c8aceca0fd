# SPDX-License-Identifier: Apache-2.0
"""Unchanged programs for Windows: after `import onnxruntime`, with anydml_compat.pth in the environment, the name
DmlExecutionProvider is as in a build with DirectML.

    test_windows_name.py LIBRARY MODEL

Runs this file with each ONNX Runtime in .cache/onnxruntime, or with the one of this Python. MODEL is an image network.
"""
import json
import os
import site
import subprocess
import sys
import tempfile
import types
import warnings
from pathlib import Path

SKIP = 77
ROOT = Path(__file__).resolve().parents[2]
NAME, OWN, CPU = "DmlExecutionProvider", "AnyDMLExecutionProvider", "CPUExecutionProvider"
IN, OUT = "", ""  # of the model
BY_NAME = 1, 25  # where providers=[...] of Python's module takes plugins
MEMORY_INFO = 1, 27  # where its tensors take memory that a device describes


class Fails:
    """A block that raises an error with these words."""

    def __init__(self, *words):
        self.words = words

    def __enter__(self):
        return self

    def __exit__(self, _, error, __):
        assert isinstance(error, Exception), "no error"
        assert all(word in str(error) for word in self.words), error
        return True


def quiet(ort, fallback=False):
    """Options under which a node that is left to the CPU provider is an error."""
    options = ort.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    if not fallback:
        options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
    return options


def check_session(ort, session, model, providers=(NAME, CPU)):
    import numpy as np
    assert session.get_providers() == list(providers), session.get_providers()
    assert set(session.get_provider_options()) == set(providers), session.get_provider_options()
    x = np.random.default_rng(5).random((1, 3, 24, 40), dtype=np.float32)
    want = ort.InferenceSession(model, quiet(ort, True), providers=[CPU]).run(None, {IN: x})[0]
    got = session.run(None, {IN: x})[0]
    assert np.abs(got - want).max() < 1e-4


def check_forms(ort, model):
    """The forms in which providers and options can be given; no warning in any of them."""
    content = Path(model).read_bytes()
    given = [([NAME], None), ([NAME, CPU], None), ((NAME, CPU), None), ([(NAME, {"device_id": 0})], None),
             ([(NAME, {"device_id": "0"}), CPU], None), ([NAME], [{"device_id": 0}]), ([NAME, CPU], [{}, {}]),
             ([(NAME, {"performance_preference": "high_performance", "device_filter": "any"})], None),
             ([(NAME, {"disable_metacommands": True})], None), (ort.get_available_providers(), None)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for providers, options in given:
            names = {one if isinstance(one, str) else one[0] for one in providers}
            session = ort.InferenceSession(model, quiet(ort, CPU in names), providers=providers, provider_options=options)
            rest = session.get_providers()[1:] if "AzureExecutionProvider" in providers else [CPU]
            check_session(ort, session, model, [NAME, *rest])
        check_session(ort, ort.InferenceSession(content, providers=[NAME]), model)
        check_session(ort, ort.InferenceSession(model, None, [NAME], None), model)

    class Own(ort.InferenceSession):
        def __init__(self, path):
            super().__init__(path, providers=[(NAME, {"device_id": 0}), CPU])
    check_session(ort, Own(model), model)


def check_assigned(ort, model):
    """With the CPU provider beside it, the nodes are the provider's."""
    import numpy as np
    with tempfile.TemporaryDirectory() as folder:
        options = quiet(ort, True)
        options.enable_profiling, options.profile_file_prefix = True, os.path.join(folder, "profile")
        session = ort.InferenceSession(model, options, providers=[NAME, CPU])
        session.run(None, {IN: np.zeros((1, 3, 8, 8), np.float32)})
        events = json.loads(Path(session.end_profiling()).read_text("utf-8"))
    used = {e["args"]["provider"] for e in events if e["cat"] == "Node" and e["name"].endswith("_kernel_time")}
    assert used in ({OWN}, {NAME}), used


def check_refusals(ort, model):
    """What cannot be had is an error, not a session on the CPU."""
    for providers, options in (([(NAME, {"device_id": 7})], None), ([NAME, CPU], [{"device_id": "7"}, {}])):
        with Fails(NAME, "device 7 does not exist; found 1"):
            ort.InferenceSession(model, quiet(ort, True), providers=providers, provider_options=options)
    with Fails(NAME, "option device_id is 'first'"):
        ort.InferenceSession(model, quiet(ort, True), providers=[(NAME, {"device_id": "first"})])
    with Fails("device_filter is 'tpu'"):
        ort.InferenceSession(model, quiet(ort, True), providers=[(NAME, {"device_filter": "tpu"})])
    with Fails("the device does not exist"):
        ort.InferenceSession(model, quiet(ort, True), providers=[(NAME, {"device_filter": "gpu"})])
    session = ort.InferenceSession(model, quiet(ort, True), providers=[CPU])
    with Fails("device 9 does not exist"):
        session.set_providers([NAME], [{"device_id": 9}])


def check_changes(ort, model):
    """set_providers in both directions; options that are shared are not changed."""
    options = quiet(ort, True)
    session = ort.InferenceSession(model, options, providers=[CPU])
    check_session(ort, session, model, [CPU])
    session.set_providers([NAME])
    check_session(ort, session, model)
    session.set_providers([(NAME, {"device_id": 0}), CPU])
    check_session(ort, session, model)
    session.set_providers([CPU])
    check_session(ort, session, model, [CPU])
    assert not options.has_providers()
    check_session(ort, ort.InferenceSession(model, options, providers=[NAME]), model)
    check_session(ort, ort.InferenceSession(model, options), model, [CPU])
    own = ort.InferenceSession(model, options, providers=[CPU])
    assert own._enable_fallback  # pylint: disable=protected-access
    assert not ort.InferenceSession(model, options, providers=[NAME], enable_fallback=0)._enable_fallback


def check_own_name(ort, model):
    """The provider's own name stays what it was."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_session(ort, ort.InferenceSession(model, quiet(ort), providers=[OWN]), model, [OWN, CPU])


def check_binding(ort, model):
    """IoBinding on "dml"."""
    import numpy as np
    x = np.random.default_rng(6).random((1, 3, 16, 16), dtype=np.float32)
    session = ort.InferenceSession(model, quiet(ort), providers=[NAME])
    want = session.run(None, {IN: x})[0]
    binding = session.io_binding()
    value = ort.OrtValue.ortvalue_from_numpy(x, "dml", 0)
    assert value.device_name().lower() == "dml", value.device_name()
    binding.bind_ortvalue_input(IN, value)
    binding.bind_output(OUT, "dml", 0)
    session.run_with_iobinding(binding)
    assert np.array_equal(binding.copy_outputs_to_cpu()[0], want)
    binding = session.io_binding()
    binding.bind_input(IN, "dml", 0, np.float32, x.shape, value.data_ptr())
    binding.bind_output(OUT)
    session.run_with_iobinding(binding)
    assert np.array_equal(binding.copy_outputs_to_cpu()[0], want)


def check_compiler(ort, model):
    """Options that name the provider, as ModelCompiler takes them."""
    options = quiet(ort)
    options.add_provider(NAME, {"device_id": "0"})
    check_session(ort, ort.InferenceSession(model, options), model)
    with Fails("device 5 does not exist"):
        quiet(ort).add_provider(NAME, {"device_id": "5"})
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "compiled.onnx")
        ort.ModelCompiler(options, model, embed_compiled_data_into_model=True).compile_to_file(path)
        check_session(ort, ort.InferenceSession(path, quiet(ort), providers=[NAME]), model)


def check_reports(ort, model):
    """What `anydml exec` learns, and the provider for sessions that name none."""
    with tempfile.NamedTemporaryFile() as file:
        os.environ["ANYDML_ONNXRUNTIME_REPORT"] = file.name
        ort.InferenceSession(model, quiet(ort, True), providers=[CPU])
        ort.InferenceSession(model, quiet(ort, True))
        ort.InferenceSession(model, quiet(ort, True), providers=[(NAME, {"device_id": 0})])
        os.environ["ANYDML_ONNXRUNTIME_DEFAULT"] = "1"
        check = ort.InferenceSession(model, quiet(ort))
        ort.InferenceSession(model, quiet(ort, True), providers=[CPU])
        del os.environ["ANYDML_ONNXRUNTIME_DEFAULT"], os.environ["ANYDML_ONNXRUNTIME_REPORT"]
        check_session(ort, check, model)
        lines = file.read().decode().splitlines()
    assert lines == ["other -", "other -", f"{NAME} 0", f"{NAME} 0", "other -"], lines


def check_steps_aside(ort):
    """Before a build with DirectML, and where the runtime finds plugins by this name itself."""
    import anydml_compat._onnxruntime as hook
    from onnxruntime_ep_directml import _names
    windows = types.SimpleNamespace(get_device=lambda: "CPU-DML", __version__="1.24.4")
    hook.accept(windows)  # any use of another attribute is an error
    _names.accept(windows)

    class Session:
        def __init__(self, *_):
            self.providers = []

        def initialize_session(self, providers, *_):
            self.providers = providers

        def get_providers(self):
            return [*self.providers, CPU]
    native = types.SimpleNamespace(InferenceSession=Session, SessionOptions=types.SimpleNamespace)
    later = types.ModuleType("later")
    later.capi = types.SimpleNamespace(_pybind_state=native)
    assert _names._resolves(later) and not _names._resolves(ort)  # pylint: disable=protected-access
    assert _names._ask(later, Session(), None, [NAME], None) is None  # pylint: disable=protected-access


def run_all(model):
    global IN, OUT
    assert "anydml_compat" not in sys.modules and "onnxruntime_ep_directml" not in sys.modules
    import onnxruntime as ort
    assert ort.get_available_providers()[0] == NAME and ort.get_device() == "CPU-DML", ort.get_available_providers()
    assert ort.get_available_providers().count(NAME) == 1
    assert not any(getattr(finder, "__name__", "") == "anydml_compat" for finder in sys.meta_path)
    version = tuple(map(int, ort.__version__.split(".")[:2]))
    about = ort.InferenceSession(model, providers=[CPU])
    IN, OUT = about.get_inputs()[0].name, about.get_outputs()[0].name
    check_forms(ort, model)
    check_assigned(ort, model)
    check_refusals(ort, model)
    check_changes(ort, model)
    if version >= BY_NAME:
        check_own_name(ort, model)
    if version >= MEMORY_INFO:
        check_binding(ort, model)
    check_compiler(ort, model)
    check_reports(ort, model)
    check_steps_aside(ort)
    for name in {device.ep_name for device in ort.get_ep_devices()} & {OWN}:
        ort.unregister_execution_provider_library(name)
    assert NAME not in ort.get_available_providers() and ort.get_device() == "CPU"
    print("the Windows name with ONNX Runtime", ort.__version__)


def check_off(python, library):
    """Switched off, or with a library that cannot be used, `import onnxruntime` works and has no such provider."""
    code = (f"import site, sys; sys.path.insert(0, {str(ROOT / 'bindings/onnxruntime/python')!r});"
            f"site.addsitedir({str(ROOT / 'bindings/anydml_compat/python')!r});"
            f"import onnxruntime as o; print({NAME!r} in o.get_available_providers(), o.get_device())")
    for variables, result, told in (({"ANYDML_COMPAT": "0"}, "False CPU\n", ""),
                                    ({"ANYDML_ONNXRUNTIME_PROVIDER": "/none.so"}, "False CPU\n", "anydml_compat: "),
                                    ({}, "True CPU-DML\n", "")):
        done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True,
                              env={**os.environ, "ANYDML_ONNXRUNTIME_PROVIDER": library, **variables})
        assert done.stdout == result and done.stderr.startswith(told), (variables, done)


def main():
    library, model = map(os.path.abspath, sys.argv[1:3])
    if sys.argv[3:] == ["one"]:
        sys.path.insert(0, str(ROOT / "bindings" / "onnxruntime" / "python"))
        site.addsitedir(str(ROOT / "bindings" / "anydml_compat" / "python"))
        run_all(model)
        return 0
    pythons = sorted((ROOT / ".cache" / "onnxruntime").glob("venv*/bin/python"))
    if not pythons:
        print("skipped: no ONNX Runtime in .cache/onnxruntime (scripts/prepare-onnxruntime)")
        return SKIP
    environment = {**os.environ, "ANYDML_ONNXRUNTIME_PROVIDER": library}
    for python in pythons:
        code = subprocess.call([str(python), __file__, library, model, "one"], env=environment)
        if code:
            return code
        check_off(str(python), library)
    return 0


if __name__ == "__main__":
    sys.exit(main())
