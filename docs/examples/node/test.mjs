// The store as the suite meets it.  node --test docs/examples/node/test.mjs

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { describe } from 'node:test';
import { ASKER, CASE, apply, optionOf, payload, rejected, scenario } from './peer.mjs';

describe('a decision', () => {
  scenario('is accepted, committed, cited and replayed', async (peer) => {
    const { card } = await peer.present();
    const accepted = await peer.respond(card, 'yes');
    assert.equal(accepted.outcome, 'accepted');
    assert.deepEqual(await peer.respond(card, 'no'), { ...accepted, outcome: 'in_flight' });
    assert.equal(await peer.status(card), 'resolving');
    const settled = await peer.settle(accepted.command);
    const { effects } = await peer.call('effects', CASE);
    assert.deepEqual(settled.result, {
      card: card.id, option: 'yes', command: accepted.command, effects: effects.map(({ id }) => id), case_revision: 2,
    });
    assert.deepEqual(effects.map((effect) => effect.idempotency_key), Array(2).fill(accepted.idempotency_key));
    assert.deepEqual(await peer.settle(accepted.command), settled);
    assert.deepEqual(await peer.settle(accepted.command, 'failed'), rejected('conflict'));
    assert.deepEqual(await peer.respond(card, 'no'), { outcome: 'replayed', result: settled.result });
    assert.equal(await peer.countEffects(), 2);
  });

  scenario('puts the text at its pointer and nowhere else', async (peer) => {
    const { card } = await peer.present();
    assert.deepEqual(await peer.respond(card, 'note', { freeform_input: '\u0085 ' }), rejected('freeform_required'));
    assert.deepEqual(await peer.respond(card, 'note', { freeform_input: 'four' }), rejected('freeform_too_long'));
    assert.deepEqual(await peer.respond(card, 'yes', { freeform_input: '\ufeff' }), rejected('freeform_forbidden'));
    const { command } = await peer.respond(card, 'note', { freeform_input: '𝒂𝒃\u2028' });
    const { result } = await peer.settle(command);
    assert.equal(result.freeform, '𝒂𝒃\u2028');
    const [effect] = (await peer.call('effects', CASE)).effects;
    assert.deepEqual(effect.arguments, { secret: 7, note: '𝒂𝒃\u2028' });
    assert.deepEqual(effect.action, apply);
  });

  scenario('ends as its option says', async (peer) => {
    const present = async () => (await peer.present({ blocking: false })).card;
    const [declined, dismissed, answered, recorded] = [await present(), await present(), await present(), await present()];
    assert.equal((await peer.respond(declined, 'no')).outcome, 'declined');
    assert.equal((await peer.respond(dismissed, 'close')).outcome, 'dismissed');
    const { outcome, result } = await peer.respond(answered, 'other');
    assert.deepEqual([outcome, result.effects, result.case_revision], ['resolved', [], 1]);
    assert.equal(await peer.countEffects(), 0);
    const other = await present();
    const record = await peer.respond(recorded, 'record', { freeform_input: 'why' });
    assert.deepEqual([record.outcome, record.result.case_revision, record.result.freeform], ['declined', 2, 'why']);
    assert.equal(record.result.effects.length, 1);
    assert.equal(await peer.status(other), 'invalidated');
    assert.deepEqual(await peer.respond(declined, 'no'), rejected('not_answerable'));
  });

  scenario('is dismissed from outside, without an option', async (peer) => {
    const { card } = await peer.present();
    const dismiss = (more) => peer.call('card.dismiss', { ...ASKER, card: card.id, expected_case_revision: 1, ...more });
    for (const [more, code] of [
      [{ account: 'b' }, 'not_found'], [{ card: 'card-0' }, 'not_found'], [{ card: '' }, 'malformed'],
      [{ expected_case_revision: null }, 'malformed'], [{ expected_case_revision: 1.5 }, 'malformed'],
      [{ expected_case_revision: 2 }, 'stale_revision'],
    ]) assert.deepEqual(await dismiss(more), rejected(code), JSON.stringify(more));
    assert.deepEqual(await dismiss(), { outcome: 'dismissed', result: { card: card.id, effects: [], case_revision: 1 } });
    const { card: after } = await peer.call('card.get', { ...ASKER, card: card.id });
    assert.deepEqual([after.status, 'resolved_at' in after, 'resolved_option' in after], ['dismissed', true, false]);
    assert.deepEqual(await dismiss(), rejected('not_answerable'));
    const { card: next } = await peer.present();
    const { command, idempotency_key } = await peer.respond(next, 'yes');
    assert.deepEqual(await dismiss({ card: next.id }), { outcome: 'in_flight', command, idempotency_key });
    const { result } = await peer.settle(command);
    assert.deepEqual(await dismiss({ card: next.id }), { outcome: 'replayed', result });
    const independent = (await peer.present({ revision_independent: true })).card;
    assert.equal((await dismiss({ card: independent.id, expected_case_revision: undefined })).outcome, 'dismissed');
  });

  scenario('fails, or is restored and can be made again', async (peer) => {
    const { card } = await peer.present();
    const first = await peer.respond(card, 'yes');
    assert.deepEqual(await peer.settle(first.command, 'failed', 'restore'), { outcome: 'restored', code: 'command_failed' });
    const second = await peer.respond(card, 'note', { freeform_input: 'x' });
    assert.notEqual(second.idempotency_key, first.idempotency_key);
    assert.deepEqual(await peer.settle(first.command), rejected('conflict')); // L10
    assert.equal(await peer.status(card), 'resolving');
    assert.deepEqual(await peer.settle(second.command, 'failed'), { outcome: 'failed', code: 'command_failed' });
    assert.equal(await peer.status(card), 'failed');
    assert.equal(await peer.countEffects(), 0);
  });
});

