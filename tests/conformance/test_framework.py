#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The conformance framework itself: that it sees what is wrong. Usage: test_framework.py DRIVER"""
import argparse
import os
import stat
import sys
import tempfile
import unittest
import unittest.mock

import numpy as np

import conf_run
import conformance
from conf_compare import compare
from conf_report import COUNTS, SHORT, read_results, store_result, update_result, write_markdown
from conf_run import EDGE, UNSUPPORTED, Unit, Worker, execute, load_families, make_units, untested
from conf_schema import INT4, UINT4, BFloatArray, Schema, bfloat_bits, dtype_of, highest, is_float, lowest, type_name
from conf_wire import Driver, random_layout

DRIVER = None


def worker(path=None):
    args = argparse.Namespace(driver=path or DRIVER, adapter="cpu", pydirectml=False, seed=5, timeout=60, all=True, allow_unsupported=False,
                              lacks=[], flushes=[])
    return Worker(args, Schema(DRIVER), None)


def problem_of(case, op="ELEMENT_WISE_ADD", runner=None):
    """What the framework says about a case, None for nothing."""
    conformance.EDGES[op] = [(lambda: [case], "none")]
    own = runner or worker()
    problem = own.case(Unit(op, "edge", [0]), 0)
    if not runner:
        own.driver.stop()
    return problem


class Layouts(unittest.TestCase):
    def test_round_trip(self):
        rng = np.random.default_rng(3)
        for name in Schema(DRIVER).numbers:
            dtype = dtype_of(name)
            for _ in range(50):
                shape = rng.integers(1, 5, rng.integers(1, 6))
                if is_float(dtype):
                    array = rng.uniform(-9, 9, shape).astype(dtype)
                else:
                    array = rng.integers(lowest(dtype), highest(dtype), shape, endpoint=True,
                                         dtype=getattr(dtype, "storage", dtype))
                    array = dtype.wrap(array) if dtype in (INT4, UINT4) else array
                layout = random_layout(rng, array, name, bool(rng.integers(2)))
                got, clean = layout.load(layout.store(array, 0xA5), 0xA5)
                self.assertTrue(clean)
                # Bits are what crosses the wire of a type that numpy lacks.
                self.assertEqual(type_name(got), "UINT16" if name == "BFLOAT16" else name)
                np.testing.assert_array_equal(np.asarray(got), np.asarray(array))

    def test_gaps_are_watched(self):
        array = np.zeros((2, 3), np.int16)
        layout = random_layout(np.random.default_rng(1), array, "INT16", True)
        layout.__init__("INT16", (2, 3), [8, 2])
        data = bytearray(layout.store(array, 0xA5))
        data[2] ^= 1
        self.assertFalse(layout.load(bytes(data), 0xA5)[1])


