/* Two-phase commit, as in keyturn_testing/two_phase.py: the same states and the same steps, N resource managers.
 *
 *   spin -DN=8 -a two_phase.pml && gcc -O2 -DSAFETY -DNOREDUCE -o pan pan.c && ./pan
 *
 * One process with one place of control: each alternative is one step and leads back to it, so a stored state is exactly the
 * value of the variables, and SPIN neither needs nor finds any state between two steps.
 */

#ifndef N
#define N 3
#endif

#define WORKING   0
#define PREPARED  1
#define COMMITTED 2
#define ABORTED   3
#define EVERYBODY ((1 << N) - 1)

byte status[N];       /* of each resource manager */
unsigned manager : 2; /* the transaction manager: undecided is WORKING */
unsigned heard : N;   /* of whom the transaction manager has heard that it is prepared */
unsigned sent : N;    /* whose message that it is prepared is under way for ever */
bool commit, abort;   /* the messages of the transaction manager */

#define RESOURCE_MANAGER(I)                                                                      \
    :: d_step { status[I] == WORKING -> status[I] = PREPARED; sent = sent | (1 << I) }            \
    :: d_step { status[I] == WORKING -> status[I] = ABORTED }                                     \
    :: d_step { manager == WORKING && (sent & (1 << I)) -> heard = heard | (1 << I) }             \
    :: d_step { commit -> status[I] = COMMITTED }                                                 \
    :: d_step { abort -> status[I] = ABORTED }

active proctype TwoPhase() {
end:
    do
    :: d_step { manager == WORKING && heard == EVERYBODY -> manager = COMMITTED; commit = true }
    :: d_step { manager == WORKING -> manager = ABORTED; abort = true }
    RESOURCE_MANAGER(0)
#if N > 1
    RESOURCE_MANAGER(1)
#endif
#if N > 2
    RESOURCE_MANAGER(2)
#endif
#if N > 3
    RESOURCE_MANAGER(3)
#endif
#if N > 4
    RESOURCE_MANAGER(4)
#endif
#if N > 5
    RESOURCE_MANAGER(5)
#endif
#if N > 6
    RESOURCE_MANAGER(6)
#endif
#if N > 7
    RESOURCE_MANAGER(7)
#endif
#if N > 8
#error "write down the other resource managers"
#endif
    od
}
