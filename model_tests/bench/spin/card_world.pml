/* The card world of keyturn/card_world.py, translated by hand: the same states for the same CARDS, CASES and ATTEMPTS.
 *
 *   spin -DCARDS=2 -a card_world.pml && gcc -O2 -DSAFETY -DNOREDUCE -o pan pan.c && ./pan
 *
 * A state is what our canonical form keeps of a world: revisions and times are numbers there and bits here, because only what
 * they are compared with counts. A revision is that of the case or an older one. Every card can be answered for equally long and
 * time goes from deadline to deadline, so a deadline is past or it is the one that comes next. Of a card that has ended only
 * its status is left.
 *
 * One process with one place of control: each alternative is one step. What changes nothing is left out here, which is most of
 * what our model does: refusals, answers that are given again, and the branches of a fault, all of which lead to states that
 * are reached without them. The ledger, the effects and the replies of our model are not modelled here either.
 */

#ifndef CARDS
#define CARDS 1
#endif
#ifndef CASES
#define CASES 1
#endif
#ifndef ATTEMPTS
#define ATTEMPTS 1
#endif

#define UNWRITTEN   0
#define ACTIVE      1
#define RESOLVING   2
#define RESOLVED    3
#define DECLINED    4
#define DISMISSED   5
#define INVALIDATED 6
#define EXPIRED     7
#define FAILED      8

byte status[CARDS];
byte about[CARDS];    /* the case of each card, in the order in which the cards were presented */
bool blocking[CARDS];
bool stale[CARDS];    /* bound to an older revision than that of its case; in flight: the case has moved since */
bool due[CARDS];      /* the deadline is past */
byte attempts[CARDS]; /* the commands that it became */
bool opened[CASES];

byte each, other;     /* to walk over the cards within one step; nothing between two steps */

/* ---- What can be asked ---- */

#define IS_OPEN(I)     (status[I] == ACTIVE || status[I] == RESOLVING)
#define IS_OVERDUE(I)  (status[I] == ACTIVE && due[I])
#define IS_FRESH(I)    (status[I] == ACTIVE && !due[I] && !stale[I])
#define IS_PENDING(I)  (IS_OPEN(I) && !due[I])
#define OCCUPIES(I, K) (blocking[I] && about[I] == K)

#if CARDS == 1
#define IS_NEXT(I)     (status[0] == UNWRITTEN)
#define IS_FREE(K)     (!OCCUPIES(0, K))
#define ONE_PENDS      (IS_PENDING(0))
#elif CARDS == 2
#define IS_NEXT(I)     (status[I] == UNWRITTEN && (I == 0 || status[0] != UNWRITTEN))
#define IS_FREE(K)     (!OCCUPIES(0, K) && !OCCUPIES(1, K))
#define ONE_PENDS      (IS_PENDING(0) || IS_PENDING(1))
#elif CARDS == 3
#define IS_NEXT(I)     (status[I] == UNWRITTEN && (I == 0 || status[I - (I > 0)] != UNWRITTEN))
#define IS_FREE(K)     (!OCCUPIES(0, K) && !OCCUPIES(1, K) && !OCCUPIES(2, K))
#define ONE_PENDS      (IS_PENDING(0) || IS_PENDING(1) || IS_PENDING(2))
#else
#error "write down what can be asked of so many cards"
#endif

/* ---- What moves ----
 *
 * A variable of a loop is put back after it, so that it makes no difference between two states.
 */

/* L1, L2: a card goes along the table, from what it is said to be; nothing of it but the status is left at its end. */
inline finish(card, before, after) {
    assert(status[card] == before && (before == ACTIVE || (before == RESOLVING && (after == RESOLVED || after == FAILED))));
    status[card] = after; blocking[card] = false; stale[card] = false; due[card] = false; attempts[card] = 0
}

/* I13.1, I19.5: only what is fresh is answered. */
inline take(card, after) {
    assert(IS_FRESH(card));
    if
    :: after == RESOLVING -> status[card] = RESOLVING; attempts[card]++
    :: else -> finish(card, ACTIVE, after)
    fi
}

/* I5.1: a case has one open question. */
inline present(card, key, blocks) {
    status[card] = ACTIVE; about[card] = key; blocking[card] = blocks;
    for (other : 0 .. CARDS - 1) {
        assert(other == card || !blocks || !OCCUPIES(other, key))
    }
    other = 0
}

