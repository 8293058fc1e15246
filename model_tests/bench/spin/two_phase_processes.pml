/* Two-phase commit with a process for each resource manager, whose status is its place of control.
 *
 * It has the states of two_phase.pml. It is here for partial-order reduction, which needs processes: what one process does alone
 * need not be tried in every order with what the others do. Here little is done alone, because every message stays for ever
 * and can be read at any time.
 */

#ifndef N
#define N 3
#endif

bool prepared[N]; /* the messages of the resource managers */
bool commit, abort; /* the messages of the transaction manager */

active [N] proctype ResourceManager() {
working:
    if
    :: d_step { true -> prepared[_pid] = true } -> goto is_prepared
    :: true -> goto is_aborted
    :: commit -> goto is_committed
    :: abort -> goto is_aborted
    fi;
is_prepared:
    if
    :: commit -> goto is_committed
    :: abort -> goto is_aborted
    fi;
is_committed:
end_committed:
    if
    :: commit -> goto is_committed
    :: abort -> goto is_aborted
    fi;
is_aborted:
end_aborted:
    if
    :: commit -> goto is_committed
    :: abort -> goto is_aborted
    fi
}

#define HEAR(I) :: d_step { prepared[I] -> heard = heard | (1 << I) }

active proctype TransactionManager() {
    unsigned heard : N;
undecided:
    if
    :: d_step { heard == ((1 << N) - 1) -> commit = true } -> goto end_decided
    :: d_step { true -> abort = true } -> goto end_decided
    HEAR(0) -> goto undecided
#if N > 1
    HEAR(1) -> goto undecided
#endif
#if N > 2
    HEAR(2) -> goto undecided
#endif
#if N > 3
    HEAR(3) -> goto undecided
#endif
#if N > 4
    HEAR(4) -> goto undecided
#endif
#if N > 5
    HEAR(5) -> goto undecided
#endif
#if N > 6
    HEAR(6) -> goto undecided
#endif
#if N > 7
    HEAR(7) -> goto undecided
#endif
    fi;
end_decided:
    false
}
