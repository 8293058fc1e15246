"""The commands of `keyturn`, one module for each group of them.

A module holds what click needs to know and imports the rest when a command runs, so that help and completion are quick. A
command returns its exit code; what it raises is answered in `keyturn_testing.main`.
"""