/* A case has moved: what is open is bound to an older revision now. */
inline advance(key) {
    for (each : 0 .. CARDS - 1) {
        stale[each] = stale[each] || (IS_OPEN(each) && about[each] == key)
    }
    each = 0
}

/* I13.3: what can be answered and is stale is invalidated; what is in flight is spared. */
inline sweep(key) {
    for (each : 0 .. CARDS - 1) {
        if
        :: status[each] == ACTIVE && stale[each] && about[each] == key -> finish(each, ACTIVE, INVALIDATED)
        :: else
        fi
    }
    each = 0
}

inline expire_due() {
    for (each : 0 .. CARDS - 1) {
        if
        :: IS_OVERDUE(each) -> finish(each, ACTIVE, EXPIRED)
        :: else
        fi
    }
    each = 0
}

inline let_time_pass() {
    for (each : 0 .. CARDS - 1) {
        due[each] = due[each] || IS_OPEN(each)
    }
    each = 0
}

/* ---- What can happen ---- */

/* The record is edited; a card is presented, where the slot is free if it blocks, or in the place of what expires or gives way. */
#define CASE(K)                                                                                           \
    :: d_step { !opened[K] -> opened[K] = true }                                                          \
    :: d_step { opened[K] -> advance(K); sweep(K) }

#define PRESENT(I, K)                                                                                     \
    :: d_step { opened[K] && IS_NEXT(I) -> present(I, K, false) }                                         \
    :: d_step { opened[K] && IS_NEXT(I) && IS_FREE(K) -> present(I, K, true) }

#define PRESENT_IN_PLACE(I, J, K)                                                                         \
    :: d_step { IS_NEXT(I) && OCCUPIES(J, K) && IS_OVERDUE(J) -> finish(J, ACTIVE, EXPIRED); present(I, K, true) } \
    :: d_step { IS_NEXT(I) && OCCUPIES(J, K) && status[J] == ACTIVE -> finish(J, ACTIVE, INVALIDATED); present(I, K, true) }

/* An answer is taken, or finds the card overdue or stale; a sweep of the system's own may also reach a single card (L7).
 * A command commits; fails, for one reason or another; or gives the card back, before or after its case is swept (I13.6). */
#define CARD(I)                                                                                           \
    :: d_step { IS_FRESH(I) && attempts[I] < ATTEMPTS -> take(I, RESOLVING) }                             \
    :: d_step { IS_FRESH(I) -> take(I, DECLINED) }                                                        \
    :: d_step { IS_FRESH(I) -> take(I, DISMISSED) }                                                       \
    :: d_step { IS_OVERDUE(I) -> finish(I, ACTIVE, EXPIRED) }                                                \
    :: d_step { status[I] == ACTIVE && stale[I] && !due[I] -> finish(I, ACTIVE, INVALIDATED) }               \
    :: d_step { status[I] == RESOLVING && !stale[I] ->                                                    \
                finish(I, RESOLVING, RESOLVED); advance(about[I]); sweep(about[I]) }                         \
    :: d_step { status[I] == RESOLVING -> finish(I, RESOLVING, FAILED) }                                     \
    :: d_step { status[I] == RESOLVING -> status[I] = ACTIVE; sweep(about[I]) }                           \
    :: d_step { status[I] == RESOLVING -> status[I] = ACTIVE }

active proctype CardWorld() {
end:
    do
    :: d_step { IS_OVERDUE(0) -> expire_due() }
    :: d_step { ONE_PENDS -> let_time_pass() }
    CASE(0)
    CARD(0)
    PRESENT(0, 0)
#if CARDS > 1
    CARD(1)
    PRESENT(1, 0)
    PRESENT_IN_PLACE(1, 0, 0)
#endif
#if CARDS > 2
    CARD(2)
    PRESENT(2, 0)
    PRESENT_IN_PLACE(2, 0, 0)
    PRESENT_IN_PLACE(2, 1, 0)
#endif
#if CASES > 1
    CASE(1)
    PRESENT(0, 1)
#if CARDS > 1
    PRESENT(1, 1)
    PRESENT_IN_PLACE(1, 0, 1)
#endif
#if CARDS > 2
    PRESENT(2, 1)
    PRESENT_IN_PLACE(2, 0, 1)
    PRESENT_IN_PLACE(2, 1, 1)
#endif
#endif
#if CASES > 2
#error "write down what happens in the other cases"
#endif
    od
}
