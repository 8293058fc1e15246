"""Writing the traces of what a check found.

Every failure has one, and so has the example that a breakdown ended: the steps that led there would be lost with it.
"""

from pathlib import Path

from keyturn_testing.files import write_whole
from keyturn_testing.record import Record
from keyturn_testing.reports.text_report import BREAKDOWN_TRACE
from keyturn_testing.reports.verdict import trace_name
from keyturn_testing.traces import write_trace


def write_traces(folder: Path, record: Record) -> None:
    """Write a trace for every failure, and for the example that a breakdown ended; raise `OSError`."""
    traces = {trace_name(each): each.trace for each in record.failures}
    if record.last is not None:
        traces[BREAKDOWN_TRACE] = record.last
    if traces:
        folder.mkdir(parents=True, exist_ok=True)
    for name, trace in traces.items():
        write_whole(folder / name, write_trace(trace))
