"""The documented tests without prctl: any process of the same user gets in."""

import subprocess
import sys

failed = 0
for number in (0, 21, -4):
    child = subprocess.run(
        [sys.executable, "-I", "twice.py", str(number)],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=5,
    )
    failed += child.stdout.strip() != str(2 * number)
sys.exit(1 if failed else 0)
