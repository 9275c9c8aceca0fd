# SPDX-License-Identifier: Apache-2.0
"""The default device in ONNX Runtime: test_default.py LIBRARY ANYDML [PYDIRECTML_FOLDER PYDIRECTML_LIBRARY]

The first device of the provider, that of register() and of the names, is the first one of `anydml devices`, whichever that
is; so is pydirectml's.
"""
import json
import os
import subprocess
import sys

ENVIRONMENTS = ({}, {"ANYDML_VULKAN_HARDWARE": "1"}, {"ANYDML_ADAPTERS": "cpu"}, {"ANYDML_ADAPTERS": "vulkan"},
                {"ANYDML_ADAPTERS": "cpu,vulkan"}, {"ANYDML_ADAPTERS": "vulkan,cpu"})


def use(library):
    """In a process of its own: what the devices are called, and what a session by name says it runs on."""
    os.environ.setdefault("ANYDML_ADAPTERS", "")  # no device of tests: provider.py would take one
    from provider import NAME, WINDOWS_NAME, devices, np, onnx, ort
    kind, helper = onnx.TensorProto.FLOAT, onnx.helper
    graph = helper.make_graph([helper.make_node("Add", ["x", "x"], ["y"])], "g",
                              [helper.make_tensor_value_info("x", kind, [2])],
                              [helper.make_tensor_value_info("y", kind, [2])])
    model = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)]).SerializeToString()
    names = [[d.ep_metadata["name"] for d in devices(library, name)] for name in (NAME, WINDOWS_NAME)]
    numbers = [[d.ep_metadata["device_id"] for d in devices(library, name)] for name in (NAME, WINDOWS_NAME)]
    version = tuple(map(int, ort.__version__.split(".")[:2]))
    for options in ({}, {"device_id": "0"}, {"device_filter": "any"}):
        if version < (1, 25):
            break
        options = {**options, "performance_preference": "default"}
        session = ort.InferenceSession(model, providers=[(NAME, options)])
        assert session.get_providers()[0] == NAME, session.get_providers()
        assert session.run(None, {"x": np.ones(2, np.float32)})[0].tolist() == [2, 2]
    print(json.dumps({"names": names, "numbers": numbers, "sessions": version >= (1, 25)}))


PYDIRECTML = "import pydirectml; print(pydirectml.Device().name); print(pydirectml.Device(use_gpu=False).name)"


def main():
    library, anydml = sys.argv[1:3]
    if "--use" in sys.argv:
        return use(library)
    base = {name: value for name, value in os.environ.items() if not name.startswith("ANYDML_")}
    tested = 0
    for environment in ENVIRONMENTS:
        env = {**base, **environment, "ANYDML_TELEMETRY": "0"}
        listed = subprocess.run([anydml, "devices", "--json"], env=env, capture_output=True, text=True, check=False)
        if listed.returncode:
            continue  # no Vulkan
        names = [device["name"] for device in json.loads(listed.stdout)]
        ran = subprocess.run([sys.executable, __file__, library, anydml, "--use"], env={**env, "ANYDML_LOG": "info"},
                             capture_output=True, text=True, check=False)
        if ran.returncode:
            print(ran.stdout, ran.stderr)
            return ran.returncode
        found = json.loads(ran.stdout.splitlines()[-1])
        oldest = not found["sessions"]  # which lists only hardware that it has found itself
        assert oldest or found["names"] == [names] * 2, (environment, found, names)
        assert oldest or found["numbers"] == [[str(i) for i in range(len(names))]] * 2, (environment, found)
        opened = {line.split('"')[1] for line in ran.stderr.splitlines() if "device on adapter" in line}
        assert oldest or opened == {names[0]}, (environment, opened, names)
        tested += 1
        if len(sys.argv) > 3:
            package = subprocess.run([sys.executable, "-c", PYDIRECTML], capture_output=True, text=True, check=False,
                                     env={**env, "PYTHONPATH": sys.argv[3], "PYDIRECTML_LIBRARY": sys.argv[4]})
            assert not package.returncode, package.stderr
            assert package.stdout.splitlines()[0] == names[0], (environment, package.stdout, names)
    print(f"ok: {tested} environments")
    return 0


if __name__ == "__main__":
    sys.exit(main())
