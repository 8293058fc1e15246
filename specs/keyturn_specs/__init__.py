"""What must hold: the requirements, rules, scenarios and schemas of Keyturn, as values.

Each requirement says what it demands and why, where it is judged, and when it applies. Nothing here asks a system
anything; the harness does that with what it reads here.
"""
