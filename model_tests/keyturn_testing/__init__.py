"""The harness of Keyturn: it asks a system whether the requirements hold.

Engines produce steps, one driver takes them against one system, and what was observed is judged and reported. The
command `keyturn` and the pytest plugin are its two front doors. Needs the extra `check`.
"""
