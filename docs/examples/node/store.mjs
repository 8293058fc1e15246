// The store of decisions: what every operation does.
//
// A method here is one operation of the protocol, or a step of one. The caller runs each operation in one transaction, so
// a method may write in any order and throw at any point. It refuses with a value, and throws only when a promise is broken.
//
// Life of a decision: `present` writes the card, `respond` checks an answer and takes it. An option that authorises something
// becomes a command; the card is Resolving until `settle` says how the command ended. Only then are there effects, and
// the revision of the case moves, and what was drawn for the older revision is invalidated.

import { asksForASet, classOf, countCommands, finalArguments, isAnswerable, isOpen, isOverdue, nextStatus, viewOf } from './cards.mjs';
import { CHECKS, DISMISSAL_CHECKS, firstRefusal, rejected } from './checks.mjs';
import { CommandFailed } from './database.mjs';
import { formatTime, isString, parseTime, shape, toMilliseconds } from './shapes.mjs';
import { hashOf } from './text.mjs';

/** As JSON, because no separator is safe: ("a", "b/c") and ("a/b", "c") are two cases (I5.6). */
const caseKey = ({ account, workflow, case: id }) => JSON.stringify([account, workflow, id]);
const isOfCase = (row, key) => caseKey(row) === caseKey(key);
const isShownTo = (card, { account, conversation }) => card.account === account && card.conversation === conversation;
const lengthOf = (seconds) => (typeof seconds === 'number' ? toMilliseconds(seconds) : Infinity); // left out = for ever
const idsOf = (rows) => rows.map((row) => row.id);
const isKept = shape({ card: isString, payload_hash: isString });

export class Store {
  #db;

  constructor(database) {
    this.#db = database;
  }

  // The clock and the ids

  /** The clock is the test's: it stands still until it is moved, and keeps its value over a restart. */
  get now() {
    return this.#db.get('meta', 'clock') ?? 0;
  }

