# SPDX-License-Identifier: Apache-2.0
"""src/schema/operators.def and the defaults of src/builder/rules.def, as the generators read them."""
import os
import re

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
ROW = re.compile(r"^\s*(OP|EXTENSION|INPUT_ARRAY|OUTPUT_ARRAY|INPUT|OUTPUT|ATTR|ARRAY|ENUM|FUSED|ACTIVATIONS|DEFAULT|"
                 r"DEFAULT_FOR_0)\s*\(((?:[^\"()]|\"[^\"]*\")*)\)", re.M)


def rows(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
    for kind, arguments in ROW.findall(text):
        yield kind, [one.strip() for one in re.findall(r'(?:"[^"]*"|[^,"])+', arguments)]


class Operator:
    def __init__(self, kind, name, level, meaning):
        self.name, self.level, self.meaning = name, level, meaning
        self.prefix = "ANYDML" if kind == "EXTENSION" else "DML"
        short = name.replace("ELEMENT_WISE_", "")
        self.function = "Anydml" + "".join(word.capitalize() for word in short.split("_"))
        self.struct = "anydml_" + short.lower() + "_options"
        self.desc = f"{self.prefix}_{name}_OPERATOR_DESC"
        self.fields = []

    def of(self, *kinds):
        return [field for field in self.fields if field[0] in kinds]


def read_operators():
    operators = []
    for kind, arguments in rows("src/schema/operators.def"):
        if kind in ("OP", "EXTENSION"):
            operators.append(Operator(kind, arguments[0], level_of(arguments[1]), arguments[-1].strip('"')))
        elif operators:
            operators[-1].fields.append((kind, arguments))
    return operators


def level_of(text):
    major, minor = text.split("_")
    return int(major) << 12 | int(minor) << 8


def read_defaults():
    """(operator, field) -> (value, whether 0 is a value of the field)."""
    return {(arguments[0], arguments[1]): (arguments[2], kind == "DEFAULT")
            for kind, arguments in rows("src/builder/rules.def") if kind.startswith("DEFAULT")}


def follows(operator, output):
    """Whether type and sizes of an output are always those of required inputs."""
    inputs = [field[1] for field in operator.of("INPUT") if field[1][1] == "REQ"]
    return (output[4] in ("SAME", "SAME2") and output[4] in [one[4] for one in inputs] and output[3] != "T0" and
            output[3] in [one[3] for one in inputs])


def hidden_counts(operator):
    """Lengths that follow from the rank or from tensors."""
    lengths = {field[1][1] for field in operator.of("ARRAY", "INPUT_ARRAY", "OUTPUT_ARRAY")}
    arrays = {field[1][1] for field in operator.of("INPUT_ARRAY", "OUTPUT_ARRAY")}
    return {field[1][0] for field in operator.of("ATTR")
            if field[1][0] in arrays or field[1][0] in lengths and field[1][2] in ("RANK", "SPATIAL")}
