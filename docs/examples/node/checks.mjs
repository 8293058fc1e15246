// The checks of a response, in the normative order.
//
// A check gets the question, `ask` (who answers, and what was sent), and the store. It returns the outcome that ends the
// matter, or nothing; then it has left on `ask` what it found, for the checks after it. Nobody may run a later check first:
// shape and ownership come before everything, so that a stranger learns nothing, not even that a card exists (I19.1).

import { NO_TEXT, asksForASet, isOverdue, textPolicyOf } from './cards.mjs';
import { Unreadable } from './database.mjs';
import { isObject, isRevision, isSet, isString, optional } from './shapes.mjs';
import { countCodePoints, hashOf, isBlank, isClean } from './text.mjs';

export const rejected = (code) => ({ outcome: 'rejected', code });

const isId = (value) => isString(value) && value !== '';

const isSetOfIds = isSet(isString);

/** A few fields, and of those the types only (I19.6). Whatever else a client sends is not looked at (I7.3). */
function shape({ response }) {
  const wellFormed = isObject(response)
    && isId(response.interaction_id)
    && optional(isId)(response.option_id)
    && (isId(response.option_id) || isSetOfIds(response.option_ids))
    && optional(isRevision)(response.expected_case_revision)
    && optional(isString)(response.freeform_input)
    && isClean(response);
  if (!wellFormed) return rejected('malformed');
}

/** The same for a dismissal, which has neither an option nor a text. */
function dismissalShape({ response }) {
  const wellFormed = isId(response.interaction_id)
    && optional(isRevision)(response.expected_case_revision)
    && isClean(response);
  if (!wellFormed) return rejected('malformed');
}

/** A foreign card gets exactly what an id that never existed gets (I19.1); ids compare exactly (I7.7). */
function ownership(ask, store) {
  ask.card = store.askedCard(ask);
  if (!ask.card || !store.mayAnswer(ask.card, ask)) return rejected('not_found');
}

/** The rest of the shape. Only the card says whether the revision may be left out, and only its owner may learn that. */
function revisionGiven({ card, response }) {
  const isLeftOut = (response.expected_case_revision ?? null) === null;
  if (isLeftOut && card.case_revision !== null) return rejected('malformed');
}

/** Likewise: only the card says whether it takes one option or a set of them. */
function choiceGiven({ card, response }) {
  const isGiven = asksForASet(card) ? isSetOfIds(response.option_ids) : isId(response.option_id);
  if (!isGiven) return rejected('malformed');
}

/** A second answer starts nothing: it gets the original result (I14.2, I14.4), or the command in flight (I14.3). */
function status({ card }, store) {
  if (card.status === 'active') return undefined;
  if (card.status === 'resolving') return store.inFlight(card);
  if (card.status === 'resolved') return store.replay(card);
  return rejected('not_answerable'); // L2
}

/** Refused even if no sweep has run (I19.5). The card expires here and now: that is a transition, not a side effect (I19.8). */
function expiry({ card }, store) {
  if (!isOverdue(card, store.now)) return undefined;
  store.move(card, 'expire');
  return rejected('expired');
}

/** Only options that are stored on this very card, by exactly their ids (I7.2, I7.7); a set has the order of the card. */
function options(ask) {
  const ids = asksForASet(ask.card) ? ask.response.option_ids : [ask.response.option_id];
  ask.options = ask.card.payload.options.filter(({ id }) => ids.includes(id));
  if (ask.options.length < ids.length) return rejected('unknown_option');
}

/** What the client saw must be what the card was drawn for (I13.1), and the case must still be there (I13.2, I13.3). */
function revision({ card, response }, store) {
  const { revision: current } = store.caseOf(card);
  const isFresh = store.isFresh(card, response.expected_case_revision) && store.isFresh(card, current);
  if (!isFresh) return rejected('stale_revision');
}

/** A payload that no longer matches its hash authorises nothing (I19.4). */
function integrity({ card }) {
  if (hashOf(card.payload) !== card.payload_hash) return rejected('unverifiable');
}

// Here the normative order has one more check, the channel: whether typed text may answer this card. It belongs to the
// capability `text`, which this system does not claim: every response is a click.

/** Free text fills in what the option already names; it is kept whole or refused, never cut short (I7.4). */
function freeText(ask) {
  const { kind, max_length: most } = asksForASet(ask.card) ? NO_TEXT : textPolicyOf(ask.options[0]);
  const input = ask.response.freeform_input ?? '';
  ask.text = isBlank(input) ? undefined : input;
  if (ask.text === undefined) return kind === 'required' ? rejected('freeform_required') : undefined;
  if (kind === 'forbidden') return rejected('freeform_forbidden');
  if (countCodePoints(ask.text) > most) return rejected('freeform_too_long');
}

export const CHECKS = [shape, ownership, revisionGiven, choiceGiven, status, expiry, options, revision, integrity, freeText];

/** A dismissal follows the same list, without option and free text. */
export const DISMISSAL_CHECKS = [dismissalShape, ownership, revisionGiven, status, expiry, revision, integrity];

/** The first outcome that ends the matter, or nothing. A check that cannot be made lets nothing through (I19.2 to I19.4). */
export function firstRefusal(checks, ask, store) {
  try {
    for (const check of checks) {
      const outcome = check(ask, store);
      if (outcome) return outcome;
    }
    return undefined;
  } catch (error) {
    if (error instanceof Unreadable) return rejected('unverifiable');
    throw error;
  }
}
