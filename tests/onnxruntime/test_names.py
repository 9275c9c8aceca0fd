# SPDX-License-Identifier: Apache-2.0
"""The provider's two names: AnyDMLExecutionProvider, and DmlExecutionProvider as on Windows.

    test_names.py LIBRARY MODEL

Runs this file with each ONNX Runtime in .cache/onnxruntime, or with the one of this Python. MODEL is an image network.
"""
import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

SKIP = 77
NAMES = ["AnyDMLExecutionProvider", "DmlExecutionProvider"]
CPU = "CPUExecutionProvider"
BY_NAME = 1, 25  # where providers=[...] of Python's module takes plugins
MEMORY_INFO = 1, 27  # where its tensors take memory that a device describes

try:
    import numpy as np
    import onnxruntime as ort
    VERSION = tuple(map(int, ort.__version__.split(".")[:2]))
    if VERSION < (1, 23):
        raise ImportError("ONNX Runtime 1.23 or newer is needed")
except ImportError as why:
    print("skipped:", why)
    sys.exit(SKIP)


def devices(name):
    return [d for d in ort.get_ep_devices() if d.ep_name == name]


def new_options(fallback, profile=None):
    options = ort.SessionOptions()
    if profile:
        options.enable_profiling = True
        options.profile_file_prefix = profile
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    if not fallback:
        options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
    return options


def by_devices(model, name, settings=None, fallback=False, profile=None, entries=None):
    options = new_options(fallback, profile)
    for key, value in (entries or {}).items():
        options.add_session_config_entry(key, value)
    options.add_provider_for_devices(devices(name)[:1], settings or {})
    return ort.InferenceSession(model, options)


def by_name(model, settings=None, fallback=False, profile=None):
    return ort.InferenceSession(model, new_options(fallback, profile), providers=[(NAMES[0], settings or {})])


def image(seed):
    return np.random.default_rng(seed).random((1, 3, 24, 40), dtype=np.float32)


def run(session, x):
    return session.run(None, {session.get_inputs()[0].name: x})[0]


def check_right(model, session):
    """The numbers; a session with nodes on the CPU provider would not have been made."""
    cpu = ort.InferenceSession(model, new_options(True), providers=[CPU])
    for seed in 1, 2:
        x = image(seed)
        assert np.abs(run(session, x) - run(cpu, x)).max() < 1e-4


def check_assigned(make, name):
    """In ONNX Runtime's profile the nodes are the provider's."""
    with tempfile.TemporaryDirectory() as folder:
        session = make(os.path.join(folder, "profile"))
        run(session, image(4))
        events = json.loads(Path(session.end_profiling()).read_text(encoding="utf-8"))
    providers = {e["args"]["provider"] for e in events if e["cat"] == "Node" and e["name"].endswith("_kernel_time")}
    assert providers == {name}, providers


def check_refused(make, name):
    """Python's module before 1.32 prints what the provider says, warns, and goes on with the CPU provider."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            used = make().get_providers()
        except Exception as error:  # pylint: disable=broad-except; its own class in each version
            used = [CPU]
            out.write(str(error))
    text = out.getvalue()
    assert used == [CPU], used
    assert f"{name}: option half_precision is 'maybe'; must be True, true, False or false" in text, text


def test_listing():
    ours = [d for d in ort.get_ep_devices() if d.ep_name in NAMES]
    assert [d.ep_name for d in ours] == sorted([d.ep_name for d in ours]), "the provider's own name is first"
    one, other = devices(NAMES[0]), devices(NAMES[1])
    assert one and len(one) == len(other)
    assert [d.ep_metadata for d in one] == [d.ep_metadata for d in other]
    if VERSION >= BY_NAME:
        assert ort.get_available_providers()[-2:] == NAMES, ort.get_available_providers()


def test_devices(model, name):
    session = by_devices(model, name)
    assert session.get_providers() == [name, CPU], session.get_providers()
    check_right(model, session)
    check_assigned(lambda profile: by_devices(model, name, profile=profile), name)
    session = by_devices(model, name, {"half_precision": "false"})
    assert session.get_providers() == [name, CPU], session.get_providers()
    check_refused(lambda: by_devices(model, name, {"half_precision": "maybe"}, fallback=True), name)


def test_name(model):
    session = by_name(model)
    assert session.get_providers() == [NAMES[0], CPU], session.get_providers()
    check_right(model, session)
    check_assigned(lambda profile: by_name(model, profile=profile), NAMES[0])
    check_right(model, by_name(model, {"shape_cache": 4, "device_id": 0}))
    check_refused(lambda: by_name(model, {"half_precision": "maybe"}, fallback=True), NAMES[0])


def test_together(model):
    """Sessions under both names at once, and one session with both, where the first takes all nodes."""
    sessions = [by_devices(model, name) for name in NAMES]
    for session in sessions:
        check_right(model, session)
    sessions.pop(0)
    check_right(model, sessions[0])
    options = new_options(False)
    for name in NAMES:
        options.add_provider_for_devices(devices(name)[:1], {})
    session = ort.InferenceSession(model, options)
    assert session.get_providers() == NAMES + [CPU], session.get_providers()
    check_right(model, session)


def test_tensors(model):
    """A tensor in the provider's memory is one, whichever name the session has."""
    x = image(3)
    for name in NAMES:
        info = devices(name)[0].memory_info(ort.OrtDeviceMemoryType.HOST_ACCESSIBLE)
        value = ort.OrtValue.ortvalue_from_shape_and_type(x.shape, np.float32, memory_info=info)
        value.update_inplace(x)
        results = []
        for other in NAMES:
            session = by_devices(model, other)
            binding = session.io_binding()
            binding.bind_ortvalue_input(session.get_inputs()[0].name, value)
            binding.bind_output(session.get_outputs()[0].name)
            session.run_with_iobinding(binding)
            results.append(binding.get_outputs()[0].numpy())
        assert np.array_equal(*results)