describe('a revision', () => {
  scenario('that moved invalidates, and no echo helps', async (peer) => {
    const { card } = await peer.present();
    const independent = (await peer.present({ blocking: false, revision_independent: true })).card;
    assert.deepEqual(await peer.respond(card, 'yes', { expected_case_revision: 2 }), rejected('stale_revision'));
    assert.deepEqual(await peer.call('case.edit', CASE), { revision: 2, invalidated: [card.id] });
    assert.deepEqual(await peer.respond(card, 'yes', { expected_case_revision: 2 }), rejected('not_answerable'));
    const { command } = await peer.respond(independent, 'yes', { expected_case_revision: undefined });
    assert.equal((await peer.settle(command)).outcome, 'resolved');
  });

  scenario('that moved under a command is a conflict, and a restored card is not answerable', async (peer) => {
    const { card } = await peer.present();
    const { command } = await peer.respond(card, 'yes');
    assert.deepEqual(await peer.call('case.edit', CASE), { revision: 2, invalidated: [] });
    assert.deepEqual(await peer.settle(command, 'committed', 'restore'), { outcome: 'restored', code: 'revision_conflict' });
    const { entries } = await peer.call('ledger', CASE);
    assert.deepEqual(entries.map(({ event }) => event), ['present', 'accept', 'restore', 'invalidate']);
    assert.equal(await peer.countEffects(), 0);
  });
});

describe('a card that was made from a revision', () => {
  scenario('is not written once the case has moved', async (peer) => {
    assert.equal((await peer.present({ for_revision: 1 })).card.case_revision, 1);
    await peer.call('case.edit', CASE);
    assert.deepEqual(await peer.present({ for_revision: 1 }), rejected('stale_revision'));
    assert.deepEqual(await peer.present({ for_revision: 1, kind: 'boolean' }), rejected('invalid_card'));
    assert.equal((await peer.present({ for_revision: 1, revision_independent: true })).outcome, 'presented');
    assert.deepEqual(await peer.present({ for_revision: 1 }), rejected('stale_revision')); // before the slot
    assert.deepEqual(await peer.present({ for_revision: 2 }), rejected('slot_occupied'));
    assert.equal((await peer.call('ledger', CASE)).entries.length, 3);
  });
});

describe('the counters', () => {
  scenario('count what was written, resolved, refused as stale and failed, and no restore', async (peer) => {
    const counts = async () => Object.values(await peer.call('metrics'));
    assert.deepEqual(Object.keys(await peer.call('metrics')), ['created', 'resolved', 'stale', 'failed']);
    const { card } = await peer.present();
    await peer.respond(card, 'yes', { expected_case_revision: 2 });
    assert.deepEqual(await counts(), [1, 0, 1, 0]);
    await peer.settle((await peer.respond(card, 'yes')).command, 'failed', 'restore');
    assert.deepEqual(await counts(), [1, 0, 1, 0]);
    await peer.settle((await peer.respond(card, 'yes')).command, 'failed');
    const { card: next } = await peer.present();
    await peer.settle((await peer.respond(next, 'yes')).command);
    await peer.respond(next, 'no');
    await peer.restart();
    assert.deepEqual(await counts(), [2, 1, 1, 1]);
    await peer.call('reset', { now: '2026-01-01T12:00:00Z' });
    assert.deepEqual(await counts(), [0, 0, 0, 0]);
  });
});

