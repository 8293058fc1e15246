"""A process with a store of its own: reads operations from stdin, one JSON object a line, and writes what came of each."""

import json
import sys
from pathlib import Path

from keyturn.errors import OperationFailed
from keyturn.wire import read_operation, write_outcome
from keyturn_sql.database import Postgres
from keyturn_sql.store import SqlStore


def main() -> None:
    """Serve one store until stdin is closed."""
    name, *rest = sys.argv[1:]
    store = SqlStore.open_test(Postgres(name, rest[0]) if rest else Path(name))
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    for line in sys.stdin:
        method, params = json.loads(line)
        try:
            said = write_outcome(store.perform(read_operation(method, params)))
        except OperationFailed as error:
            said = {"failed": str(error), "definite": error.definite}
        sys.stdout.write(json.dumps(said) + "\n")
        sys.stdout.flush()
    store.close()


if __name__ == "__main__":
    main()
