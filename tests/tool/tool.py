# SPDX-License-Identifier: Apache-2.0
"""What the tests of the anydml command share: running it, and counting what went wrong."""
import os
import subprocess
import sys
import tempfile

SKIP = 77
# A sanitizer's finding must not look like the command's own exit codes.
os.environ["ASAN_OPTIONS"] = (os.environ.get("ASAN_OPTIONS", "") + ":allocator_may_return_null=1").lstrip(":")
for _name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", "LSAN_OPTIONS"):
    os.environ[_name] = (os.environ.get(_name, "") + ":exitcode=99").lstrip(":")


# What was measured on a machine may not decide how a test ends.
os.environ["ANYDML_TUNING"] = "off"

# Tests are no use of AnyDML that anybody wants to count.
os.environ["ANYDML_TELEMETRY"] = "0"


class Tool:
    def __init__(self, path):
        self.path = os.path.abspath(path)
        self.failed = self.passed = 0
        self.folder = tempfile.TemporaryDirectory(prefix="anydml-test-")

    def file(self, name, content=None):
        """A path in the test's own folder, written when there is content."""
        path = os.path.join(self.folder.name, name)
        if content is not None:
            with open(path, "wb") as file:
                file.write(content)
        return path

    def run(self, *args, timeout=300, **environment):
        try:
            return subprocess.run([self.path, *map(str, args)], capture_output=True, text=True, errors="replace",
                                  timeout=timeout, env={**os.environ, **environment}, check=False)
        except subprocess.TimeoutExpired:
            return subprocess.CompletedProcess(args, -1000, "", "timed out")

    def test(self, condition, what):
        if condition:
            self.passed += 1
        else:
            self.failed += 1
            print("FAILED:", what)
        return bool(condition)

    def works(self, *args, **keywords):
        """The command must succeed in silence on stderr; returns its output."""
        result = self.run(*args, **keywords)
        self.test(result.returncode == 0 and not result.stderr,
                  f"{' '.join(map(str, args))}: code {result.returncode}, {result.stderr.strip()[-500:]}")
        return result.stdout

    def fails(self, args, *fragments, code=2, **keywords):
        """The command must fail with `code` and one line on stderr that has all the fragments."""
        result = self.run(*args, **keywords)
        lines = result.stderr.splitlines()
        fine = result.returncode == code and len(lines) == 1 and all(f in result.stderr for f in fragments)
        self.test(fine, f"{' '.join(map(str, args))}: code {result.returncode}, {result.stderr.strip()[-500:]!r}, "
                        f"wanted code {code} and one line with {fragments}")

    def finish(self):
        self.folder.cleanup()
        print(f"{self.passed} passed, {self.failed} failed")
        sys.exit(1 if self.failed else 0)
