"""The part of the protocol's page about what breaks: the faults, what a host keeps, and sets of options."""

from collections.abc import Iterator

from keyturn.faults import IN_WORDS, OF_A_CARD
from keyturn_testing.reference_pages.markdown import code, codes, table

_FAULTS = """\
## When something breaks

`fault.arm` makes the next operation that the fault can hit go wrong, once, and then it is over. It stays armed until then, over a
restart too, and a `reset` takes it back. An operation that would change nothing may be hit or spared. CARDS name the
`card` whose response they hit. A fault is there to be met for real: make the read fail, the write fail, the process end, and let
the system do what it always does then."""

_AFTER = """\
Where a check comes before the one that cannot be made, its refusal is right; without `ordered_checks` any check that really fails
may be named. A stranger hears `not_found`, also of a card that cannot be read, unless it is the ownership itself. A card that
compares no revision needs none to be read.

A process that a fault ends is started again on its data, as by `restart`; in process the object raises `keyturn.errors.Crashed`
(or anything else), and its `restart` is called. Whoever retries after a lost reply is answered for the status that the card
has then."""

_KEPT = """\
## What a host keeps

`state.export` gives what the host of a card would store to be able to answer it later: a checkpoint, a run state, a message
history. Any JSON will do, and only the system itself reads it. `state.import` gives it back, as often as the suite likes. One
that has the card itself needs no more than its id and its hash; the card is then what it has become since. Of a card that has
ended there may be nothing to keep (`not_answerable` or `not_found`), and restoring it may be refused (`not_answerable`)."""

_SETS = """\
## Sets of options

A `multi_select` card is answered with `option_ids` instead of `option_id`: a set of stored ids, none twice, possibly empty, in
any order. `options` of its result lists them in stored order, and `option` is left out, there and in the views of the card. Its
options are all of the class `answers` and take no free text. A response that names options in the other way is `malformed`.
Without the capability presenting such a card is `invalid_card`."""


def breaking_parts() -> Iterator[str]:
    """Return the parts of the page about what breaks, what a host keeps, and sets of options."""
    yield _FAULTS.replace("CARDS", codes(sorted(each.value for each in OF_A_CARD)))
    rows = [(code(each), words.hits, words.comes_back) for each, words in IN_WORDS.items()]
    yield table(("fault", "hits the next", "what comes back"), rows)
    yield _AFTER
    yield _KEPT
    yield _SETS