describe('a case', () => {
  scenario('that is closed asks nobody until it is opened again', async (peer) => {
    const { card } = await peer.present();
    const independent = (await peer.present({ blocking: false, revision_independent: true })).card;
    const flying = (await peer.present({ blocking: false })).card;
    const { command } = await peer.respond(flying, 'yes');
    assert.deepEqual(await peer.call('case.close', CASE), { invalidated: [card.id, independent.id] });
    assert.deepEqual(await peer.call('case.close', CASE), { invalidated: [] });
    assert.deepEqual(await peer.present(), rejected('not_found'));
    await peer.restart();
    assert.deepEqual(await peer.settle(command, 'failed', 'restore'), { outcome: 'restored', code: 'command_failed' });
    assert.equal(await peer.status(flying), 'invalidated');
    assert.deepEqual(await peer.call('case.open', CASE), { revision: 1 });
    const { card: next } = await peer.present();
    const withdrawn = { invalidated: [next.id] };
    assert.deepEqual(await peer.call('card.withdraw', { ...CASE, code: 'duplicate' }), withdrawn);
    const { entries } = await peer.call('ledger', CASE);
    assert.deepEqual(entries.at(-1).cause, { reason: 'administrative', code: 'duplicate' });
    assert.deepEqual(entries.filter(({ cause }) => cause.reason === 'case_closed').length, 3);
    const nowhere = { ...CASE, case: '9' };
    assert.deepEqual(await peer.call('case.close', nowhere), rejected('not_found'));
    assert.deepEqual(await peer.call('card.withdraw', { ...nowhere, code: '' }), rejected('not_found'));
  });
});

describe('a set of options', () => {
  const bag = (id) => optionOf(id, { kind: 'resolve_clarification', answer_key: id });
  const bags = { kind: 'multi_select', payload: { title: 'Which?', options: [bag('a'), bag('b'), bag('c')] } };

  scenario('is answered with stored ids, in the order of the card', async (peer) => {
    const { card } = await peer.present(bags);
    for (const [more, code] of [
      [{ option_ids: ['a', 'a'] }, 'malformed'], [{ option_ids: 'a' }, 'malformed'], [{ option_ids: [1] }, 'malformed'],
      [{ option_id: 'a' }, 'malformed'], [{ option_id: 1, option_ids: ['a'] }, 'malformed'], [{ option_ids: null }, 'malformed'],
      [{ option_ids: ['a', 'd'] }, 'unknown_option'], [{ option_ids: [''] }, 'unknown_option'],
      [{ option_ids: ['A'] }, 'unknown_option'], [{ option_ids: ['a'], freeform_input: 'why' }, 'freeform_forbidden'],
      [{ option_ids: ['a'], expected_case_revision: 2 }, 'stale_revision'],
      [{ option_ids: ['a'], asker: { ...ASKER, account: 'b' } }, 'not_found'],
    ]) assert.deepEqual(await peer.respond(card, undefined, more), rejected(code), JSON.stringify(more));
    const { outcome, result } = await peer.respond(card, undefined, { option_ids: ['c', 'a'] });
    assert.equal(outcome, 'resolved');
    assert.deepEqual(result, { card: card.id, options: ['a', 'c'], effects: [], case_revision: 1 });
    const again = { outcome: 'replayed', result };
    assert.deepEqual(await peer.respond(card, undefined, { option_ids: [] }), again);
    await peer.restart();
    assert.deepEqual(await peer.respond(card, undefined, { option_ids: ['a', 'c'] }), again);
    const { card: after } = await peer.call('card.get', { ...ASKER, card: card.id });
    assert.deepEqual([after.status, 'resolved_at' in after, 'resolved_option' in after], ['resolved', true, false]);
  });

  scenario('may be empty, and is no set where one option is asked for', async (peer) => {
    const { card } = await peer.present(bags);
    assert.deepEqual((await peer.respond(card, undefined, { option_ids: [] })).result.options, []);
    const { card: other } = await peer.present();
    assert.deepEqual(await peer.respond(other, undefined, { option_ids: ['no'] }), rejected('malformed'));
    assert.equal((await peer.respond(other, 'no', { option_ids: ['yes'] })).outcome, 'declined');
  });

  scenario('is only of options that run nothing and take no text', async (peer) => {
    const unfit = [
      [], [bag('a'), optionOf('x', { kind: 'decline' })], [optionOf('x', apply)], [bag('a'), bag('a')],
      [{ ...bag('a'), freeform: { kind: 'optional', max_length: 9 } }],
    ];
    for (const options of unfit) {
      const { code } = await peer.present({ kind: 'multi_select', payload: { title: 'Which?', options } });
      assert.equal(code, 'invalid_card', JSON.stringify(options));
    }
  });
});

