# SPDX-License-Identifier: Apache-2.0
"""Draws the cases, runs them in several processes and reports."""
import argparse
import fnmatch
import glob
import importlib
import json
import multiprocessing
import os
import random
import subprocess
import sys
import time
import traceback
import zlib

import numpy as np

import conformance
from conf_compare import compare, is_subnormal
from conf_report import read_results, store_result, update_result, write_markdown
from conf_schema import BFloatArray, Schema, bfloat_bits, bfloat_values, dtype_of, type_name
from conf_wire import Crash, Driver, Encoder

UNSUPPORTED = 0x887A0004
EDGE = "edge"
FAILURES_SHOWN = 3  # of each operator and type
HERE = os.path.dirname(os.path.abspath(__file__))


class Unit:
    """The cases of one operator and type (or its edge cases): what a worker takes."""

    def __init__(self, op, type_name, indices):
        self.op, self.type, self.indices = op, type_name, indices
        self.first = False  # of its operator, so that it is run however little time there is
        self.cases = self.failed = self.unsupported = 0
        self.worst, self.failures, self.seen = 0.0, [], set()


def as_bfloat(op, case):
    """The case, whose inputs are bfloat16 numbers in FLOAT32, with bfloat16 in their place; None: some are not."""
    def inexact(array):
        with np.errstate(all="ignore"):
            return not np.array_equal(bfloat_values(bfloat_bits(array)), array, equal_nan=True)

    def convert(field, given):
        if isinstance(given, list):
            return [convert(field, one) for one in given]
        if isinstance(given, np.ndarray) and given.dtype == np.float16 and op.name.startswith("ELEMENT_WISE_BIT_"):
            return given.view(np.uint16).view(BFloatArray)
        if not isinstance(given, np.ndarray) or given.dtype != np.float32 or "BFLOAT16" not in field.extensions:
            return given
        if isinstance(given, np.ma.MaskedArray):
            return np.ma.masked_array(bfloat_bits(given.data), given.mask)
        return bfloat_bits(given)

    for field in op.fields:
        given = case.fields.get(field.name)
        arrays = given if isinstance(given, list) else [given]
        if field.kind == "input" and any(
                isinstance(convert(field, x), BFloatArray) and x.dtype == np.float32 and inexact(x) for x in arrays):
            return None
        if given is not None and field.kind != "attribute":
            case.fields[field.name] = convert(field, given)
        if field.type == "type" and given is not None and type_name(given) == "FLOAT32":
            case.fields[field.name] = "BFLOAT16"
        if case.outputs.get(field.name) is not None:
            case.outputs[field.name] = convert(field, case.outputs[field.name])
    return case


def has_subnormals(case, types):
    """Whether an input of one of the types has subnormal numbers; bfloat16 is as FLOAT32."""
    def check(given):
        if isinstance(given, list):
            return any(check(one) for one in given)
        if isinstance(given, BFloatArray):
            given = bfloat_values(given)
        return isinstance(given, np.ndarray) and type_name(given) in types and bool(is_subnormal(np.asarray(given)).any())
    return any(check(given) for given in case.fields.values())


def flushes_subnormals(args, schema, dtype):
    """Whether the device takes subnormal numbers of FLOAT32 or FLOAT64 for zeros: it adds two."""
    x = np.array([np.finfo(dtype).tiny / 8], dtype)
    case = conformance.Case({"ATensor": x, "BTensor": x}, {"OutputTensor": x + x})
    encoder = Encoder(schema, "ELEMENT_WISE_ADD", case, np.random.default_rng(1))
    driver = Driver(args.driver, args.adapter, args.timeout)
    stage, _, message, data = driver.run(encoder.request())
    driver.stop()
    if stage != "done":
        raise Crash(f"ELEMENT_WISE_ADD of one element: {message}")
    return not encoder.outputs[0][2].load(data[0], encoder.poison)[0].any()


