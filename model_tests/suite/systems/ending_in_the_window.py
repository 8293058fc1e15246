"""A process that serves a durable mutant, named in its arguments, and ends between its two transactions as a crash would."""

import os
import sys
from pathlib import Path

from keyturn_sql.store import SqlStore
from keyturn_testing.mutants.durable import durable_store
from keyturn_testing.serve import end_process, serve_stdio
from keyturn_testing.systems.adapters import DATABASE_NAME

if __name__ == "__main__":
    database = SqlStore.open_test(Path(os.environ["KEYTURN_DATA"], DATABASE_NAME)).database
    store = durable_store(sys.argv[1], database, crash=end_process, window=end_process)
    serve_stdio(store, sys.stdin.buffer, sys.stdout.buffer)
