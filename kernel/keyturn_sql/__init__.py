"""The durable stores of Keyturn, on SQLite and PostgreSQL.

An operation is one transaction: a store loads the slice of the world that the operation can touch, asks the kernel what
may happen, takes the first branch, and writes the difference, each row on the condition that it is still what was read.
The rules exist once, in the kernel; the database guards the two that matter most a second time, so that a bug above it
still cannot harm. `keyturn_sql.store.SqlStore` is where to begin: `open` for a service, `open_test` for a test store,
which may be wiped. Needs the extra `sql`.
"""
