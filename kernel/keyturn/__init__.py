"""The kernel of Keyturn: what may happen when a person decides something in software.

It is pure. Records, the declared state machines, the protocol's operations and the one function that says which
branches an operation may take live here; time, ids and faults come in as arguments, and nothing here reads a clock,
draws a random number or opens a file.
"""
