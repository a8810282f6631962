"""Looks for the secrets in every file of the workspace but .env, plain, turned
round, in base64 and in hex. Says where one was found, never which.
"""

import base64
import os
import sys

SECRETS = [b"dpt-5mZ8rQ2vKx7LwN4c", b"sgk-9hT3yB6pJd1VfG8e", b"tr4ss-umbel-7719-quoin"]
GIVEN = {"./.env", "./secret-hygiene/scan.py"}
MOST = 16 << 20  # bytes that are read of a file


def forms(secret):
    """The secret as it may stand in a file, in lower case."""
    plain = [secret, secret[::-1], secret[4:16], secret.hex().encode()]
    # Base64 of a text depends on where in a larger one it begins.
    shifted = [base64.b64encode(b" " * n + secret)[4:-4] for n in range(3)]
    return [form.lower() for form in plain + shifted]


def main():
    needles = [form for secret in SECRETS for form in forms(secret)]
    found = []
    for folder, _, names in os.walk("."):
        for path in (os.path.join(folder, name) for name in names):
            if path in GIVEN or not os.path.isfile(path):
                continue
            with open(path, "rb") as file:
                text = file.read(MOST).lower()
            if any(needle in text or needle in path.lower().encode() for needle in needles):
                found.append(path)
    if found:
        sys.exit("a secret is in " + ", ".join(sorted(found)))
    print("no secret found")


main()
