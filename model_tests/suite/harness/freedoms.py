"""The table of freedoms: what the text leaves open, which sound system makes use of it, and how an answer shows that.

A freedom is worth nothing until somebody takes it. Each row quotes the text, names one of the six systems, and has a predicate
over one example of that system's run; a run in which nothing shows it fails.
"""

from attrs import frozen

from .signs import (
    batch_newest_first,
    blank,
    closed_before,
    counted_in_jumps,
    ends_at_once,
    entries,
    equal_payloads_and_other_hashes,
    given_back_and_left_active,
    has_more,
    independent_command_refused,
    newest_first,
    of_one_instant_newest_first,
    recorded_decline_without_command,
    refused,
    response,
    results,
    same_again,
    sent,
    stored,
    swept_before_it_was_told,
)
from .watching import Used

COUNTER, NIGHT, LAZY = "counter-desk", "night-queue", "sweeps-lazily"
AGAIN, CODES, KEEPS = "says-it-again", "names-other-codes", "replaces-nothing"


@frozen
class Freedom:
    """What the text says, which system uses it, and whether an example shows that it did."""

    says: str
    system: str
    used: Used


FREEDOMS: tuple[Freedom, ...] = (
    # Forms.
    Freedom(
        "ids are opaque strings: UUIDs",
        COUNTER,
        lambda e: all(len(view["id"]) == 36 for view in e.views) and any(e.views),
    ),
    Freedom("ids are opaque strings: numbers", NIGHT, lambda e: any(view["id"].isdecimal() for view in e.views)),
    Freedom("a revision grows strictly, by whatever it likes", COUNTER, counted_in_jumps),
    Freedom("cards that differ differ in their hash; equal ones may", COUNTER, equal_payloads_and_other_hashes),
    Freedom(
        "null and absent are the same: null",
        COUNTER,
        lambda e: any(view.get("resolved_at", "") is None for view in e.views),
    ),
    Freedom(
        "null and absent are the same: absent", NIGHT, lambda e: any("case_revision" not in view for view in e.views)
    ),
    Freedom(
        "objects may carry other fields",
        COUNTER,
        lambda e: any("message" in each for each in e.answers("card.respond")),
    ),
    Freedom(
        "fields have no order",
        COUNTER,
        lambda e: any(list(each)[-1] == "outcome" for each in e.answers("card.respond")),
    ),
    Freedom(
        "times have an offset, any", COUNTER, lambda e: any(view["created_at"].endswith("+02:00") for view in e.views)
    ),
    Freedom(
        "times without `clock` are not compared", NIGHT, lambda e: any(view["created_at"] < "2002" for view in e.views)
    ),
    Freedom("`invalidated` and `expired` are sets", COUNTER, newest_first),
    Freedom("`invalidated` and `expired` are sets, wherever they come from", AGAIN, newest_first),
    Freedom("cards of one instant keep one order, any", COUNTER, of_one_instant_newest_first),
    Freedom("entries of one operation come in any order", COUNTER, batch_newest_first),
    Freedom("`seq` counts as it likes", COUNTER, lambda e: any(each["seq"] == 20 for each in entries(e))),
    Freedom("accept, commit, fail and restore name their command", COUNTER, recorded_decline_without_command),
    Freedom(
        "`Result.command` may be left out",
        COUNTER,
        lambda e: any(each["effects"] and "command" not in each for each in results(e)),
    ),
    Freedom(
        "`Effect.arguments` may be left out",
        KEEPS,
        lambda e: any(
            effect["action"]["kind"] == "apply_operation" and "arguments" not in effect
            for answer in e.answers("effects")
            for effect in answer["effects"]
        ),
    ),
    Freedom(
        "only a system that claims `restart` shows `idempotency_key` in accepted",
        AGAIN,
        lambda e: any(
            "idempotency_key" not in each.answer
            for each in e.of("card.respond")
            if each.kind == "accepted" and each.answer
        ),
    ),
    # Who may see what.
    Freedom(
        "another conversation of the same account may see a card",
        COUNTER,
        lambda e: any(
            s.answer and s.answer["card"]["conversation"] != s.params["conversation"]
            for s in e.of("card.get")
            if s.kind == "found"
        ),
    ),
    Freedom(
        "a refusal may name the current card",
        COUNTER,
        lambda e: any("current_card" in each for each in e.answers("card.respond")),
    ),
    # Time.
    Freedom("an overdue card may be found Expired by any operation", COUNTER, swept_before_it_was_told),
    Freedom(
        "an overdue card may be found Active until the sweep",
        LAZY,
        lambda e: any(after.get("status") == "active" for _, _, after in refused(e, "expired")),
    ),
    Freedom(
        "an overdue card may become Expired at once",
        CODES,
        lambda e: any(
            b.get("status") == "active" and a.get("status") == "expired" for _, b, a in e.decided("rejected")
        ),
    ),
    Freedom(
        "on an Expired card `expired` is admissible",
        AGAIN,
        lambda e: any(before.get("status") == "expired" for _, before, _ in refused(e, "expired")),
    ),
    Freedom(
        "on an Expired card `not_answerable` is admissible",
        COUNTER,
        lambda e: any(before.get("status") == "expired" for _, before, _ in refused(e, "not_answerable")),
    ),
    # Commands.
    Freedom("without `deferred` commands run at once; whoever comes meanwhile waits", COUNTER, ends_at_once),
    Freedom("a restored card of a moved case may stay Active until the next sweep", LAZY, given_back_and_left_active),
    Freedom(
        "a stale card may become Invalidated when it is answered",
        LAZY,
        lambda e: any(
            b.get("status") == "active" and a.get("status") == "invalidated" for _, b, a in refused(e, "stale_revision")
        ),
    ),
    Freedom("an independent card's command may be refused as revision_conflict", LAZY, independent_command_refused),
    Freedom(
        "an error that is not definite may have happened", LAZY, lambda e: any(each.answer is None for each in e.said)
    ),
    # Cases.
    Freedom(
        "of a closed case there may be nothing to change",
        COUNTER,
        lambda e: any(
            each.kind == "rejected not_found" for each in closed_before(e, "case.edit", "case.close", "card.withdraw")
        ),
    ),
    Freedom(
        "a closed case may be changed",
        AGAIN,
        lambda e: any(each.answer is not None and "revision" in each.answer for each in closed_before(e, "case.edit")),
    ),
    # Asking again.
    Freedom(
        "a Declined card may answer the same option with the decline",
        AGAIN,
        lambda e: same_again(e, "declined", "declined"),
    ),
    Freedom("or with a replay of it", AGAIN, lambda e: same_again(e, "declined", "replayed")),
    Freedom("a Dismissed card may do so too", AGAIN, lambda e: same_again(e, "dismissed", "dismissed", "replayed")),
    Freedom("or may not", COUNTER, lambda e: same_again(e, "declined", "rejected not_answerable")),
    Freedom(
        "without `replay` a second answer may be refused",
        KEEPS,
        lambda e: any(b.get("status") == "resolved" for _, b, _ in refused(e, "not_answerable", "unknown_option")),
    ),
    # Readings of a response.
    Freedom(
        "what else a client sends may be refused as malformed",
        CODES,
        lambda e: any(has_more(s) for s, _, _ in refused(e, "malformed")),
    ),
    Freedom(
        "what else a client sends may be ignored",
        NIGHT,
        lambda e: any(has_more(s) for s, _, _ in e.decided("accepted")),
    ),
    Freedom(
        "blank text may be refused where text is forbidden",
        CODES,
        lambda e: any(blank(s) for s, _, _ in refused(e, "freeform_forbidden")),
    ),
    Freedom(
        "blank text may be ignored where text is forbidden",
        COUNTER,
        lambda e: any(blank(s) for s, _, _ in e.decided("resolved")),
    ),
    Freedom("`1.0` may count as 1", CODES, lambda e: sent(e, 1.0, "declined")),
    Freedom("`1.0` may be malformed", COUNTER, lambda e: sent(e, 1.0, "rejected malformed")),
    Freedom("a number out of range may be malformed", COUNTER, lambda e: sent(e, 2**53, "rejected malformed")),
    Freedom(
        "a number out of range may be a wrong revision", CODES, lambda e: sent(e, 2**53, "rejected stale_revision")
    ),
    Freedom(
        "an empty id may be malformed", COUNTER, lambda e: any(s.card == "" for s, _, _ in refused(e, "malformed"))
    ),
    Freedom(
        "an empty id may be an unknown one",
        CODES,
        lambda e: any(s.option == "" for s, _, _ in refused(e, "unknown_option")),
    ),
    Freedom(
        "a response beyond 64 KiB may be malformed",
        CODES,
        lambda e: any(len(str(s.option)) > 2**16 for s, _, _ in refused(e, "malformed")),
    ),
    Freedom(
        "a response beyond 64 KiB may be read",
        AGAIN,
        lambda e: any(len(str(s.option)) > 2**16 for s, _, _ in refused(e, "unknown_option")),
    ),
    Freedom(
        "a missing revision of an unknown card may be malformed",
        CODES,
        lambda e: any("expected_case_revision" not in response(s) and s.option for s, _, _ in refused(e, "malformed")),
    ),
    Freedom(
        "an empty owner may be an owner like any other",
        COUNTER,
        lambda e: any(s.params["account"] == "" for s, _, _ in refused(e, "not_found")),
    ),
    # Codes.
    Freedom(
        "any check that really fails may be named, not the first",
        CODES,
        lambda e: any(
            b and not stored(b, s.option) for s, b, _ in refused(e, "stale_revision") if s.option is not None
        ),
    ),
    Freedom(
        "without `coded_refusals` any refusal is the same refusal",
        NIGHT,
        lambda e: (
            len({s.kind for s in e.said if s.kind.startswith("rejected")}) == 1 < len([*refused(e, "unavailable")])
        ),
    ),
    # What a system without a capability need not know.
    Freedom(
        "without `freeform` the text's field is another field",
        NIGHT,
        lambda e: any(isinstance(response(s).get("freeform_input"), list) for s, _, _ in e.decided("accepted")),
    ),
    Freedom(
        "without `revisions` the expected one is not judged",
        NIGHT,
        lambda e: any(response(s).get("expected_case_revision") is True for s, _, _ in e.decided("accepted")),
    ),
    Freedom(
        "`refuse` alone: a second blocking card is refused",
        KEEPS,
        lambda e: any(s.kind == "rejected slot_occupied" for s in e.of("card.present")),
    ),
    Freedom(
        "`replace` alone: a second blocking card takes the slot",
        AGAIN,
        lambda e: any(s.answer and s.answer.get("invalidated") for s in e.of("card.present")),
    ),
)
"""Every freedom that a sequential run can show, and who uses it."""