def test_compiled(model):
    """What was compiled under one name runs under both."""
    with tempfile.TemporaryDirectory() as folder:
        for name in NAMES:
            path = os.path.join(folder, name + ".onnx")
            by_devices(model, name, entries={"ep.context_enable": "1", "ep.context_file_path": path})
            for other in NAMES:
                check_right(model, by_devices(path, other))


def test_policies(model):
    """ONNX Runtime chooses the provider once, under its own name; a session that asks for nothing gets none."""
    for policy in ort.OrtExecutionProviderDevicePolicy.__members__.values():
        options = new_options(True)
        options.set_provider_selection_policy(policy)
        session = ort.InferenceSession(model, options)
        assert session.get_providers() in ([NAMES[0], CPU], [CPU]), (policy, session.get_providers())
    assert ort.InferenceSession(model, new_options(True)).get_providers() == [CPU]


def test_twice(library, model):
    """Registered again under another name, the devices are there twice, and sessions outlive the second registration.
    (ONNX Runtime keeps shared allocators by their memory, so that those end with whichever registration ends first.)"""
    count = len(devices(NAMES[0]))
    session = by_devices(model, NAMES[0])
    ort.register_execution_provider_library("again", library)
    assert [len(devices(name)) for name in NAMES] == [2 * count] * 2
    for name in NAMES:
        check_right(model, by_devices(model, name))
    ort.unregister_execution_provider_library("again")
    assert [len(devices(name)) for name in NAMES] == [count] * 2
    check_right(model, session)
    for name in NAMES:
        check_right(model, by_devices(model, name))


def test_registered(library, model):
    """After register() the Windows provider's name is no trap: a session that asks for it gets it, without a warning."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bindings" / "onnxruntime" / "python"))
    import onnxruntime_ep_directml as directml
    directml.get_library_path = lambda: library
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            assert [d.ep_name for d in directml.register()] == [NAMES[0]] * len(devices(NAMES[0]))
            assert ort.get_available_providers()[0] == NAMES[1], ort.get_available_providers()
            for providers in ([NAMES[1]], [(NAMES[1], {"device_id": 0})]):
                session = ort.InferenceSession(model, new_options(False), providers=providers)
                assert session.get_providers() == [NAMES[1], CPU], session.get_providers()
                check_right(model, session)
        by_devices(model, NAMES[1])
        if VERSION >= BY_NAME:
            assert by_name(model).get_providers() == [NAMES[0], CPU]


def run_all(library, model):
    ort.register_execution_provider_library("anydml", library)
    test_listing()
    for name in NAMES:
        test_devices(model, name)
    if VERSION >= BY_NAME:
        test_name(model)
    test_together(model)
    if VERSION >= MEMORY_INFO:
        test_tensors(model)
    test_compiled(model)
    test_policies(model)
    test_registered(library, model)
    test_twice(library, model)
    ort.unregister_execution_provider_library("anydml")
    assert not devices(NAMES[0]) and not devices(NAMES[1])
    print("names with ONNX Runtime", ort.__version__)


def main():
    library, model = map(os.path.abspath, sys.argv[1:3])
    cache = Path(__file__).resolve().parents[2] / ".cache" / "onnxruntime"
    pythons = sorted(cache.glob("venv*/bin/python"))
    if sys.argv[3:] == ["one"] or not pythons:
        run_all(library, model)
        return 0
    codes = [subprocess.call([str(python), __file__, library, model, "one"]) for python in pythons]
    return next((code for code in codes if code), 0)


if __name__ == "__main__":
    sys.exit(main())
