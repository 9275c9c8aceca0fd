# SPDX-License-Identifier: Apache-2.0
"""docs/pytorch.md and docs/pytorch-operators.md say what is so."""
import os
import re
import subprocess
import sys
import unittest

import torch
import torch_directml

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")


def lines(name):
    with open(os.path.join(ROOT, "docs", name), encoding="utf-8") as file:
        return file.read().splitlines()


class Documentation(unittest.TestCase):
    def test_operators(self):
        page = lines("pytorch-operators.md")
        if not any(f"ATen of torch {'.'.join(torch.__version__.split('.')[:2])}." in line for line in page):
            self.skipTest("the page is for another version of torch")
        ran = subprocess.run([sys.executable, os.path.join(ROOT, "scripts/generate/torch-operators"), "--check"],
                             capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        rows = {row[1].strip(" `"): [cell.strip(" `") for cell in row[2:5]] for row in (line.split("|") for line in page)
                if len(row) == 6}
        x = torch.eye(3, device="dml")
        for name, column, call in (("relu", 0, lambda: torch.relu(x)), ("trapezoid", 1, lambda: torch.trapezoid(x, dim=0)),
                                   ("masked_select", 1, lambda: x.masked_select(x > 0)),
                                   ("linalg_eig", 2, lambda: torch.linalg.eig(x))):
            self.assertTrue(rows[name][column], name)
            torch_directml.fallbacks(clear=True)
            call()
            fallen = [key for key in torch_directml.fallbacks(clear=True) if key.split(".")[0] == "aten::" + name]
            self.assertEqual(bool(fallen), column == 2, name)

    def test_errors(self):
        """Each call of the table raises the error next to it ("..." is any text)."""
        page = lines("pytorch.md")
        begin = page.index('| call, with `x = torch.ones(2, 3, device="dml")` | error |') + 2
        rows = page[begin:page.index("", begin)]
        self.assertGreater(len(rows), 8)
        for row in rows:
            call, kind, text = re.fullmatch(r"\| `(.*)` \| `([\w.]+): (.*)` \|", row).groups()
            with self.assertRaises(Exception) as error:
                eval(call, {"torch": torch, "torch_directml": torch_directml, "x": torch.ones(2, 3, device="dml")})
            self.assertEqual(type(error.exception).__name__.lstrip("_"), kind.split(".")[-1], call)
            pattern = ".*".join(re.escape(part) for part in text.split("..."))
            self.assertRegex(str(error.exception), re.compile(f"^{pattern}$", re.S), call)

    def test_functions(self):
        page = "\n".join(lines("pytorch.md"))
        for module, title in ((torch_directml, "function of torch_directml"), (torch.dml, "functions of torch.dml")):
            table = page[page.index(f"| {title} |"):].split("\n\n")[0]
            names = [name for row in table.splitlines()[2:] for name in re.findall(r"`([a-z]\w*)", row.split("|")[1], re.I)]
            self.assertGreater(len(names), 10)
            for name in names:
                self.assertTrue(hasattr(module, name), name)
        documented = set(re.findall(r"`([a-z]\w*)", page))
        self.assertEqual(set(torch_directml.__all__) - documented, set())


if __name__ == "__main__":
    unittest.main()
