# SPDX-License-Identifier: Apache-2.0
"""The command with one allocation after the other failing, or one call on a file, or of what else the library of inject.c makes
fail: no crash, and either the same output or a line on stderr, exit code 1 or 2, and nothing half written.

usage: test_command.py ANYDML INJECT MODEL [--what KIND] [--use NAME] [--every N]"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tool"))
import wire  # pylint: disable=wrong-import-position
from pictures import png  # pylint: disable=wrong-import-position

# How many of each kind: a sample of all.
SAMPLED = {"memory": 80, "threads": 2, "EIO": 8, "ENOSPC": 4, "EINTR": 3, "EMFILE": 3, "short": 3}
IMAGE = np.arange(12 * 10 * 3, dtype=np.uint8).reshape(12, 10, 3)


def weights_model():
    """A model whose weights are in a file of their own."""
    tensor = (wire.field(1, 4) + wire.field(2, wire.FLOAT) + wire.field(8, "w") + wire.field(14, 1) +
              wire.field(13, wire.field(1, "location") + wire.field(2, "weights")))
    model = wire.model([wire.node("Add", ["x", "w"], ["y"])], [("x", wire.FLOAT, [4])], [("y", wire.FLOAT, [4])])
    graph = next(value for number, value in wire.fields(model) if number == wire.MODEL_GRAPH)
    return model.replace(wire.field(wire.MODEL_GRAPH, graph),
                         wire.field(wire.MODEL_GRAPH, graph + wire.field(wire.GRAPH_INITIALIZER, tensor)))


def operator(folder):
    np.save(f"{folder}/a.npy", np.arange(6, dtype=np.float32).reshape(2, 3))
    tensor = {"DataType": "FLOAT32", "Sizes": [2, 3]}
    with open(f"{folder}/operator.json", "w", encoding="utf-8") as file:
        json.dump({"type": "DML_OPERATOR_ELEMENT_WISE_ABS", "desc": {"InputTensor": tensor, "OutputTensor": tensor},
                   "inputs": {"InputTensor": {"file": "a.npy"}}}, file)


def inputs(folder, model):
    np.save(f"{folder}/in.npy", np.linspace(0, 1, 360, dtype=np.float32).reshape(1, 3, 12, 10))
    np.save(f"{folder}/x.npy", np.arange(4, dtype=np.float32))
    np.arange(4, dtype=np.float32).tofile(f"{folder}/weights")
    for name, data in (("weights.onnx", weights_model()), ("in.png", png(IMAGE))):
        with open(f"{folder}/{name}", "wb") as file:
            file.write(data)
    operator(folder)
    os.symlink(os.path.abspath(model), f"{folder}/model.onnx")


# What is run, in a folder with the inputs; what it may write besides its outputs, and which of that need not be whole.
USES = {
    "run": ["run", "model.onnx", "--input", "in.npy", "--output", "out.npy"],
    "image": ["run", "model.onnx", "--input", "in.png", "--output", "out.png"],
    "weights": ["run", "weights.onnx", "--input", "x.npy", "--output", "out.npy"],
    "dispatch": ["dispatch", "operator.json", "--json"],
    "graph": ["graph", "weights.onnx", "--svg", "--output", "out.svg"],
}
SERVICES = ["trace.json", ".config", ".cache", ".local"]


class Case:
    def __init__(self, args, use, what):
        self.args, self.use, self.what = args, use, what
        plain, self.right = self.run(0)
        found = re.search(r"inject: (\d+) of", plain.stderr)
        assert plain.returncode == 0 and found, plain.stderr
        self.count = int(found.group(1))

    def run(self, number):
        """The process, and what is in the folder afterwards."""
        with tempfile.TemporaryDirectory() as folder:
            inputs(folder, self.args.model)
            before = set(os.listdir(folder))
            env = dict(os.environ, LD_PRELOAD=self.args.inject, ANYDML_INJECT=str(number), ANYDML_INJECT_WHAT=self.what,
                       ANYDML_ADAPTERS="cpu", ANYDML_THREADS="2" if self.what == "threads" else "1", HOME=folder,
                       ANYDML_TRACE=f"{folder}/trace.json" if self.use == "weights" else "", ANYDML_TELEMETRY="0")
            result = subprocess.run([self.args.anydml, *USES[self.use]], env=env, capture_output=True, timeout=120,
                                    check=False, cwd=folder, text=True, errors="replace")
            made = {}
            for name in set(os.listdir(folder)) - before - set(SERVICES):
                with open(f"{folder}/{name}", "rb") as file:
                    made[name] = file.read()
            if self.use == "dispatch" and result.returncode == 0: # what others print has times
                made["stdout"] = str(json.loads(result.stdout)["outputs"])
        return result, made

    def judge(self, result, made):
        """"" or what is wrong."""
        if self.what == "EIO": # a temporary file is left where its removal fails
            made = {name: data for name, data in made.items() if not re.search(r"\.\w{6}$", name)}
        if result.returncode == 0:
            return "" if made == self.right else f"other output: {sorted(made)}"
        if result.returncode not in (1, 2):
            return f"exit code {result.returncode}"
        if self.what == "short":
            return f"short reads and writes are no errors: exit code {result.returncode}"
        left = {name for name, data in made.items() if data != self.right.get(name)}
        if left:
            return f"left: {sorted(left)}"
        return "" if result.stderr.strip() else "no message"

    def sweep(self, every):
        bad = runs = 0
        for number in range(1, self.count + 1, every or self.count // SAMPLED[self.what] + 1):
            result, made = self.run(number)
            problem = self.judge(result, made)
            runs += 1
            bad += bool(problem)
            if problem:
                print(f"{self.use}, {self.what} {number}: {problem}\n{result.stderr}")
        print(f"{self.use}, {self.what}: {runs} of {self.count} failures: {bad} wrong")
        return bad


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("anydml")
    parser.add_argument("inject")
    parser.add_argument("model")
    parser.add_argument("--what", choices=SAMPLED, nargs="+", default=["memory"])
    parser.add_argument("--use", choices=USES, nargs="+", default=list(USES))
    parser.add_argument("--every", type=int, default=0)
    args = parser.parse_args()
    args.anydml, args.inject = os.path.abspath(args.anydml), os.path.abspath(args.inject)
    return 1 if sum(Case(args, use, what).sweep(args.every) for what in args.what for use in args.use) else 0


if __name__ == "__main__":
    sys.exit(main())
