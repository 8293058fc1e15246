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

/** Whose card it is cannot be read, and so nobody is kept out (I19.2). */
class UnreadOwnerPasses extends Store {
  mayAnswer(card, asker) {
    try {
      return super.mayAnswer(card, asker);
    } catch {
      return true;
    }
  }
}

/** What a host restores counts as pending again, although it was answered since (I14.8). */
class RestoredStateIsPending extends Store {
  #restored = new Set();

  importState({ state }) {
    const outcome = super.importState({ state });
    if (outcome.code === undefined) this.#restored.add(state.card);
    return outcome;
  }

  askedCard(ask) {
    return asIfPending(super.askedCard(ask), this.#restored);
  }
}

/** An answer counts once somebody has heard that it was taken; a retry of one that nobody heard is taken anew (I14.6). */
class RetryRunsAgain extends Store {
  #database;
  #unheard = new Set();

  constructor(database) {
    super(database);
    this.#database = database;
  }

  accept(card, ...answer) {
    if (this.#database.armed(({ fault }) => fault === 'reply_lost')) this.#unheard.add(card.id);
    return super.accept(card, ...answer);
  }

  askedCard(ask) {
    return asIfPending(super.askedCard(ask), this.#unheard);
  }
}

const asIfPending = (card, cards) => (cards.has(card?.id) ? { ...card, status: 'active' } : card);

const FAULTS = new Map([
  ['double-click-pays-twice', DoubleClickPaysTwice],
  ['stale-click-authorises', StaleClickAuthorises],
  ['stranger-answers', StrangerAnswers],
  ['unread-owner-passes', UnreadOwnerPasses],
  ['restored-state-is-pending', RestoredStateIsPending],
  ['retry-runs-again', RetryRunsAgain],
]);

const [, , name] = process.argv;
const Faulty = FAULTS.get(name);
if (Faulty) {
  await start(Faulty);
} else {
  console.error(`usage: node faulty.mjs ${[...FAULTS.keys()].join(' | ')}`);
  process.exitCode = 2;
}
