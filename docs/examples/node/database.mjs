// Tables in memory, in front of a journal: all of a transaction happens, or nothing of it.
//
// A table is a Map from id to record, in the order of insertion: cards by creation, effects by commit, the ledger by
// entry. Records are never changed in place; `put` replaces them. JavaScript runs one piece of code at a time and no
// transaction waits for anything, so no other call can see one half done. Who looks for rows reads them all: that keeps an
// example short, and a store that keeps years of decisions adds indexes here.

/** The row is there and cannot be read. Whoever needs it for a check cannot make that check (I19.2 to I19.4). */
export class Unreadable extends Error {}

/** What a command does could not be done: the command has failed, and the operation goes on (L3). */
export class CommandFailed extends Error {}

export class Database {
  #journal;
  #tables = new Map();
  #changes = [];
  #undo = [];

  constructor(journal) {
    this.#journal = journal;
    for (const changes of journal.read()) this.#apply(changes);
  }

  get(table, id) {
    return this.#table(table).get(id);
  }

  rows(table) {
    return [...this.#table(table).values()];
  }

  count(table) {
    return this.#table(table).size;
  }

  put(table, id, record) {
    const rows = this.#table(table);
    const before = rows.get(id);
    this.#undo.push(() => (before === undefined ? rows.delete(id) : rows.set(id, before)));
    this.#changes.push([table, id, record]);
    rows.set(id, record);
  }

  /** Runs the work and writes its changes through; if either throws, nothing happened. Work that only reads writes nothing. */
  transaction(work) {
    this.#changes = [];
    this.#undo = [];
    try {
      const result = work();
      if (this.#changes.length > 0) this.commit(this.#changes);
      return result;
    } catch (error) {
      this.#undoTo(0);
      throw error;
    }
  }

  /** A part of a transaction that happens or not by itself: if it throws, the rest of the transaction can go on. */
  attempt(work) {
    const before = this.#changes.length;
    try {
      return work();
    } catch (error) {
      this.#undoTo(before);
      throw error;
    }
  }

  commit(changes, write) {
    this.#journal.append(changes, write);
  }

  /** Forgets everything but these changes. */
  reset(changes) {
    this.#journal.rewrite(changes);
    this.#tables = new Map();
    this.#apply(changes);
  }

  #undoTo(length) {
    for (const undo of this.#undo.splice(length).reverse()) undo();
    this.#changes.splice(length);
  }

  #apply(changes) {
    for (const [table, id, record] of changes) this.#table(table).set(id, record);
  }

  #table(name) {
    if (!this.#tables.has(name)) this.#tables.set(name, new Map());
    return this.#tables.get(name);
  }
}
