// The same store with one fault:  node faulty.mjs double-click-pays-twice
//
// A suite is worth what it catches. Each of these describes itself exactly like the correct store and differs from it in
// one method, in a way in which real stores have been wrong.

import { start } from './start.mjs';
import { Store } from './store.mjs';

/** A click on a Resolved card runs the stored action again, and then politely replays the first result (I14.1, I14.2). */
class DoubleClickPaysTwice extends Store {
  replay(card) {
    const command = this.commandOf(card);
    if (command) this.writeEffects(command, this.caseOf(card).revision);
    return super.replay(card);
  }
}

/** Every card counts as drawn for the present: no revision is compared, and an edit invalidates nothing (I13.1 to I13.3). */
class StaleClickAuthorises extends Store {
  isFresh() {
    return true;
  }
}

/** Whoever knows the id of a card may answer it: neither account nor conversation is looked at (I19.1). */
class StrangerAnswers extends Store {
  mayAnswer() {
    return true;
  }
}

const FAULTS = new Map([
  ['double-click-pays-twice', DoubleClickPaysTwice],
  ['stale-click-authorises', StaleClickAuthorises],
  ['stranger-answers', StrangerAnswers],
]);

const [, , name] = process.argv;
const Faulty = FAULTS.get(name);
if (Faulty) {
  await start(Faulty);
} else {
  console.error(`usage: node faulty.mjs ${[...FAULTS.keys()].join(' | ')}`);
  process.exitCode = 2;
}
