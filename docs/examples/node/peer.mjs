// Talks to the system as the suite does: lines on stdin and stdout, SIGKILL for a crash. The tests are written with it.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { linesOf } from './rpc.mjs';

const HERE = path.dirname(fileURLToPath(import.meta.url));
export const CASE = { account: 'a', workflow: 'w', case: '1' };
export const ASKER = { account: 'a', conversation: 'c' };

/** The system in a process of its own, with a folder that outlives it. */
class Peer {
  #waiting = [];

  constructor(command, folder) {
    Object.assign(this, { command, folder });
    this.launch();
  }

  launch() {
    const env = { ...process.env, KEYTURN_DATA: this.folder };
    this.child = spawn(process.execPath, this.command, { cwd: HERE, env, stdio: ['pipe', 'pipe', 'ignore'] });
    this.listen(this.child.stdout);
  }

  async listen(stdout) {
    for await (const line of linesOf(stdout)) this.#waiting.shift()(JSON.parse(line));
    for (const resolve of this.#waiting.splice(0)) resolve(undefined);
  }

  /** The reply to one line, whatever the line is; undefined when the process ends without one. */
  line(text) {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      this.child.stdin.write(`${text}\n`);
    });
  }

  send(method, params) {
    return this.line(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }));
  }

  async call(method, params = {}) {
    const { result, error } = await this.send(method, params);
    assert.equal(error, undefined, JSON.stringify(error));
    return result;
  }

  arm(fault, card) {
    return this.call('fault.arm', { fault, card: card?.id });
  }

  respond(card, option, more) {
    return this.call('card.respond', answer(card, option, more));
  }

  settle(command, result = 'committed', on_failure) {
    return this.call('command.settle', { command, result, on_failure });
  }

  async present(more = {}) {
    const usual = { kind: 'confirm_command', blocking: true, revision_independent: false, on_occupied: 'refuse' };
    return this.call('card.present', { ...ASKER, ...CASE, ...usual, payload: payload(), ...more });
  }

  async status(card) {
    return (await this.call('card.get', { ...ASKER, card: card.id })).card.status;
  }

  async countEffects() {
    return (await this.call('effects', CASE)).effects.length;
  }

  async restart() {
    await this.end('SIGKILL');
    this.launch();
  }

  /** The system ends in this call, as it was asked to, and is started again. */
  async crashIn(method, params) {
    const ended = this.#ended();
    assert.equal(await this.send(method, params), undefined);
    assert.equal(await ended, 'SIGKILL');
    this.launch();
  }

  async end(signal) {
    const ended = this.#ended();
    if (signal) this.child.kill(signal);
    else this.child.stdin.end();
    return ended;
  }

  /** How it ended: a status, or a signal. */
  #ended() {
    return new Promise((resolve) => this.child.once('exit', (code, signal) => resolve(code ?? signal)));
  }
}

/** An answer by the one who was asked, at the revision the card shows, unless said otherwise. */
export function answer(card, option, { asker = ASKER, ...more } = {}) {
  const response = { interaction_id: card.id, option_id: option, expected_case_revision: card.case_revision, ...more };
  return { ...asker, response };
}

export const optionOf = (id, action, freeform) => ({ id, label: id, action, freeform });
export const apply = { kind: 'apply_operation', operation: 'pay', arguments: { secret: 7, note: '' }, freeform_argument: '/note' };

export function payload(...more) {
  const confirm = { kind: 'confirm_commands', command_refs: ['r1', 'r2'] };
  const options = [
    optionOf('yes', confirm),
    optionOf('no', { kind: 'decline' }),
    optionOf('note', apply, { kind: 'required', max_length: 3 }),
    optionOf('record', { kind: 'decline_and_record', operation: 'log' }, { kind: 'optional', max_length: 10 }),
    optionOf('close', { kind: 'dismiss' }),
    optionOf('other', { kind: 'select_target', case: '2' }),
  ];
  return { title: 'Pay?', options: [...options, ...more] };
}

/** Runs the scenario with a fresh system: the clock at noon, one case open at revision 1. */
export async function withPeer(scenario, command = ['server.mjs']) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'node-example-'));
  const peer = new Peer(command, folder);
  try {
    await peer.call('reset', { now: '2026-01-01T12:00:00+00:00' });
    await peer.call('case.open', CASE);
    await scenario(peer);
  } finally {
    await peer.end('SIGKILL');
    fs.rmSync(folder, { recursive: true });
  }
}

export const scenario = (name, body) => test(name, () => withPeer(body));
export const rejected = (code) => ({ outcome: 'rejected', code });