class Comparison(unittest.TestCase):
    def check(self, got, want, good, **how):
        want = want if isinstance(want, np.ndarray) else np.float32(want)
        text, _ = compare(np.asarray(got, want.dtype), want, conformance.Case({}, {}, **how), "none")
        self.assertEqual(text is None, good, text)

    def test_flushed_subnormals(self):
        tiny, least = np.finfo(np.float32).tiny, np.finfo(np.float64).tiny
        case = conformance.Case({}, {}, rtol=0, atol=0)
        for kind, want, good in ((np.float32, tiny / 2, True), (np.float32, tiny, False), (BFloatArray, tiny, True),
                                 (BFloatArray, 2 * tiny, False), (np.float64, least / 2, True), (np.float64, least, False)):
            name = "FLOAT64" if kind is np.float64 else "FLOAT32"
            want = np.array([want], name.lower())
            want = bfloat_bits(want) if kind is BFloatArray else want
            for flushes in ([], ["FLOAT32"], ["FLOAT64"], ["FLOAT32", "FLOAT64"]):
                text, _ = compare(np.zeros_like(np.asarray(want)), want, case, "none", flushes)
                self.assertEqual(text is None, good and name in flushes, (kind, want))

    def test_cases_with_subnormals(self):
        for dtype in (np.float32, np.float64):
            least, name = np.finfo(dtype).tiny, np.dtype(dtype).name.upper()
            for value, small in ((least / 2, True), (least, False), (0, False)):
                case = conformance.Case({"ATensor": np.array([1, value], dtype)}, {})
                self.assertEqual(conf_run.has_subnormals(case, [name]), small)
                self.assertFalse(conf_run.has_subnormals(case, []))

    def test_floats(self):
        exact = {"rtol": 0, "atol": 0}
        self.check([1, 2], [1, 2], True, **exact)
        self.check([1, np.nextafter(np.float32(2), 3, dtype=np.float32)], [1, 2], False, **exact)
        self.check([0.0], [-0.0], False, **exact)
        self.check([0.0], [-0.0], True, rtol=1e-6)
        self.check([np.nan], [np.nan], True, **exact)
        self.check([np.nan], [1], False, rtol=1)
        self.check([1], [np.nan], False, rtol=1)
        self.check([np.inf], [3e38], False, rtol=1)
        self.check([-np.inf], [np.inf], False, rtol=1)
        self.check([1.1], [1], False, rtol=0.05)
        self.check([1.1], [1], True, rtol=0.2)
        self.check([np.nextafter(np.float32(1), 2, dtype=np.float32)], [1], True, ulp=1)
        self.check([1.000001], [1], False, ulp=1)

    def test_bits(self):
        nans = np.uint32([0x7FC00000, 0x7FC00001]).view(np.float32)
        self.check(nans, nans.copy(), True, bits=True)
        self.check(nans, nans[::-1].copy(), False, bits=True)

    def test_masks_and_integers(self):
        self.check([1, 5], np.ma.masked_array(np.int32([1, 2]), [False, True]), True)
        self.check([1, 5], np.int32([1, 2]), False)
        self.check([2**63 + 1], np.uint64([2**63]), False)


