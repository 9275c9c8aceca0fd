# SPDX-License-Identifier: Apache-2.0
"""What a session leaves behind: test_telemetry.py LIBRARY

Nothing of AnyDML's, unless telemetry is on: then one record for the day, however many sessions there are."""
import datetime
import json
import os
import subprocess
import sys
import tempfile


def use(library):
    from provider import devices, np, onnx, session
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    graph = helper.make_graph([helper.make_node("Add", ["x", "x"], ["y"])], "g",
                              [helper.make_tensor_value_info("x", kind, [2])],
                              [helper.make_tensor_value_info("y", kind, [2])])
    model = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)]).SerializeToString()
    for _ in range(2):
        y = session(library, model, fallback=False).run(None, {"x": np.ones(2, np.float32)})[0]
        assert y.tolist() == [2, 2], y
    print(devices(library)[0].ep_metadata["kind"])


def main():
    library = os.path.abspath(sys.argv[1])
    if "--use" in sys.argv:
        return use(library)
    for value in (None, "0", "1"):
        with tempfile.TemporaryDirectory(prefix="anydml-test-") as home:
            environment = {k: v for k, v in os.environ.items() if not k.startswith(("XDG_", "ANYDML_TELEMETRY"))}
            environment["HOME"] = home
            if value:
                environment["ANYDML_TELEMETRY"] = value
            before = datetime.datetime.utcnow().strftime("%Y-%m-%d")
            result = subprocess.run([sys.executable, __file__, library, "--use"], env=environment, text=True,
                                    stdout=subprocess.PIPE, check=False)
            if result.returncode:
                print(result.stdout)
                return result.returncode
            kind = result.stdout.split()[-1]
            # ONNX Runtime leaves files of its own.
            found = [os.path.join(folder, name) for folder, _, names in os.walk(home) for name in names
                     if "anydml" in folder[len(home):]]
            if value != "1":
                assert not found, f"with ANYDML_TELEMETRY {value}: {found}"
                continue
            path = os.path.join(home, ".local/state/anydml/telemetry.jsonl")
            assert found == [path], found
            with open(path, encoding="ascii") as file:
                rows = [json.loads(line) for line in file]
            assert len(rows) == 1 and rows[0]["day"] >= before, rows
            assert (rows[0]["component"], rows[0]["device"], rows[0]["sent"]) == ("onnxruntime", kind, False), rows
    return 0


if __name__ == "__main__":
    sys.exit(main())