describe('what a host keeps', () => {
  scenario('finds the card again, as it has become', async (peer) => {
    const { card } = await peer.present();
    const keep = (more) => peer.call('state.export', { ...ASKER, card: card.id, ...more });
    const restore = (state) => peer.call('state.import', { state });
    const { state } = await keep();
    assert.deepEqual(state, { card: card.id, payload_hash: card.payload_hash });
    for (const more of [{ account: 'b' }, { conversation: 'd' }, { card: 'card-0' }]) {
      assert.deepEqual(await keep(more), rejected('not_found'));
    }
    for (const [kept, code] of [
      [null, 'malformed'], [[], 'malformed'], [{ card: card.id }, 'malformed'], [{ ...state, card: 7 }, 'malformed'],
      [{ ...state, card: 'card-0' }, 'not_found'], [{ ...state, payload_hash: 'sha256:0' }, 'unverifiable'],
    ]) assert.deepEqual(await restore(kept), rejected(code), JSON.stringify(kept));
    assert.deepEqual(await restore(state), {});
    const { command, idempotency_key } = await peer.respond(card, 'yes');
    assert.deepEqual(await restore(state), {});
    assert.deepEqual(await peer.respond(card, 'yes'), { outcome: 'in_flight', command, idempotency_key });
    const { result } = await peer.settle(command);
    await peer.restart();
    assert.deepEqual(await restore(state), {});
    assert.deepEqual(await peer.respond(card, 'no'), { outcome: 'replayed', result });
    assert.deepEqual(await keep(), rejected('not_answerable'));
    assert.equal(await peer.countEffects(), 2);
  });
});

describe('the slot', () => {
  scenario('is refused, replaced, or held by a command in flight', async (peer) => {
    const { card: first } = await peer.present();
    assert.deepEqual(await peer.present(), rejected('slot_occupied'));
    const { card: second, invalidated } = await peer.present({ on_occupied: 'replace' });
    assert.deepEqual(invalidated, [first.id]);
    const { cards } = await peer.call('card.list', ASKER);
    assert.deepEqual(cards, [second]);
    const { command } = await peer.respond(second, 'yes');
    assert.deepEqual(await peer.present({ on_occupied: 'replace' }), rejected('slot_occupied'));
    await peer.settle(command);
    assert.equal((await peer.present()).outcome, 'presented');
  });

  scenario('is free once its card is overdue', async (peer) => {
    const { card: first } = await peer.present({ expires_in: 1.5 });
    await peer.call('clock.advance', { seconds: 1.499 });
    assert.deepEqual(await peer.present(), rejected('slot_occupied'));
    await peer.call('clock.advance', { seconds: 0.001 });
    const { card: second } = await peer.present({ expires_in: 1 });
    assert.equal(await peer.status(first), 'expired');
    await peer.call('clock.advance', { seconds: 1 });
    assert.deepEqual(await peer.respond(second, 'nonsense'), rejected('expired'));
    assert.deepEqual(await peer.call('card.expire_due'), { expired: [] });
  });
});

