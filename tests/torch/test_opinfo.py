# SPDX-License-Identifier: Apache-2.0
"""Another part of torch's own test data each day: entries that a seed chooses, with their first samples. The whole of it is
`make conformance-torch`. TORCH_OPINFO_SEED=N repeats a choice, TORCH_OPINFO_CASES=N makes it larger."""
import os
import random
import time
import types
import unittest

import conformance

SECONDS = 75


class OpInfo(unittest.TestCase):
    def test_some(self):
        seed = int(os.environ.get("TORCH_OPINFO_SEED", int(time.time()) // 86400))
        worker = conformance.Worker(types.SimpleNamespace(samples=2, seconds=10, v=False))
        names, facts = worker.start()
        everything = types.SimpleNamespace(parts="opinfo,module,optimizer,errors,gradcheck", dtypes=None, only=".")
        cases = list(conformance.chosen_cases(names, everything))
        random.Random(seed).shuffle(cases)
        wanted = int(os.environ.get("TORCH_OPINFO_CASES", 300))
        results, began = {}, time.monotonic()
        for case in cases[:wanted]:
            if time.monotonic() - began > SECONDS:
                break
            results[case] = worker.run(case)
        worker.stop()
        ran = [c for c, r in results.items() if r["status"] != "skip"]
        print(f"TORCH_OPINFO_SEED={seed}: {len(results)} of {len(cases)} cases, {len(ran)} ran, "
              f"{sum(results[c]['samples'] for c in ran)} samples", flush=True)
        self.assertEqual({c: r["why"] for c, r in results.items() if r["status"] == "fail"}, {})
        self.assertGreater(len(ran), 20)
        self.assertEqual([name for name, how in facts["core"].items() if how == "none"], [])


if __name__ == "__main__":
    unittest.main()
