// What a card is: its statuses, its kinds, what choosing an option does, and what a client may see of it.
// Everything here is a table or a pure function.

import { arrayOf, formatTime, isObject, isPresent, isString, oneOf, optional, shape } from './shapes.mjs';
import { canPlace, isBlank, placeText } from './text.mjs';

/** The status machine. What is not in it cannot happen (L1); an empty row is terminal (L2). */
const MACHINE = {
  unwritten: { present: 'active' },
  active: { accept: 'resolving', decline: 'declined', dismiss: 'dismissed', invalidate: 'invalidated', expire: 'expired' },
  resolving: { commit: 'resolved', fail: 'failed', restore: 'active' },
  resolved: {},
  declined: {},
  dismissed: {},
  invalidated: {},
  expired: {},
  failed: {},
};

export function nextStatus(status, event) {
  const to = MACHINE[status][event];
  if (to === undefined) throw new Error(`a card that is ${status} cannot ${event}`);
  return to;
}

export const isOpen = (card) => card.status === 'active' || card.status === 'resolving';

/** Inclusive: at its deadline a card is overdue. Without a deadline it never is (L7). */
export const isOverdue = (card, now) => card.status === 'active' && card.expires_at !== null && card.expires_at <= now;

/** The class of each stored action, and the fields that it must have. */
const ACTIONS = {
  confirm_commands: { class: 'authorises', fields: { command_refs: arrayOf(isString) } },
  apply_operation: {
    class: 'authorises',
    fields: { operation: isString, arguments: isObject, freeform_argument: optional(isString) },
  },
  select_target: { class: 'answers', fields: { case: isString } },
  resolve_clarification: { class: 'answers', fields: { answer_key: isString } },
  custom: { class: 'answers', fields: { key: isString, payload: isPresent } },
  decline: { class: 'declines', fields: {} },
  decline_and_record: { class: 'declines', fields: { operation: isString } },
  dismiss: { class: 'dismisses', fields: {} },
};

export const classOf = (action) => ACTIONS[action.kind].class;

const isAction = (value) =>
  isObject(value) && isString(value.kind) && Object.hasOwn(ACTIONS, value.kind) && shape(ACTIONS[value.kind].fields)(value);

const isOption = shape({
  id: isString,
  label: isString,
  action: isAction,
  freeform: optional(shape({ kind: oneOf('forbidden', 'optional', 'required') })),
});

/** The shape of a payload. Whether a card with it could be answered is another question: see `isAnswerable`. */
export const isPayload = shape({
  title: isString,
  body: optional(isString),
  options: arrayOf(isOption),
  review_entries: optional(arrayOf(shape({ field: isString, label: isString }))),
  freeform_prompt: optional(isString),
});

export const NO_TEXT = { kind: 'forbidden' };
export const textPolicyOf = (option) => option.freeform ?? NO_TEXT;

const hasOption = (payload, ...classes) => payload.options.some((option) => classes.includes(classOf(option.action)));
const canAuthorise = (payload) => hasOption(payload, 'authorises');
const canDecide = (payload) => canAuthorise(payload) && hasOption(payload, 'declines', 'dismisses');

const isPartOfASet = (option) => classOf(option.action) === 'answers' && textPolicyOf(option).kind === 'forbidden';

/** The kinds, and what a card of that kind must have (A4). */
const KINDS = {
  boolean: ({ options }) => options.length === 2,
  single_select: ({ options }) => options.length >= 1,
  multi_select: ({ options }) => options.length >= 1 && options.every(isPartOfASet),
  freeform: ({ options, freeform_prompt: prompt }) =>
    isString(prompt) && options.some((option) => textPolicyOf(option).kind === 'required'),
  review_changes: (payload) => payload.review_entries?.length >= 1 && canDecide(payload),
  confirm_command: canDecide,
  select_target: ({ options }) => options.length >= 1,
  resolve_validation_error: ({ options }) => options.length >= 1,
  reauthenticate: canAuthorise,
  external_signature: canAuthorise,
};

/** Whether an answer names a set of options and not one; an empty set is an answer too. */
export const asksForASet = (card) => card.kind === 'multi_select';

/** Whether a card of this kind, with this payload, can be answered; if not it is an `invalid_card` (A4). */
export function isAnswerable(kind, payload) {
  const ids = payload.options.map((option) => option.id);
  return Object.hasOwn(KINDS, kind) && KINDS[kind](payload)
    && ids.every((id) => id !== '') && new Set(ids).size === ids.length
    && (!isString(payload.freeform_prompt) || !isBlank(payload.freeform_prompt))
    && payload.options.every((option) => isRunnable(option.action) && isKeepable(textPolicyOf(option)));
}

const isKeepable = ({ kind, max_length: most }) => kind === 'forbidden' || (Number.isInteger(most) && most >= 1);

function isRunnable(action) {
  if (action.kind === 'confirm_commands') return action.command_refs.length >= 1;
  return !isString(action.freeform_argument) || canPlace(action.arguments, action.freeform_argument);
}

/** One effect for an operation, one for each command ref, in their order. */
export const countCommands = (action) => (action.kind === 'confirm_commands' ? action.command_refs.length : 1);

/** The stored arguments, with the text at its pointer; undefined when the action has none (I7.1, I7.4). */
export function finalArguments(action, text) {
  if (action.kind !== 'apply_operation') return undefined;
  if (text === undefined || !isString(action.freeform_argument)) return action.arguments;
  return placeText(action.arguments, action.freeform_argument, text);
}

const timeOrNothing = (milliseconds) => (milliseconds === null ? undefined : formatTime(milliseconds));

/** What its owner may see: named field by field, so that a stored action cannot slip out, nor anything added later (I7.5). */
export function viewOf(card) {
  const { title, body, options, review_entries, freeform_prompt } = card.payload;
  return {
    id: card.id,
    conversation: card.conversation,
    workflow: card.workflow,
    case: card.case,
    case_revision: card.case_revision ?? undefined,
    kind: card.kind,
    blocking: card.blocking,
    revision_independent: card.case_revision === null,
    status: card.status,
    payload: {
      title,
      body,
      options: options.map(({ id, label, freeform }) => ({ id, label, freeform })),
      review_entries,
      freeform_prompt,
    },
    payload_hash: card.payload_hash,
    created_at: formatTime(card.created_at),
    expires_at: timeOrNothing(card.expires_at),
    resolved_at: timeOrNothing(card.resolved_at),
    resolved_option: card.resolved_option ?? undefined,
  };
}
