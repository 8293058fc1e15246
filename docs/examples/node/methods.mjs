// The methods of the protocol: the fields that each must have, and what it calls.
//
// The shape of the parameters is the business of the two programs that talk here, and so a wrong one is a JSON-RPC error.
// The exception is `response`: that is what a stranger typed, it may be anything, and the store judges it (I19.6).

import { isPayload } from './cards.mjs';
import { rejected } from './checks.mjs';
import { FAULTS, ReplyLost } from './faults.mjs';
import { WriteFailed } from './journal.mjs';
import { INVALID_PARAMS, METHOD_NOT_FOUND, OPERATION_FAILED, RpcError } from './rpc.mjs';
import { isBoolean, isNumber, isObject, isPresent, isSeconds, isString, isTime, oneOf, optional, wrongField } from './shapes.mjs';

const DESCRIPTION = {
  protocol: 1,
  system: { name: 'node-example', version: '0.1.0', language: 'javascript' },
  claims: [
    'cards', 'owners', 'revisions', 'independent', 'blocking', 'refuse', 'replace', 'list', 'freeform', 'replay',
    'deferred', 'dismiss', 'clock', 'administrative', 'for_revision', 'ledger', 'metrics', 'multi_select', 'coded_refusals', 'ordered_checks', 'restart',
    'snapshot', 'faults',
  ],
  environment: 'test', // the store may be wiped by `reset`; one that keeps real decisions must never say so
};

const asker = { account: isString, conversation: isString };
const ofCase = { account: isString, workflow: isString, case: isString };
const newCard = {
  ...asker,
  ...ofCase,
  kind: isString,
  blocking: isBoolean,
  revision_independent: optional(isBoolean), // left out = bound
  for_revision: optional(isNumber), // the revision that the content was made from
  payload: isPayload,
  expires_in: optional(isNumber), // in seconds; too short a time is an invalid card
  on_occupied: optional(oneOf('refuse', 'replace')), // left out = refuse, which harms nobody
};
const end = {
  command: isString,
  result: oneOf('committed', 'failed'),
  on_failure: optional(oneOf('record', 'restore')),
};

const METHODS = {
  'describe': [{}, () => DESCRIPTION],
  'reset': [{ now: isTime, settings: optional(isObject) }, (store, params) => store.reset(params)],
  'case.open': [ofCase, (store, params) => store.openCase(params)],
  'case.edit': [ofCase, (store, params) => store.editCase(params)],
  'case.close': [ofCase, (store, params) => store.closeCase(params)],
  'card.present': [newCard, (store, params) => store.present(params)],
  'card.get': [{ ...asker, card: isString }, (store, params) => store.getCard(params)],
  'card.list': [asker, (store, params) => store.listCards(params)],
  'card.respond': [{ ...asker, response: isPresent }, (store, params) => store.respond(params)],
  'card.dismiss': [{ ...asker, card: isString, expected_case_revision: optional(isNumber) }, (store, params) => store.dismissCard(params)],
  'card.withdraw': [{ ...ofCase, code: isString }, (store, params) => store.withdraw(params)],
  'card.expire_due': [{}, (store) => store.expireDue()],
  'clock.advance': [{ seconds: isSeconds }, (store, params) => store.advance(params)],
  'command.settle': [end, (store, params) => store.settle(params)],
  'effects': [ofCase, (store, params) => store.effects(params)],
  'metrics': [{}, (store) => store.metrics()],
  'ledger': [ofCase, (store, params) => store.ledger(params)],
  'state.export': [{ ...asker, card: isString }, (store, params) => store.exportState(params)],
  'state.import': [{ state: isPresent }, (store, params) => store.importState(params)],
  'fault.arm': [{ fault: oneOf(...FAULTS), card: optional(isString) }, (store, params, database) => database.arm(params)],
};

/** The function that answers one call: one call, one transaction. */
export function methodsOf(store, database) {
  return function call(method, params) {
    // A method that is not here is a capability that is not here.
    if (!Object.hasOwn(METHODS, method)) throw new RpcError(METHOD_NOT_FOUND, `no method ${method}`);
    const [fields, operation] = METHODS[method];
    const wrong = wrongField(fields, params);
    if (wrong !== undefined) throw new RpcError(INVALID_PARAMS, `${method}: ${wrong} is missing or wrong`);
    try {
      return database.transaction(() => store.countRefusal(operation(store, params, database)), { method, params });
    } catch (error) {
      return refusalOf(method, error);
    }
  };
}

/** Whatever else went wrong, the transaction was undone: we can say for certain that nothing happened. */
function refusalOf(method, error) {
  console.error(`${method} failed:`, error);
  if (error instanceof ReplyLost) throw new RpcError(OPERATION_FAILED, `${method}: the reply was lost`, { definite: false });
  if (error instanceof WriteFailed) return rejected('unavailable');
  throw new RpcError(OPERATION_FAILED, `${method} failed`, { definite: true });
}
