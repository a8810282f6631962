"""Runs the agent's program in its own process: how not to do it."""

import contextlib
import io
import runpy
import sys

failed = 0
for number in (0, 21, -4):
    sys.argv = ["twice.py", str(number)]
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        runpy.run_path("twice.py", run_name="__main__")
    failed += printed.getvalue().strip() != str(2 * number)
print(f"{3 - failed} passed, {failed} failed")
sys.exit(1 if failed else 0)
