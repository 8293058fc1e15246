// What survives a crash: an append-only file in which one line is one transaction.
//
// - A change is answered only after its line is written. `write` hands the bytes to the operating system, which keeps
//   them when this process is killed, at any moment and with any signal. To survive a loss of power as well, start with
//   `--flush`: every line is then forced to the disk, which costs anything from 0.2 to 10 ms instead of 5 microseconds.
// - A line counts once its newline is there. What a crash leaves after the last newline was never answered, and is cut off.
// - A line that cannot be read anywhere else is damage. We refuse to start rather than to guess (I19, fail closed).
// - `rewrite` starts the file afresh: a second file is written and then renamed, so that a crash finds the old or the new.
//
// One process owns the folder. Several at once would need a lock, or a database.

import fs from 'node:fs';
import path from 'node:path';

const { O_WRONLY, O_CREAT, O_TRUNC, O_APPEND } = fs.constants;
const NEWLINE = 0x0a;

/** The write did not happen, and nothing else happened either. */
export class WriteFailed extends Error {}

function writeAll(fd, bytes) {
  for (let written = 0; written < bytes.length;) written += fs.writeSync(fd, bytes, written);
}

export class FileJournal {
  #path;
  #flush;
  #fd;
  #length = 0;
  #broken = false;

  constructor(folder, { flush = false } = {}) {
    fs.mkdirSync(folder, { recursive: true });
    this.#path = path.join(folder, 'journal.jsonl');
    this.#flush = flush;
    this.#fd = fs.openSync(this.#path, O_WRONLY | O_CREAT | O_APPEND);
  }

  /** Every transaction so far, oldest first. */
  read() {
    const bytes = fs.readFileSync(this.#path);
    this.#length = bytes.lastIndexOf(NEWLINE) + 1;
    fs.ftruncateSync(this.#fd, this.#length);
    const lines = bytes.subarray(0, this.#length).toString('utf8').split('\n').slice(0, -1);
    return lines.map((line) => JSON.parse(line));
  }

  append(changes, write = writeAll) {
    if (this.#broken) throw new WriteFailed('an earlier write could not be taken back');
    try {
      this.#length += this.#write(this.#fd, changes, write);
    } catch (error) {
      this.#takeBack();
      throw new WriteFailed('cannot append to the journal', { cause: error });
    }
  }

  rewrite(changes) {
    const next = `${this.#path}.next`;
    try {
      const fd = fs.openSync(next, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND);
      const length = this.#write(fd, changes, writeAll);
      fs.renameSync(next, this.#path);
      fs.closeSync(this.#fd);
      [this.#fd, this.#length, this.#broken] = [fd, length, false];
    } catch (error) {
      throw new WriteFailed('cannot rewrite the journal', { cause: error });
    }
  }

  #write(fd, changes, write) {
    const line = Buffer.from(`${JSON.stringify(changes)}\n`);
    write(fd, line);
    if (this.#flush) fs.fdatasyncSync(fd);
    return line.length;
  }

  /** Half a line must not stay: the next one would be glued to it. */
  #takeBack() {
    try {
      fs.ftruncateSync(this.#fd, this.#length);
    } catch {
      this.#broken = true;
    }
  }
}

/** The same for a store that forgets. */
export class NoJournal {
  read() {
    return [];
  }

  append() {}

  rewrite() {}
}