class Worker:
    def __init__(self, args, schema, deadline):
        self.args, self.schema, self.deadline = args, schema, deadline
        self.driver = Driver(args.driver, args.adapter, args.timeout)
        self.module = None
        if args.pydirectml:
            import conf_pydirectml
            self.module = conf_pydirectml.Module(args.adapter, schema)
            self.inexpressible = conf_pydirectml.Inexpressible

    def seed(self, *more):
        return [self.args.seed, *(zlib.crc32(x.encode()) if isinstance(x, str) else x for x in more)]

    def draw(self, unit, index):
        """(the case, its family)."""
        if unit.type == EDGE:
            cases = [(case, family) for function, family in conformance.EDGES[unit.op] for case in function()]
            return cases[index]
        registered = conformance.OPERATORS[unit.op]
        field = registered.types or self.schema.operators[unit.op].first_tensor()
        for attempt in range(100):
            seed = self.seed(unit.op, unit.type, index, attempt)
            bfloat = unit.type == "BFLOAT16"
            bitwise = unit.op.startswith("ELEMENT_WISE_BIT_")  # FLOAT16 bits are as good
            drawn = dtype_of(("FLOAT16" if bitwise else "FLOAT32") if bfloat else unit.type)
            case = registered.function(conformance.Generator(self.schema, unit.op, drawn, field, seed, bfloat))
            if case is not None and bfloat:
                case = as_bfloat(self.schema.operators[unit.op], case)
            if case is not None:
                return case, registered.family
        raise ValueError("no legal case in 100 attempts")

    def run(self, unit):
        for index in unit.indices:
            if self.deadline and time.monotonic() > self.deadline and not unit.first:
                break
            problem = self.case(unit, index)
            unit.cases += 1
            if not problem:
                continue
            unit.failed += 1
            if len(unit.failures) < FAILURES_SHOWN or self.args.all:
                unit.failures.append((f"{unit.op}:{unit.type}:{index}", problem))
        return unit

    def case(self, unit, index):
        """What is wrong, or None."""
        try:
            with np.errstate(all="ignore"):
                case, family = self.draw(unit, index)
                encoder = Encoder(self.schema, unit.op, case, np.random.default_rng(self.seed(unit.op, unit.type, index, 777)))
        except Exception:  # whatever a reference does wrong is that case's failure
            return "the reference failed: " + traceback.format_exc(limit=-3)
        for slot in encoder.seen:
            unit.seen.add(slot)
        if has_subnormals(case, self.args.flushes):
            unit.cases -= 1
            return None
        if self.module:
            return self.case_in_module(unit, index, case, family, encoder)
        try:
            stage, hr, message, data = self.driver.run(encoder.request())
        except Crash as crash:
            return f"{crash}\n{encoder.describe()}"
        if stage == "CompileOperator" and hr == UNSUPPORTED:
            unit.unsupported += 1
            lacks = {name for _, name in encoder.seen} & set(self.args.lacks)
            return None if lacks or self.args.allow_unsupported else "unsupported: " + message
        if stage != "done":
            return f"{stage}: 0x{hr:08x} {message}\n{encoder.describe()}"
        if message:
            return f"an error message of a run that went well: {message}"
        return self.check(unit, case, family, encoder, data)

    def case_in_module(self, unit, index, case, family, encoder):
        """The same through pydirectml."""
        rng = np.random.default_rng(self.seed(unit.op, unit.type, index, 778))
        try:
            results = self.module.run(unit.op, case, rng)
        except self.inexpressible:
            unit.cases -= 1
            return None
        except Exception as error:  # whatever the module raises is that case's failure
            if getattr(error, "hresult", 0) != UNSUPPORTED:
                return "pydirectml: " + traceback.format_exc(limit=-4)
            unit.unsupported += 1
            lacks = {name for _, name in encoder.seen} & set(self.args.lacks)
            return None if lacks or self.args.allow_unsupported else f"unsupported: {error}"
        fields = [one.name for one in self.schema.operators[unit.op].fields if one.kind == "output"]
        wanted = [case.outputs.get(field) for field in fields]
        if len(wanted) == 1 and isinstance(wanted[0], list):
            wanted = wanted[0]
        if len(results) != len(wanted):
            return f"pydirectml: {len(results)} results, not {len(wanted)}"
        for i, (got, want) in enumerate(zip(results, wanted)):
            if want is None:
                continue
            # Some ranks are free, and the module has no parameter for them.
            if got is not None and [n for n in got.shape if n != 1] == [n for n in want.shape if n != 1]:
                got = got.reshape(want.shape)
            if got is None or got.shape != want.shape or type_name(got) != type_name(want) and type_name(want) != "BFLOAT16":
                return f"pydirectml: output {i} is {got if got is None else (got.shape, got.dtype)}, not {want.shape}"
            text, worst = compare(got, want, case, family, self.args.flushes)
            unit.worst = max(unit.worst, worst)
            if text:
                return f"pydirectml: output {i}: {text}"
        return None

    def check(self, unit, case, family, encoder, data):
        for slot, raw in zip(encoder.outputs, data):
            if slot is None:
                continue
            field, index, layout, aliased = slot
            want = case.outputs[field] if index is None else case.outputs[field][index]
            got, clean = layout.load(raw, encoder.poison)
            text, worst = compare(got, want, case, family, self.args.flushes)
            unit.worst = max(unit.worst, worst)
            if text:
                return f"{field}{'' if index is None else f'[{index}]'}: {text}\n{encoder.describe()}"
            if not clean and not aliased:
                return f"{field}: bytes between its elements were written\n{encoder.describe()}"
        return None


_worker = None