describe('what comes in', () => {
  scenario('is refused when it is malformed, foreign or not stored', async (peer) => {
    const { card } = await peer.present();
    const malformed = [
      { option_id: '' }, { option_id: 1 }, { interaction_id: null }, { freeform_input: 1 }, { option_id: 'y\0' },
      { option_id: '\ud800' }, { expected_case_revision: true }, { expected_case_revision: 1.5 },
      { expected_case_revision: 0 }, { expected_case_revision: 2 ** 53 }, { expected_case_revision: null },
    ];
    for (const more of malformed) {
      assert.deepEqual(await peer.respond(card, 'yes', more), rejected('malformed'), JSON.stringify(more));
    }
    const strangers = [{ ...ASKER, account: 'b' }, { ...ASKER, conversation: 'd' }, { ...ASKER, account: '' }];
    for (const asker of strangers) assert.deepEqual(await peer.respond(card, 'yes', { asker }), rejected('not_found'));
    assert.deepEqual(await peer.respond(card, 'YES'), rejected('unknown_option'));
    assert.deepEqual((await peer.call('ledger', CASE)).entries.length, 1);
    assert.equal((await peer.respond(card, 'yes', { action: { kind: 'decline' }, status: 'declined' })).outcome, 'accepted');
  });

  scenario('never ends the program', async (peer) => {
    const deep = `{"interaction_id":"x","option_id":"y","more":${'['.repeat(30_000)}${']'.repeat(30_000)}}`;
    const request = (method, params) => `{"jsonrpc":"2.0","id":7,"method":"${method}","params":${params}}`;
    const codes = [
      ['garbage', -32700], ['', -32700], ['[]', -32600], ['{"jsonrpc":"2.0","id":7}', -32600],
      [request('card.recall', '{}'), -32601], [request('toString', '{}'), -32601], [request('card.get', '{}'), -32602],
    ];
    for (const [line, code] of codes) assert.equal((await peer.line(line)).error.code, code, line);
    const { result } = await peer.line(request('card.respond', `{"account":"a","conversation":"c","response":${deep}}`));
    assert.deepEqual(result, rejected('malformed'));
    assert.equal(await peer.end(), 0);
    peer.launch();
  });

  scenario('is no card unless it can be answered', async (peer) => {
    const nowhere = optionOf('x', { ...apply, freeform_argument: '/no/note' });
    const unfit = [
      { kind: 'multi_select' }, { kind: 'boolean' }, { kind: 'review_changes' }, { kind: 'freeform' }, { kind: 'toString' },
      { payload: payload(optionOf('yes', { kind: 'decline' })) }, { payload: payload(nowhere) },
      { payload: payload(optionOf('', { kind: 'decline' })) }, { payload: { title: '', options: [] } },
      { payload: payload(optionOf('x', { kind: 'decline' }, { kind: 'optional', max_length: 0 })) },
      { payload: payload(optionOf('x', { kind: 'confirm_commands', command_refs: [] })) }, { expires_in: 0.0001 }, { expires_in: 0 },
    ];
    for (const more of unfit) assert.deepEqual(await peer.present(more), rejected('invalid_card'), JSON.stringify(more));
    assert.deepEqual(await peer.present({ case: '2', kind: 'multi_select' }), rejected('not_found'));
    const { card } = await peer.present();
    assert.ok(!JSON.stringify(card).includes('secret'));
  });
});

describe('a crash', () => {
  scenario('loses nothing that was answered', async (peer) => {
    const { card } = await peer.present();
    const accepted = await peer.respond(card, 'yes');
    const before = await peer.call('card.get', { ...ASKER, card: card.id });
    const { now } = await peer.call('clock.advance', { seconds: 60 });
    await peer.restart();
    assert.deepEqual(await peer.call('card.get', { ...ASKER, card: card.id }), before);
    assert.deepEqual(await peer.respond(card, 'yes'), { ...accepted, outcome: 'in_flight' });
    const settled = await peer.settle(accepted.command);
    await peer.restart();
    assert.deepEqual(await peer.respond(card, 'no'), { outcome: 'replayed', result: settled.result });
    assert.deepEqual(await peer.settle(accepted.command), settled);
    const { card: next } = await peer.present();
    assert.equal(Date.parse(next.created_at), Date.parse(now));
    assert.equal(await peer.countEffects(), 2);
  });

  scenario('in the middle of a write leaves half a line, which never happened', async (peer) => {
    const { card } = await peer.present();
    const journal = path.join(peer.folder, 'journal.jsonl');
    fs.appendFileSync(journal, '[["cards","card-1",{"sta');
    await peer.restart();
    assert.equal(await peer.status(card), 'active');
    assert.equal((await peer.respond(card, 'no')).outcome, 'declined');
    await peer.restart();
    assert.equal(await peer.status(card), 'declined');
  });

  scenario('or a reset never brings an id back', async (peer) => {
    const { card: first } = await peer.present();
    await peer.call('reset', { now: '2026-01-01T12:00:00Z' });
    await peer.restart();
    await peer.call('case.open', CASE);
    const { card: second } = await peer.present();
    assert.notEqual(second.id, first.id);
    assert.deepEqual(await peer.respond(first, 'yes'), rejected('not_found'));
  });
});
