// Puts the parts together: a journal, the tables in front of it, a store, and the conversation on stdin and stdout.

import { FaultyDatabase } from './faults.mjs';
import { FileJournal, NoJournal } from './journal.mjs';
import { methodsOf } from './methods.mjs';
import { serve } from './rpc.mjs';

function openJournal() {
  const folder = process.env.KEYTURN_DATA;
  if (folder) return new FileJournal(folder, { flush: process.argv.includes('--flush') });
  console.error('KEYTURN_DATA is not set: everything is kept in memory, and is gone with this process');
  return new NoJournal();
}

/** Runs a system with this store until stdin is closed; then nothing is left to do, and the process ends with 0. */
export async function start(StoreClass) {
  const database = new FaultyDatabase(openJournal());
  const store = new StoreClass(database);
  process.stdout.on('error', () => process.exit()); // nobody listens any more
  await serve(methodsOf(store, database), process.stdin, process.stdout);
}
