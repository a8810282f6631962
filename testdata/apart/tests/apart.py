"""Runs the agent's program as a child and reads what it prints."""

import ctypes
import subprocess
import sys

# Nothing of the same user may look into this process or write to it.
if ctypes.CDLL(None).prctl(4, 0, 0, 0, 0) != 0:  # PR_SET_DUMPABLE
    sys.exit("cannot shut the tests off")

failed = 0
for number in (0, 21, -4):
    child = subprocess.run(
        [sys.executable, "-I", "twice.py", str(number)],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=5,
    )
    failed += child.stdout.strip() != str(2 * number)
sys.exit(1 if failed else 0)
