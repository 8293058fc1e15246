// What can be made to go wrong, once, so that a suite can see what the store does then (`fault.arm`).
//
// The store knows nothing of this file. The database under it is made to fail, each fault where such a thing happens: a
// read, what a command does, the write of a transaction, and the time between the write and the reply. An armed fault is a
// row like any other, and so it outlives a crash; that it has hit is written before the process ends, and so it hits once.
//
// A store that keeps real decisions leaves this file out: it uses `Database`, and does not claim `faults`.

import fs from 'node:fs';
import os from 'node:os';
import { rejected } from './checks.mjs';
import { CommandFailed, Database, Unreadable } from './database.mjs';
import { WriteFailed } from './journal.mjs';

// Which calls a fault can hit. Opening a case and moving the clock are the suite's own preparations, and are spared.
const ANSWERS = ['card.respond', 'card.dismiss'];
const WRITES = [...ANSWERS, 'card.present', 'command.settle', 'case.edit'];
const CHANGES = [...WRITES, 'case.close', 'card.withdraw', 'card.expire_due'];

/** What the next read of a table gives, in an answer to the card that the fault names. */
const READS = {
  ownership_unreadable: { table: 'cards', damage: (card) => withUnreadable(card, 'conversation') },
  revision_unreadable: { table: 'cases', damage: (row) => withUnreadable(row, 'revision') },
  payload_corrupt: {
    table: 'cards',
    damage: (card) => ({ ...card, payload: { ...card.payload, title: `${card.payload.title} (changed)` } }),
  },
};

/** The faults of a write and of what comes after it, with the calls that they hit. */
const COMMITS = {
  write_fails: WRITES,
  crash_before_commit: CHANGES,
  crash_after_commit: CHANGES,
  reply_lost: CHANGES,
};

export const FAULTS = [...Object.keys(READS), ...Object.keys(COMMITS), 'commit_fails'];

/** It happened, and nobody will hear of it. */
export class ReplyLost extends Error {}

/** The record, except that whoever looks at this field gets an error, as from a bad block of a disk. */
function withUnreadable(record, field) {
  const get = () => {
    throw new Unreadable(`${field} cannot be read`);
  };
  return Object.defineProperty({ ...record }, field, { get });
}

/** Half of the bytes, and then a descriptor that takes none: this error comes from the operating system. */
function writeHalf(fd, bytes) {
  fs.writeSync(fd, bytes.subarray(0, bytes.length / 2));
  const readOnly = fs.openSync(os.devNull, 'r');
  try {
    fs.writeSync(readOnly, bytes);
  } finally {
    fs.closeSync(readOnly);
  }
}

const endProcess = () => process.kill(process.pid, 'SIGKILL'); // no handler runs, and nothing is flushed

/** A counter that grows is no change that anybody asked for: a refusal is told, even if nothing can be written. */
const isChange = ([table]) => table === 'cards' || table === 'cases';

const isCommitFault = ({ fault }) => fault === 'commit_fails';
const spent = (fault) => ({ ...fault, spent: true });
const rowOf = (fault) => ['faults', fault.id, fault];

export class FaultyDatabase extends Database {
  #call; // the call that is under way
  #struck; // the fault that its commit has met

  /** The faults that hit an answer must say to which card. */
  arm({ fault, card = null }) {
    if (Object.hasOwn(READS, fault) && card === null) return rejected('malformed');
    if (card !== null && !this.get('cards', card)) return rejected('not_found');
    const id = this.count('faults') + 1;
    this.put(...rowOf({ id, fault, card, spent: false }));
    return {};
  }

  /** The fault that waits for this, and was armed first. */
  armed(hits) {
    return this.rows('faults').find((each) => !each.spent && hits(each));
  }

  get(table, id) {
    const row = super.get(table, id);
    const fault = row && this.armed((each) => READS[each.fault]?.table === table && each.card === this.#answered());
    if (!fault) return row;
    this.#spend(fault);
    return READS[fault.fault].damage(row);
  }

  put(table, id, record) {
    const isEffect = table === 'effects' && this.#call.method === 'command.settle';
    if (isEffect && this.armed(isCommitFault)) throw new CommandFailed('the effect cannot be written');
    super.put(table, id, record);
  }

  attempt(work) {
    try {
      return super.attempt(work);
    } catch (error) {
      if (error instanceof CommandFailed) this.#spend(this.armed(isCommitFault)); // now, because the attempt was undone
      throw error;
    }
  }

  transaction(work, call) {
    [this.#call, this.#struck] = [call, undefined];
    const result = this.#perform(work);
    if (this.#struck?.fault === 'crash_after_commit') endProcess();
    if (this.#struck?.fault === 'reply_lost') throw new ReplyLost('as it was asked to be');
    return result;
  }

  #perform(work) {
    try {
      return super.transaction(work);
    } catch (error) {
      const failed = this.#struck;
      if (failed?.fault === 'write_fails') super.transaction(() => this.#spend(failed)); // alone, because all else was undone
      throw error;
    }
  }

  commit(changes) {
    const fault = changes.some(isChange) ? this.armed((each) => COMMITS[each.fault]?.includes(this.#call.method)) : undefined;
    if (!fault) return super.commit(changes);
    this.#struck = fault;
    if (fault.fault === 'write_fails') return this.#failToWrite(changes);
    if (fault.fault === 'crash_before_commit') {
      super.commit([rowOf(spent(fault))]); // this, and nothing of the changes
      endProcess();
    }
    this.#spend(fault); // which is one of these changes now
    return super.commit(changes);
  }

  #failToWrite(changes) {
    super.commit(changes, writeHalf);
    throw new WriteFailed('nothing is written at all without a folder');
  }

  #spend(fault) {
    super.put(...rowOf(spent(fault)));
  }

  /** The id of the card that is being answered, as it was sent. */
  #answered() {
    const { method, params } = this.#call;
    if (!ANSWERS.includes(method)) return undefined;
    return method === 'card.respond' ? params.response?.interaction_id : params.card;
  }
}
