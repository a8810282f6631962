"""Runs the agent's query.sql on shop.sql, which the agent did not see, and
writes the rows down in rows.json. Which rows are right is not said here: the
pack compares them outside of the sandbox.
"""

import json
import os
import pathlib
import sqlite3
import sys

ROWS = "rows.json"
MOST = 1000  # rows that are kept of an answer
READING = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}


def only_reading(action, *_):
    return sqlite3.SQLITE_OK if action in READING else sqlite3.SQLITE_DENY


def cell(value):
    if isinstance(value, float):
        return round(value, 2)
    return repr(value) if isinstance(value, bytes) else value


def answer(query, shop):
    db = sqlite3.connect(":memory:")
    db.executescript(shop)
    db.set_authorizer(only_reading)
    return [[cell(value) for value in row] for row in db.execute(query).fetchmany(MOST)]


def main():
    if os.path.lexists(ROWS):
        os.remove(ROWS)
    query = pathlib.Path("query.sql").read_text(encoding="utf-8")
    shop = pathlib.Path(__file__).with_name("shop.sql").read_text(encoding="utf-8")
    try:
        rows = answer(query, shop)
    except (sqlite3.Error, sqlite3.Warning) as error:
        sys.exit(f"query.sql: {error}")
    with open(ROWS, "w", encoding="utf-8") as file:
        json.dump(rows, file)
    print(f"{len(rows)} rows")


main()
