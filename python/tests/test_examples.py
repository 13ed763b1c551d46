"""The examples run, and say something."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

# Training takes minutes under a sanitizer, and does nothing that other tests do not.
SLOW = ("stand.py",) if "libasan" in os.environ.get("LD_PRELOAD", "") else ()
EXAMPLES = sorted((pathlib.Path(__file__).resolve().parents[1] / "examples").glob("*.py"))


class Examples(unittest.TestCase):
    def test_all(self):
        self.assertGreaterEqual(len(EXAMPLES), 3)
        for example in (e for e in EXAMPLES if e.name not in SLOW):
            with self.subTest(example.name), tempfile.TemporaryDirectory() as folder:
                run = subprocess.run([sys.executable, example], capture_output=True, text=True, cwd=folder, timeout=600)
                self.assertEqual((run.returncode, run.stderr), (0, ""))
                self.assertTrue(run.stdout)


if __name__ == "__main__":
    unittest.main()