def start_worker(args, schema, deadline):
    """A failure is reported by the first unit: a pool would start a process that dies here again, without end."""
    global _worker
    try:
        _worker = Worker(args, schema, deadline)
    except Exception:
        _worker = traceback.format_exc()


def run_unit(unit):
    if isinstance(_worker, str):
        raise RuntimeError(_worker)
    return _worker.run(unit)


def stop_worker(_):
    """The last words of the driver: leaks, for example."""
    try:
        _worker.driver.stop()
    except Crash as crash:
        return str(crash)
    return None


def load_families():
    sys.path.insert(0, HERE)
    for path in sorted(glob.glob(os.path.join(HERE, "ops_*.py"))):
        importlib.import_module(os.path.basename(path)[:-3])


def chosen(args, op):
    return not args.filter or any(fnmatch.fnmatch(op, pattern.upper()) for pattern in args.filter)


def edge_count(op):
    return sum(len(function()) for function, _ in conformance.EDGES[op])


def edge_counts(ops):
    """Found out by another process: PyTorch's threads, which references start, do not survive in forks."""
    with multiprocessing.get_context("fork").Pool(1) as pool:
        return dict(zip(ops, pool.map(edge_count, ops)))


def make_units(args, schema):
    """The work, in the schema's order."""
    if args.only:
        parts = [one.split(":") for one in args.only]
        return [Unit(op, kind, [int(index)]) for op, kind, index in parts]
    units = []
    edges = edge_counts([op for op in schema.operators if chosen(args, op) and op in conformance.EDGES])
    for op, desc in schema.operators.items():
        if not chosen(args, op):
            continue
        if op in edges:
            units.append(Unit(op, EDGE, range(edges[op])))
        if op in conformance.OPERATORS:
            field = conformance.OPERATORS[op].types or desc.first_tensor()
            kinds = desc.field(field).types + desc.field(field).extensions
            units += [Unit(op, name, range(args.cases)) for name in kinds]
    return units


def untested(args, schema, units):
    """What has no case at all: operators and, unless a budget may have left them out, types of the field under test."""
    run = {(unit.op, unit.type) for unit in units if unit.cases}
    operators = {op for op, _ in run}
    out = []
    for op, desc in schema.operators.items():
        if not chosen(args, op):
            continue
        if op not in conformance.OPERATORS:
            out.append(f"{op} has no cases")
            continue
        if args.budget:
            out += [] if op in operators else [f"{op} never ran"]
            continue
        field = conformance.OPERATORS[op].types or desc.first_tensor()
        out += [f"{op} never ran with {field} of {name}"
                for name in desc.field(field).types + desc.field(field).extensions if (op, name) not in run]
    return out


def untested_fields(units, schema):
    """Data types that other tensors may have and never had: a hint, some are not legal together."""
    seen = {(unit.op, slot) for unit in units for slot in unit.seen}
    return [f"{op}.{field.name} {name}" for op in sorted({unit.op for unit in units})
            for field in schema.operators[op].fields for name in field.types if (op, (field.name, name)) not in seen]


def make_pieces(args, units):
    """What the processes take one by one: small, so that they end together. A budget that runs out leaves every operator
    once, then every type, then some cases of everything."""
    size = 1 if args.budget else 8
    pieces = [Unit(unit.op, unit.type, unit.indices[at:at + size])
              for unit in units for at in range(0, len(unit.indices), size)]
    random.Random(args.seed).shuffle(pieces)
    pieces.sort(key=lambda piece: piece.indices[0])
    seen = set()
    for piece in pieces:
        piece.first = piece.op not in seen
        seen.add(piece.op)
    return sorted(pieces, key=lambda piece: not piece.first)


def execute(args, schema, units):
    deadline = time.monotonic() + args.budget if args.budget else None
    context = multiprocessing.get_context("fork")
    done, last_words = [], []
    with context.Pool(args.jobs, start_worker, (args, schema, deadline)) as pool:
        for unit in pool.imap_unordered(run_unit, make_pieces(args, units)):
            done.append(unit)
            for name, problem in unit.failures:
                print(f"FAILED {name}: {problem.strip()}\n  repeat: {repeat_command(args, name)}", flush=True)
            if args.verbose:
                print(f"{unit.op}:{unit.type} {unit.cases} cases, {unit.failed} failed, worst {unit.worst:.3g}", flush=True)
        # Each process ends its driver once; a few may be asked twice, which does no harm.
        last_words = [text for text in pool.map(stop_worker, range(args.jobs * 4), chunksize=1) if text]
    return merge(done), last_words


def merge(pieces):
    units = {}
    for piece in pieces:
        unit = units.setdefault((piece.op, piece.type), Unit(piece.op, piece.type, ()))
        unit.cases += piece.cases
        unit.failed += piece.failed
        unit.unsupported += piece.unsupported
        unit.worst = max(unit.worst, piece.worst)
        unit.failures += piece.failures
        unit.seen |= piece.seen
    return list(units.values())