class Running(unittest.TestCase):
    x = np.float32([[1, 2, 3], [4, 5, 6]])

    def test_right_and_wrong(self):
        right = {"OutputTensor": 2 * self.x}
        inputs = {"ATensor": self.x, "BTensor": self.x}
        self.assertIsNone(problem_of(conformance.Case(inputs, right)))
        wrong = {"OutputTensor": 2 * self.x + np.float32([[0, 0, 0], [0, 0, 1e-3]])}
        self.assertIn("1 of 6 elements differ", problem_of(conformance.Case(inputs, wrong, rtol=1e-6)))

    def test_refusals(self):
        case = conformance.Case({"ATensor": self.x, "BTensor": self.x[:1]}, {"OutputTensor": self.x})
        self.assertRegex(problem_of(case), "CreateOperator: 0x80070057 .*BTensor")
        case = conformance.Case({"NoField": 1}, {"OutputTensor": self.x})
        self.assertIn("no field NoField", problem_of(case))

    def test_nonsense(self):
        driver = Driver(DRIVER, "cpu", 60)
        self.assertEqual(driver.run(b"\4\0\0\0\xff\xff\xff\xff")[0], "request")
        driver.stop()

    def test_crash(self):
        """The first process dies, the second works."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "driver")
            with open(path, "w", encoding="utf-8") as file:
                file.write(f'#!/bin/sh\n[ -e "{folder}/died" ] || {{ touch "{folder}/died"; echo last words >&2; kill -SEGV $$; }}\n'
                           f'exec "{os.path.abspath(DRIVER)}" "$@"\n')
            os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)
            runner = worker(path)
            case = conformance.Case({"ATensor": self.x, "BTensor": self.x}, {"OutputTensor": 2 * self.x})
            self.assertRegex(problem_of(case, runner=runner), "(?s)crashed.*last words")
            self.assertIsNone(problem_of(case, runner=runner))
            runner.driver.stop()

    def test_start(self):
        """A worker that cannot start is an error, not an end of its process."""
        with unittest.mock.patch.object(conf_run, "_worker", None):
            conf_run.start_worker(None, None, None)
            with self.assertRaisesRegex(RuntimeError, "AttributeError"):
                conf_run.run_unit(None)

    def test_unsupported(self):
        """Only what has a type that the device says it lacks may be refused."""
        runner = worker()
        case = conformance.Case({"ATensor": self.x, "BTensor": self.x}, {"OutputTensor": 2 * self.x})
        refusal = ("CompileOperator", UNSUPPORTED, "no such shader", [])
        with unittest.mock.patch.object(runner.driver, "run", return_value=refusal):
            for lacks, wanted in ([], True), (["FLOAT64"], True), (["FLOAT64", type_name(self.x)], False):
                runner.args.lacks = lacks
                self.assertEqual(bool(problem_of(case, runner=runner)), wanted)
        runner.driver.stop()


class Report(unittest.TestCase):
    def make(self, device, worst):
        rows = {"FLOAT32": dict(zip(COUNTS, (64, 0, 0, worst))), "INT8": dict(zip(COUNTS, (64, 0, 0, 0.0))),
                "INT16": dict(zip(COUNTS, (64, 1, 2, 0.0)))}
        return {"adapter": "0", "device": device, "lacks": [], "flushes": [], "seed": 1, "date": "2026-01-01", "seconds": 2.0, "cases": 192,
                "failed": 1, "unsupported": 2, "missing": [], "operators": {"ELEMENT_WISE_ADD": rows}}

    def test_columns(self):
        """A column for each device that has a result, the newest of each."""
        with tempfile.TemporaryDirectory() as folder:
            for device, worst in ("A GPU (driver 1)", 5e-7), ("cpu", 1e-7), ("A GPU (driver 2)", 2.5e-7):
                store_result(folder, self.make(device, worst))
            results = read_results(folder)
            self.assertEqual([out["device"] for out in results], ["cpu", "A GPU (driver 2)"])
            path = os.path.join(folder, "page.md")
            write_markdown(path, results, Schema(DRIVER))
            with open(path, encoding="utf-8") as file:
                page = file.read()
            again = self.make("cpu", 3e-8)
            again["operators"]["ELEMENT_WISE_ADD"]["INT16"] = dict(zip(COUNTS, (64, 0, 0, 0.0)))
            update_result(folder, again)
            cpu = read_results(folder)[0]
            self.assertEqual((cpu["cases"], cpu["failed"], cpu["unsupported"]), (192, 0, 0))
        self.assertIn("| operator | types | cpu | A GPU |", page)
        self.assertIn("| ELEMENT_WISE_ADD | FLOAT32 | 64 · 1.0e-07 | 64 · 2.5e-07 |", page)
        self.assertIn("|  | INT16 | 64 **1 failed** (2 unsupported) | 64 **1 failed** (2 unsupported) |", page)
        self.assertIn("|  | INT8 | 64 | 64 |", page)


class Choosing(unittest.TestCase):
    def run_some(self, **more):
        """(schema, arguments, what ran) of a few operators."""
        args = argparse.Namespace(driver=DRIVER, adapter="cpu", pydirectml=False, seed=5, timeout=60, all=True, allow_unsupported=False,
                                  lacks=[], flushes=[], jobs=2, verbose=False, only=None, filter=["ELEMENT_WISE_BIT_*"], cases=3, budget=None)
        args.__dict__.update(more)
        schema = Schema(DRIVER)
        return schema, args, execute(args, schema, make_units(args, schema))[0]

    def test_without_time(self):
        """Each operator runs once, and nothing is missing that a budget may not leave out."""
        schema, args, units = self.run_some(budget=1e-9)
        ran = sorted(unit.op for unit in units for _ in range(unit.cases))
        self.assertEqual(ran, sorted(op for op in schema.operators if op.startswith("ELEMENT_WISE_BIT_")))
        self.assertEqual(untested(args, schema, units), [])
        self.assertNotEqual(untested(argparse.Namespace(filter=args.filter, budget=None), schema, units), [])

    def test_what_is_missing(self):
        schema, args, units = self.run_some()
        self.assertEqual(untested(args, schema, units), [])
        left = [unit for unit in units if unit.op != "ELEMENT_WISE_BIT_NOT"]
        for args.budget in (None, 1):
            self.assertRegex(" ".join(untested(args, schema, left)), "ELEMENT_WISE_BIT_NOT never ran")
            with unittest.mock.patch.dict(conformance.OPERATORS):
                del conformance.OPERATORS["ELEMENT_WISE_BIT_NOT"]
                self.assertEqual(untested(args, schema, units), ["ELEMENT_WISE_BIT_NOT has no cases"])

    def test_report_has_all_types(self):
        self.assertEqual(set(SHORT), {EDGE, *Schema(DRIVER).numbers})


if __name__ == "__main__":
    DRIVER = sys.argv.pop(1)
    load_families()
    unittest.main()
