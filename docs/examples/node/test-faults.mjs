// The store when something goes wrong under it, and the stores that are wrong themselves.
//   node --test docs/examples/node/test-faults.mjs

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { ASKER, CASE, answer, rejected, scenario, withPeer } from './peer.mjs';

const UNVERIFIABLE = rejected('unverifiable');
const UNAVAILABLE = rejected('unavailable');
const LOST = { code: -32000, message: 'card.respond: the reply was lost', data: { definite: false } };

describe('a check that cannot be made', () => {
  for (const fault of ['ownership_unreadable', 'revision_unreadable', 'payload_corrupt']) {
    scenario(`lets nothing through, once: ${fault}`, async (peer) => {
      const { card } = await peer.present();
      const { card: independent } = await peer.present({ blocking: false, revision_independent: true });
      for (const each of [card, independent]) {
        await peer.arm(fault, each);
        await peer.restart();
        const before = await peer.call('card.get', { ...ASKER, card: each.id });
        assert.deepEqual(await peer.respond(each, 'yes'), UNVERIFIABLE);
        assert.deepEqual(await peer.call('card.get', { ...ASKER, card: each.id }), before);
        await peer.restart();
        await peer.arm(fault, each);
        const dismissal = { ...ASKER, card: each.id, expected_case_revision: 1 };
        assert.deepEqual(await peer.call('card.dismiss', dismissal), UNVERIFIABLE);
        assert.equal((await peer.respond(each, 'no')).outcome, 'declined');
      }
      assert.equal(await peer.countEffects(), 0);
    });
  }

  scenario('is only that of its card, and what a bad read has made of it is not written back', async (peer) => {
    const { card } = await peer.present({ expires_in: 1 });
    const { card: other } = await peer.present({ blocking: false });
    await peer.arm('payload_corrupt', card);
    assert.equal((await peer.respond(other, 'no')).outcome, 'declined');
    await peer.call('clock.advance', { seconds: 1 });
    assert.deepEqual(await peer.respond(card, 'yes'), rejected('expired'));
    const { card: after } = await peer.call('card.get', { ...ASKER, card: card.id });
    assert.deepEqual(after.payload, card.payload);
  });

  scenario('tells a stranger nothing', async (peer) => {
    const { card } = await peer.present();
    await peer.arm('revision_unreadable', card);
    const asker = { account: 'b', conversation: 'd' };
    assert.deepEqual(await peer.respond(card, 'yes', { asker }), rejected('not_found'));
    assert.deepEqual(await peer.respond(card, 'yes', { expected_case_revision: 2 }), UNVERIFIABLE);
  });

  scenario('is of a card that there is', async (peer) => {
    assert.deepEqual(await peer.arm('payload_corrupt'), rejected('malformed'));
    assert.deepEqual(await peer.arm('payload_corrupt', { id: 'card-0' }), rejected('not_found'));
    assert.equal((await peer.send('fault.arm', { fault: 'toString' })).error.code, -32602);
  });
});

describe('a write that fails', () => {
  scenario('leaves nothing, not even half a line', async (peer) => {
    const file = path.join(peer.folder, 'journal.jsonl');
    const { card } = await peer.present();
    const { command } = await peer.respond(card, 'yes');
    const writes = [
      () => peer.present({ blocking: false }), () => peer.settle(command), () => peer.call('case.edit', CASE),
    ];
    for (const write of writes) {
      await peer.arm('write_fails');
      await peer.restart();
      const before = fs.readFileSync(file, 'utf8');
      assert.deepEqual(await write(), UNAVAILABLE);
      const added = fs.readFileSync(file, 'utf8').slice(before.length).split('\n');
      assert.deepEqual([added.length, added.at(-1), JSON.parse(added[0]).length], [2, '', 1]); // that it was spent
    }
    assert.equal(await peer.countEffects(), 0);
    assert.equal((await peer.call('ledger', CASE)).entries.length, 2);
    assert.equal((await peer.settle(command)).outcome, 'resolved');
  });

  scenario('is one that there would have been: a refusal is told all the same', async (peer) => {
    const { card } = await peer.present();
    await peer.arm('write_fails');
    assert.deepEqual(await peer.respond(card, 'yes', { expected_case_revision: 2 }), rejected('stale_revision'));
    assert.deepEqual(await peer.respond(card, 'no'), UNAVAILABLE);
    assert.equal(await peer.status(card), 'active');
    assert.equal((await peer.respond(card, 'no')).outcome, 'declined');
  });
});

