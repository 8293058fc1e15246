"""Campaigns: many processes on one store, for as long as is asked for, and then an audit of everything that is there.

`load` lets processes do on one store what a service does all day; `double-clicks` lets two processes click the same option of the
same card at the same moment, on the store that ships and on one that checks and then acts, which must be caught. Both run on
SQLite and on PostgreSQL, with commits that wait for the disk. `kills` kills a server hundreds of times, in every phase of a call.
`mutants` says how surely the durable mutants are caught. Exit codes: 0 it holds, 1 something is wrong, 2 it was ended before its
time, or could not begin.
"""

import argparse
import signal
import sys
from collections.abc import Callable, Iterator, Sequence

from catching import Catching, run_catching
from clicking import Clicks, run_double_clicks
from crew import Broke
from keyturn_sql.database import NotOurs
from keyturn_testing.files import complain, say
from keyturn_testing.mutants.durable import DURABLE_MUTANTS
from keyturn_testing.postgres_server import NoServer
from killing import SYSTEMS, Kills, run_kills
from loading import Load, run_load
from places import DATABASES, STORES, place_on
from telling import Progress, Report, as_json

CODES = {"holds": 0, "caught": 0, "breached": 1, "interrupted": 2}
"""What the process ends with, by the verdict."""


def load(asked: argparse.Namespace, progress: Progress) -> Iterator[Report]:
    """Put the store on each database under load."""
    wanted = Load(seconds=60 * asked.minutes, processes=asked.processes, connections=asked.connections, seed=asked.seed)
    for database in asked.on:
        with place_on(database, asked.postgres) as place:
            yield run_load(place, wanted, progress)


def double_clicks(asked: argparse.Namespace, progress: Progress) -> Iterator[Report]:
    """Click twice on each store, on each database."""
    for database in asked.on:
        for store in asked.store:
            with place_on(database, asked.postgres) as place:
                wanted = Clicks(pairs=asked.pairs, connections=asked.connections, store=store)
                yield run_double_clicks(place, wanted, progress)


def kills(asked: argparse.Namespace, progress: Progress) -> Iterator[Report]:
    """Kill each system again and again."""
    for name in asked.system:
        yield run_kills(name, Kills(kills=asked.times, seed=asked.seed), progress)


def mutants(asked: argparse.Namespace, progress: Progress) -> Iterator[Report]:
    """Catch each durable mutant, by several seeds."""
    for name in asked.mutant:
        yield run_catching(name, Catching(runs=asked.runs, kills=asked.kills), progress)


def parser() -> argparse.ArgumentParser:
    """The command line."""
    main = argparse.ArgumentParser(prog="campaign", description=__doc__)
    campaigns = main.add_subparsers(required=True, metavar="load | double-clicks | kills | mutants")
    under_load = _campaign(campaigns.add_parser("load", help="what a service does all day"), load, connections=4)
    under_load.add_argument("--minutes", type=_more_than_nothing(float), default=1.0, help="how long, on each database")
    under_load.add_argument("--processes", type=_more_than_nothing(int), default=4)
    under_load.add_argument("--seed", type=int, default=0, help="what is drawn; when it happens is not")
    twice = _campaign(
        campaigns.add_parser("double-clicks", help="the same click from two processes"), double_clicks, connections=8
    )
    twice.add_argument("--pairs", type=_more_than_nothing(int), default=10_000, help="how many cards are clicked twice")
    twice.add_argument("--store", nargs="+", choices=STORES, default=list(STORES), help="which stores, one by one")
    killed = campaigns.add_parser("kills", help="a server that is killed in the middle of its calls")
    killed.set_defaults(run=kills)
    killed.add_argument("--times", type=_more_than_nothing(int), default=500, help="how often each is killed")
    killed.add_argument("--system", nargs="+", choices=SYSTEMS, default=list(SYSTEMS), help="which systems, one by one")
    killed.add_argument("--seed", type=int, default=0, help="what is drawn; where a kill hits is not")
    killed.add_argument("--format", choices=("text", "json"), default="text")
    caught = campaigns.add_parser("mutants", help="how surely the durable mutants are caught")
    caught.set_defaults(run=mutants)
    caught.add_argument("--runs", type=_more_than_nothing(int), default=20, help="by how many seeds each is asked")
    caught.add_argument("--kills", type=_more_than_nothing(int), default=200, help="at most, of one run")
    caught.add_argument(
        "--mutant", nargs="+", choices=DURABLE_MUTANTS, default=list(DURABLE_MUTANTS), help="which ones"
    )
    caught.add_argument("--format", choices=("text", "json"), default="text")
    return main


def _campaign(
    each: argparse.ArgumentParser,
    run: Callable[[argparse.Namespace, Progress], Iterator[Report]],
    *,
    connections: int,
) -> argparse.ArgumentParser:
    each.set_defaults(run=run)
    each.add_argument("--on", nargs="+", choices=DATABASES, default=list(DATABASES), help="which databases, one by one")
    each.add_argument("--connections", type=_more_than_nothing(int), default=connections, help="of each process")
    each.add_argument("--postgres", metavar="DSN", help="a server that is there, instead of one of the campaign's own")
    each.add_argument("--format", choices=("text", "json"), default="text")
    return each


def _more_than_nothing(number: Callable[[str], float]) -> Callable[[str], float]:
    def read(text: str) -> float:
        value = number(text)
        if not 0 < value < float("inf"):
            raise ValueError(text)
        return value

    return read


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a campaign and return the exit code."""
    asked = parser().parse_args(arguments)
    # A shell that starts something in the background lets it ignore Ctrl-C.
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, signal.default_int_handler)
    reports: list[Report] = []
    progress = Progress()
    try:
        for report in asked.run(asked, progress):
            reports.append(report)
            if asked.format == "text":
                say(f"{report}\n")
            if report.interrupted:
                break
    except KeyboardInterrupt:
        complain("campaign: interrupted, and what was not reported was not audited (exit 2)")
        return 2
    except (NoServer, NotOurs) as error:
        complain(f"campaign: {error} (exit 2)")
        return 2
    except Broke as error:
        complain(f"campaign: {error} (exit 1)")
        return 1
    if asked.format == "json":
        say(f"{as_json(reports)}\n")
    codes = {CODES[each.verdict] for each in reports}
    return 1 if 1 in codes else max(codes)


if __name__ == "__main__":
    sys.exit(main())