  /** Ids are issued once for ever: the counter survives restarts, and `reset` too (I6.7). */
  issue(kind) {
    const number = (this.#db.get('meta', 'counter') ?? 0) + 1;
    this.#db.put('meta', 'counter', number);
    return `${kind}-${number}`;
  }

  reset({ now }) {
    const counter = this.#db.get('meta', 'counter') ?? 0;
    this.#db.reset([['meta', 'counter', counter], ['meta', 'clock', parseTime(now)]]);
    return {};
  }

  advance({ seconds }) {
    const now = this.now + toMilliseconds(seconds);
    this.#db.put('meta', 'clock', now);
    return { now: formatTime(now) };
  }

  // Cases

  /** The case with this key, or the one that a card or a command is about; undefined before it was opened. */
  caseOf(key) {
    return this.#db.get('cases', caseKey(key));
  }

  /** Opening again changes nothing, and tells the revision; a closed case is open again, at the revision that it has. */
  openCase(key) {
    const known = this.caseOf(key);
    if (known && !known.closed) return { revision: known.revision };
    const { account, workflow, case: id } = key;
    const revision = known?.revision ?? 1;
    this.#db.put('cases', caseKey(key), { account, workflow, case: id, revision, closed: false });
    return { revision };
  }

  /** Nobody is asked on a closed case: what is Active ends, and what is in flight is left to its command (I13.11). */
  closeCase(key) {
    const open = this.caseOf(key);
    if (!open) return rejected('not_found');
    this.#db.put('cases', caseKey(key), { ...open, closed: true });
    return { invalidated: this.invalidateActive(key, { reason: 'case_closed' }) };
  }

  withdraw({ code, ...key }) {
    if (!this.caseOf(key)) return rejected('not_found');
    return { invalidated: this.invalidateActive(key, { reason: 'administrative', code }) };
  }

  /** Every Active card of the case, the independent ones too. */
  invalidateActive(key, cause) {
    const active = this.cardsOf(key).filter((card) => card.status === 'active');
    for (const card of active) this.move(card, 'invalidate', cause);
    return idsOf(active);
  }

  editCase(key) {
    if (!this.caseOf(key)) return rejected('not_found');
    const revision = this.raiseRevision(key);
    return { revision, invalidated: this.invalidateStale(key) };
  }

  raiseRevision(key) {
    const before = this.caseOf(key);
    const revision = before.revision + 1;
    this.#db.put('cases', caseKey(key), { ...before, revision });
    return revision;
  }

  /** Whether the card was drawn for this revision; an independent card is bound to none, and so always is (I13.1, I13.4). */
  isFresh(card, revision) {
    return card.case_revision === null || card.case_revision === revision;
  }

  /** Active cards go as soon as their case has moved (I13.3); Resolving ones are left to their command (I13.5). */
  invalidateStale(key) {
    const { revision } = this.caseOf(key);
    const stale = this.cardsOf(key).filter((card) => card.status === 'active' && !this.isFresh(card, revision));
    for (const card of stale) this.move(card, 'invalidate', { reason: 'revision_changed', new_revision: revision });
    return idsOf(stale);
  }

  // Cards

  findCard(id) {
    return this.#db.get('cards', id);
  }

  cardsOf(key) {
    return this.#db.rows('cards').filter((card) => isOfCase(card, key));
  }

  /**
   * The only way in which a card changes: along the machine, and never without its entry in the ledger (L1, E1). It changes
   * as it is stored, not as it was read: what a bad read has made of it is not written back (I6.5).
   */
  move(card, event, cause = {}, changes = {}) {
    const from = card.status;
    const moved = { ...(this.findCard(card.id) ?? card), ...changes, status: nextStatus(from ?? 'unwritten', event) };
    const seq = this.#db.count('ledger') + 1;
    const { id, account, workflow, case: ofCase } = moved;
    this.#db.put('cards', id, moved);
    this.#db.put('ledger', seq, {
      seq, at: formatTime(this.now), account, workflow, case: ofCase, card: id, from, event, to: moved.status, cause,
    });
    if (event === 'present') this.count('created');
    if (moved.status === 'resolved' || moved.status === 'failed') this.count(moved.status);
    return moved;
  }

  /** Written before anything mentions it: the reply is made from the row (I6.1). */
  present(request) {
    if (this.caseOf(request)?.closed !== false) return rejected('not_found'); // never opened, or closed
    const timeToAnswer = lengthOf(request.expires_in);
    if (timeToAnswer <= 0 || !isAnswerable(request.kind, request.payload)) return rejected('invalid_card');
    if (this.isOutdated(request)) return rejected('stale_revision'); // I13.10
    const occupant = request.blocking ? this.slotHolder(request) : undefined;
    const mayTakeSlot = !occupant || (occupant.status === 'active' && request.on_occupied === 'replace');
    if (!mayTakeSlot) return rejected('slot_occupied'); // I5.2, I5.4
    const id = this.issue('card');
    // The old card ends first, so that at no point of the ledger two cards hold the slot (I5.1, I5.3).
    if (occupant) this.move(occupant, 'invalidate', { reason: 'superseded', superseded_by: id });
    const card = this.move(this.draw(id, request, this.now + timeToAnswer), 'present');
    return { outcome: 'presented', card: viewOf(card), invalidated: occupant ? [occupant.id] : [] };
  }

  /** Whether the case has moved since the content was made; an independent card does not care. */
  isOutdated({ revision_independent: independent, for_revision: source, ...key }) {
    return !independent && (source ?? null) !== null && source !== this.caseOf(key).revision;
  }

  /** The blocking card of the case that is open, if any. An overdue one has ended, even if no sweep has run (I5.9, L7). */
  slotHolder(key) {
    const holder = this.cardsOf(key).find((card) => card.blocking && isOpen(card));
    if (!holder || !isOverdue(holder, this.now)) return holder;
    this.move(holder, 'expire');
    return undefined;
  }

  draw(id, request, deadline) {
    const { account, conversation, workflow, case: ofCase, kind, blocking, payload } = request;
    return {
      id, account, conversation, workflow, case: ofCase, kind, blocking, payload,
      payload_hash: hashOf(payload),
      case_revision: request.revision_independent ? null : this.caseOf(request).revision,
      created_at: this.now,
      expires_at: Number.isFinite(deadline) ? deadline : null,
      resolved_at: null,
      resolved_option: null,
      command: null,
      result: null,
    };
  }

  getCard(asker) {
    const card = this.findCard(asker.card);
    return card && isShownTo(card, asker) ? { outcome: 'found', card: viewOf(card) } : rejected('not_found');
  }

  /** Each open card of the conversation once, oldest first (L8). */
  listCards(asker) {
    const cards = this.#db.rows('cards').filter((card) => isOpen(card) && isShownTo(card, asker));
    return { cards: cards.map((card) => viewOf(card)) };
  }

  expireDue() {
    const due = this.#db.rows('cards').filter((card) => isOverdue(card, this.now));
    for (const card of due) this.move(card, 'expire');
    return { expired: idsOf(due) };
  }

  // Answers

  /** Only the conversation that was asked may answer (I19.1). An empty name is an owner like any other (I19.7). */
  mayAnswer(card, asker) {
    return isShownTo(card, asker);
  }

  askedCard({ response }) {
    return this.findCard(response.interaction_id);
  }

  respond({ account, conversation, response }) {
    const ask = { account, conversation, response };
    return firstRefusal(CHECKS, ask, this) ?? this.take(ask);
  }

  /** Closing a card from outside: no option was chosen, and nothing was decided. */
  dismissCard({ account, conversation, card: id, expected_case_revision }) {
    const ask = { account, conversation, response: { interaction_id: id, expected_case_revision } };
    return firstRefusal(DISMISSAL_CHECKS, ask, this) ?? this.dismiss(ask.card, undefined, undefined, { resolved_at: this.now });
  }

  /** The command that the card's last answer became; undefined when it became none. */
  commandOf(card) {
    return this.#db.get('commands', card.command);
  }

  inFlight(card) {
    const { id, idempotency_key } = this.commandOf(card);
    return { outcome: 'in_flight', command: id, idempotency_key };
  }

  replay(card) {
    return { outcome: 'replayed', result: card.result };
  }

  /** The answer passed every check. What it does is stored on the option; nothing that the client sent decides it (I7.1). */
  take({ card, options, text }) {
    if (asksForASet(card)) return this.answerWithSet(card, options);
    const [option] = options;
    const taken = { resolved_at: this.now, resolved_option: option.id };
    switch (classOf(option.action)) {
      case 'authorises': return this.accept(card, option, text, taken);
      case 'answers': return this.answer(card, option, text, taken);
      case 'declines': return this.decline(card, option, text, taken);
      case 'dismisses': return this.dismiss(card, option, text, taken);
      default: throw new Error(`no class for the action of ${card.id}, ${option.id}`);
    }
  }

  accept(card, option, text, taken) {
    const command = this.compile(card, option, text);
    this.#db.put('commands', command.id, command);
    this.move(card, 'accept', { option: option.id, command: command.id }, { ...taken, command: command.id });
    return { outcome: 'accepted', command: command.id, idempotency_key: command.idempotency_key };
  }

  /** No command: accept and commit are one atomic step, without an effect and without a new revision (A3). */
  answer(card, option, text, taken) {
    const result = this.resultOf(card, option, text);
    const accepted = this.move(card, 'accept', { option: option.id }, taken);
    this.move(accepted, 'commit', { option: option.id }, { result });
    return { outcome: 'resolved', result };
  }

  /** The same for a set, possibly empty. The card names no option as chosen: which ones, its result says. */
  answerWithSet(card, options) {
    const result = { ...this.resultOf(card), options: idsOf(options) };
    const accepted = this.move(card, 'accept', {}, { resolved_at: this.now });
    this.move(accepted, 'commit', {}, { result });
    return { outcome: 'resolved', result };
  }

  decline(card, option, text, taken) {
    if (option.action.kind === 'decline_and_record') return this.declineAndRecord(card, option, text, taken);
    const result = this.resultOf(card, option, text);
    this.move(card, 'decline', { option: option.id }, { ...taken, result });
    return { outcome: 'declined', result };
  }

  /** One step, never deferred: nothing is left to settle, so the command is not kept. It is a commit all the same (I13.9). */
  declineAndRecord(card, option, text, taken) {
    const command = this.compile(card, option, text);
    const effects = this.run(command);
    const result = this.resultOf(card, option, text, command, effects);
    this.move(card, 'decline', { option: option.id, command: command.id }, { ...taken, result });
    this.invalidateStale(card);
    return { outcome: 'declined', result };
  }

  dismiss(card, option, text, taken) {
    const result = this.resultOf(card, option, text);
    this.move(card, 'dismiss', { option: option?.id }, { ...taken, result });
    return { outcome: 'dismissed', result };
  }

  /** `case_revision` is the one after the commit, where there was one: read it last. */
  resultOf(card, option, text, command, effects = []) {
    const { revision } = this.caseOf(card);
    return { card: card.id, option: option?.id, command: command?.id, effects, case_revision: revision, freeform: text };
  }

  // Commands

  /** One key for each attempt (I14.7), and an origin: which card, showing what, authorised this (I7.6). */
  compile(card, option, text) {
    const { account, workflow, case: ofCase } = card;
    return {
      id: this.issue('command'),
      idempotency_key: this.issue('key'),
      account, workflow, case: ofCase,
      origin: { interaction_id: card.id, payload_hash: card.payload_hash },
      option,
      freeform: text,
      expected_revision: card.case_revision === null ? null : this.caseOf(card).revision,
      settled: null,
    };
  }

  /** How a command ended. It is said once: the same again changes nothing, another end is a conflict (L5, L10). */
  settle({ command: id, result, on_failure }) {
    const command = this.#db.get('commands', id);
    if (!command) return rejected('not_found');
    const policy = on_failure ?? 'record';
    const { settled } = command;
    if (settled) return settled.result === result && settled.policy === policy ? settled.reply : rejected('conflict');
    const reply = this.end(command, result, policy);
    this.#db.put('commands', id, { ...command, settled: { result, policy, reply } });
    return reply;
  }

  end(command, result, policy) {
    if (result === 'failed') return this.fail(command, policy, 'command_failed');
    const { expected_revision: expected } = command;
    const mayRun = expected === null || expected === this.caseOf(command).revision;
    if (!mayRun) return this.fail(command, policy, 'revision_conflict'); // I13.5
    try {
      return this.#db.attempt(() => this.commit(command));
    } catch (error) {
      if (!(error instanceof CommandFailed)) throw error;
      return this.fail(command, policy, 'command_failed'); // L3: nothing of the commit is left
    }
  }

  commit(command) {
    const card = this.findCard(command.origin.interaction_id);
    const effects = this.run(command);
    const result = this.resultOf(card, command.option, command.freeform, command, effects);
    this.move(card, 'commit', { command: command.id }, { result });
    this.invalidateStale(card); // I13.9: the others; this card is Resolved already
    return { outcome: 'resolved', result };
  }

  fail(command, policy, code) {
    const card = this.findCard(command.origin.interaction_id);
    const cause = { command: command.id, code };
    if (policy === 'record') {
      this.move(card, 'fail', cause);
      return { outcome: 'failed', code };
    }
    this.move(card, 'restore', cause, { resolved_at: null, resolved_option: null, command: null }); // L6
    this.invalidateStale(card); // I13.6: on a case that has moved the card must not be answerable
    if (this.caseOf(card).closed) this.invalidateActive(card, { reason: 'case_closed' });
    return { outcome: 'restored', code };
  }

  /** Moves the revision and writes the effects, together or not at all (I14.9). Returns their ids. */
  run(command) {
    const revision = this.raiseRevision(command);
    return this.writeEffects(command, revision);
  }

  writeEffects(command, revision) {
    const { account, workflow, case: ofCase, origin, option, freeform } = command;
    const effect = {
      account, workflow, case: ofCase,
      command: command.id,
      idempotency_key: command.idempotency_key,
      card: origin.interaction_id,
      option: option.id,
      action: option.action,
      arguments: finalArguments(option.action, freeform),
      freeform,
      payload_hash: origin.payload_hash,
      case_revision: revision,
    };
    const ids = Array.from({ length: countCommands(option.action) }, () => this.issue('effect'));
    for (const id of ids) this.#db.put('effects', id, { id, ...effect });
    return ids;
  }

  // What a host keeps

  /** Enough to find a pending card again, and to know that it is the same. The card itself stays here (I14.8). */
  exportState(asker) {
    const card = this.findCard(asker.card);
    if (!card || !isShownTo(card, asker)) return rejected('not_found');
    return isOpen(card) ? { state: { card: card.id, payload_hash: card.payload_hash } } : rejected('not_answerable');
  }

  /** Checked, and nothing moves: the card is what it has become since, however often a host restores it (I14.8). */
  importState({ state }) {
    if (!isKept(state)) return rejected('malformed');
    const card = this.findCard(state.card);
    if (!card) return rejected('not_found');
    return state.payload_hash === card.payload_hash ? {} : rejected('unverifiable');
  }

  // For the observer

  /** Each counter moves in the transaction that does what it counts, so that a crash cannot come between (E3). */
  count(counter) {
    const counters = this.metrics();
    this.#db.put('meta', 'counters', { ...counters, [counter]: counters[counter] + 1 });
  }

  countRefusal(outcome) {
    if (outcome.code === 'stale_revision') this.count('stale');
    return outcome;
  }

  metrics() {
    return this.#db.get('meta', 'counters') ?? { created: 0, resolved: 0, stale: 0, failed: 0 };
  }

  effects(key) {
    return { effects: this.#db.rows('effects').filter((effect) => isOfCase(effect, key)) };
  }

  ledger(key) {
    return { entries: this.#db.rows('ledger').filter((entry) => isOfCase(entry, key)) };
  }
}