describe('a commit that fails', () => {
  scenario('is a failed command, and nothing of it is left', async (peer) => {
    const { card } = await peer.present();
    await peer.arm('commit_fails');
    const first = await peer.respond(card, 'yes');
    assert.deepEqual(await peer.settle(first.command, 'committed', 'restore'), { outcome: 'restored', code: 'command_failed' });
    assert.deepEqual(await peer.call('case.open', CASE), { revision: 1 });
    const second = await peer.respond(card, 'yes');
    await peer.arm('commit_fails');
    await peer.restart();
    const failed = { outcome: 'failed', code: 'command_failed' };
    assert.deepEqual(await peer.settle(second.command), failed);
    await peer.restart();
    assert.deepEqual(await peer.settle(second.command), failed);
    assert.equal(await peer.countEffects(), 0);
    const { card: next } = await peer.present();
    const { command } = await peer.respond(next, 'yes');
    assert.equal((await peer.settle(command)).outcome, 'resolved');
  });

  scenario('is no recorded decline', async (peer) => {
    const { card } = await peer.present();
    await peer.arm('commit_fails');
    assert.equal((await peer.respond(card, 'record')).outcome, 'declined');
    assert.equal(await peer.countEffects(), 1);
  });
});

describe('an answer that nobody heard', () => {
  scenario('was taken: the retry learns what became of it', async (peer) => {
    const { card } = await peer.present();
    await peer.arm('reply_lost');
    await peer.restart();
    assert.deepEqual((await peer.send('card.respond', answer(card, 'yes'))).error, LOST);
    const again = await peer.respond(card, 'yes');
    assert.equal(again.outcome, 'in_flight');
    await peer.arm('reply_lost');
    const { error } = await peer.send('command.settle', { command: again.command, result: 'committed' });
    assert.deepEqual(error.data, { definite: false });
    assert.equal((await peer.settle(again.command)).outcome, 'resolved');
    assert.equal((await peer.respond(card, 'no')).outcome, 'replayed');
    assert.equal(await peer.countEffects(), 2);
  });

  scenario('was taken, if the process ended after it was written', async (peer) => {
    const { card } = await peer.present();
    await peer.arm('crash_after_commit');
    await peer.crashIn('card.respond', answer(card, 'yes'));
    const { outcome, command } = await peer.respond(card, 'yes');
    assert.equal(outcome, 'in_flight');
    assert.equal((await peer.settle(command)).outcome, 'resolved');
  });

  scenario('was not, if the process ended before', async (peer) => {
    const { card } = await peer.present();
    await peer.arm('crash_before_commit');
    await peer.restart();
    await peer.crashIn('card.respond', answer(card, 'yes'));
    assert.equal(await peer.status(card), 'active');
    const { outcome, command } = await peer.respond(card, 'yes');
    assert.equal(outcome, 'accepted');
    await peer.arm('crash_before_commit');
    await peer.crashIn('command.settle', { command, result: 'committed' });
    assert.equal((await peer.settle(command, 'failed')).outcome, 'failed');
    assert.equal(await peer.countEffects(), 0);
  });

  scenario('changed something: what changes nothing is heard, and the fault waits', async (peer) => {
    const { card } = await peer.present();
    await peer.arm('crash_after_commit');
    assert.deepEqual(await peer.respond(card, 'nonsense'), rejected('unknown_option'));
    await peer.call('clock.advance', { seconds: 1 });
    await peer.crashIn('case.edit', CASE);
    assert.equal(await peer.status(card), 'invalidated');
    await peer.arm('reply_lost');
    await peer.call('reset', { now: '2026-01-01T12:00:00Z' });
    await peer.call('case.open', CASE);
    assert.equal((await peer.present()).outcome, 'presented');
  });
});

describe('a planted fault', () => {
  const faulty = (name, body) => test(name, () => withPeer(body, ['faulty.mjs', name]));

  faulty('double-click-pays-twice', async (peer) => {
    const { card } = await peer.present();
    const { command } = await peer.respond(card, 'yes');
    await peer.settle(command);
    assert.equal((await peer.respond(card, 'yes')).outcome, 'replayed');
    assert.equal(await peer.countEffects(), 4);
  });

  faulty('stale-click-authorises', async (peer) => {
    const { card } = await peer.present();
    assert.deepEqual(await peer.call('case.edit', CASE), { revision: 2, invalidated: [] });
    const { command } = await peer.respond(card, 'yes', { expected_case_revision: 9 });
    assert.equal((await peer.settle(command)).outcome, 'resolved');
    assert.equal(await peer.countEffects(), 2);
  });

  faulty('stranger-answers', async (peer) => {
    const { card } = await peer.present();
    const { outcome } = await peer.respond(card, 'no', { asker: { account: 'b', conversation: 'd' } });
    assert.equal(outcome, 'declined');
  });

  faulty('unread-owner-passes', async (peer) => {
    const { card } = await peer.present();
    await peer.arm('ownership_unreadable', card);
    assert.equal((await peer.respond(card, 'no')).outcome, 'declined');
  });

  faulty('restored-state-is-pending', async (peer) => {
    const { card } = await peer.present();
    const { state } = await peer.call('state.export', { ...ASKER, card: card.id });
    const first = await peer.respond(card, 'yes');
    await peer.call('state.import', { state });
    const second = await peer.respond(card, 'yes');
    assert.equal(second.outcome, 'accepted');
    assert.notEqual(second.command, first.command);
  });

  faulty('retry-runs-again', async (peer) => {
    const { card } = await peer.present();
    await peer.arm('reply_lost');
    await peer.send('card.respond', answer(card, 'yes'));
    assert.equal((await peer.respond(card, 'yes')).outcome, 'accepted');
  });
});
