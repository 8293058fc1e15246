"""Reports of a run: what each requirement came to, as JSON for programs and as text for people.

Both are made from the record of a run alone, by the same rules for statuses and verdict, so that they cannot disagree.
"""