def repeat_command(args, name):
    script = os.path.relpath(os.path.join(HERE, "conformance.py"))
    return (f"{script} --driver {os.path.relpath(args.driver)} --adapter {args.adapter} --seed {args.seed} "
            f"--only {name}")


def parse():
    parser = argparse.ArgumentParser(description="Runs every operator against independent references.")
    parser.add_argument("--driver", default=os.environ.get("CONFORMANCE_DRIVER",
                        os.path.join(HERE, "../../build/tests/conformance/conformance-driver")))
    parser.add_argument("--adapter", default="cpu", help="cpu, vulkan, or an index in the list of `anydml devices`")
    parser.add_argument("--pydirectml", action="store_true", help="through the Python module pydirectml")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cases", type=int, default=16, help="of each operator and data type")
    parser.add_argument("--quick", action="store_true", help="three cases of each operator and data type")
    parser.add_argument("--filter", action="append", metavar="OP", help="operators like this, with wildcards; several")
    parser.add_argument("--only", action="append", metavar="OP:TYPE:INDEX", help="this case; several")
    parser.add_argument("--jobs", type=int, default=min(os.cpu_count() or 1, 16))
    parser.add_argument("--budget", type=float, help="seconds after which no case is begun but the first of each operator")
    parser.add_argument("--timeout", type=float, default=120, help="seconds that a case may take")
    parser.add_argument("--all", action="store_true", help=f"print every failure, not {FAILURES_SHOWN} of a kind")
    parser.add_argument("--allow-unsupported", action="store_true",
                        help="an adapter may lack operators; without, only data types that it says it lacks")
    parser.add_argument("--fields", action="store_true", help="list data types that no case gave to a tensor")
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--results", metavar="FOLDER", help="keep the result there, one file for each device; with "
                        "--filter, in place of what is kept of these operators")
    parser.add_argument("--markdown", metavar="FILE", help="a table of all results of --results")
    parser.add_argument("--verbose", "-v", action="store_true")
    args = parser.parse_args()
    if args.quick:
        args.cases = 3
    if (args.markdown and not args.results) or (args.results and args.only):
        parser.error("--markdown goes with --results, --only does not")
    return args


def result(args, units, missing, last_words, seconds):
    return {
        "adapter": args.adapter, "device": args.device, "lacks": args.lacks, "flushes": args.flushes,
        "seed": args.seed,
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "seconds": round(seconds, 1),
        "cases": sum(unit.cases for unit in units),
        "failed": sum(unit.failed for unit in units) + len(last_words),
        "unsupported": sum(unit.unsupported for unit in units),
        "missing": missing,
        "operators": {op: {unit.type: {"cases": unit.cases, "failed": unit.failed, "unsupported": unit.unsupported,
                                       "worst": unit.worst} for unit in units if unit.op == op}
                      for op in sorted({unit.op for unit in units})},
    }


def main():
    args = parse()
    started = time.monotonic()
    probe = subprocess.run([args.driver, "--describe", "--adapter", args.adapter], stdout=subprocess.PIPE, check=False)
    if probe.returncode:
        return probe.returncode
    device = json.loads(probe.stdout)
    args.device, args.lacks = "cpu" if device["host"] else device["name"], device["lacks"]
    load_families()
    schema = Schema(args.driver)
    unknown = (set(conformance.OPERATORS) | set(conformance.EDGES)) - set(schema.operators)
    assert not unknown, f"no such operators: {unknown}"
    for pattern in args.filter or []:
        if not fnmatch.filter(schema.operators, pattern.upper()):
            print(f"--filter {pattern}: no operator is named so (wildcards: *{pattern}*)", file=sys.stderr)
            return 2
    args.flushes = [name for name in ("FLOAT32", "FLOAT64")
                    if name not in args.lacks and flushes_subnormals(args, schema, dtype_of(name))]
    conformance.FLUSHED = args.flushes
    conformance.LACKS = args.lacks
    units, last_words = execute(args, schema, make_units(args, schema))
    missing = [] if args.only else untested(args, schema, units)
    for text in last_words + missing:
        print("FAILED " + text)
    if args.fields:
        print("\n".join("never: " + text for text in untested_fields(units, schema)))
    out = result(args, units, missing, last_words, time.monotonic() - started)
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump(out, file, indent=1)
    if args.results:
        (update_result if args.filter else store_result)(args.results, out)
    if args.markdown:
        write_markdown(args.markdown, read_results(args.results), schema)
    print(f"{out['cases']} cases of {len(out['operators'])} operators on {args.adapter}, seed {args.seed}: "
          f"{out['failed']} failed, {out['unsupported']} unsupported, {len(missing)} missing, {out['seconds']} s")
    return 1 if out["failed"] or missing or not out["cases"] else 0
