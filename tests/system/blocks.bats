#!/usr/bin/env bats
# The collectives that gather, scatter, exchange, combine and scan: every result is right, for
# several types and counts, in place and not, and ranks die between the calls. blocks_app checks
# each result against the failed set that the library reports.

setup() {
    local name
    for name in $(compgen -v FTCOLL_); do unset "$name"; done
    if [ -n "${ALGORITHM:-}" ]; then export FTCOLL_COLLECTIVES_ALGORITHM=$ALGORITHM; fi
}

# Runs the app; each of SURVIVORS ranks comes to its end.
run_app() { # NP SURVIVORS COUNT [RANK CALL]
    local np=$1 survivors=$2
    shift 2
    run timeout -s KILL 120 "$FTRUN" -np "$np" -f $((np > 1)) "$BLOCKS_APP" "$@"
    echo "np $np, $*: exit code $status: $output"
    [ "$status" -eq 0 ]
    [ "$(grep -c ' calls$' <<<"$output")" -eq "$survivors" ]
}

@test "a job of one rank: every operation gives its own input" {
    local count
    for count in 0 1 1000 100000; do run_app 1 1 "$count"; done
}

@test "every rank has the blocks of all, and combines in the order of ranks" {
    local np count
    for np in 2 3 4 7; do
        for count in 0 1 3 1000; do run_app "$np" "$np" "$count"; done
    done
}

@test "large blocks: more than one block of the board, more than one fragment of a message" {
    run_app 2 2 100000
    run_app 3 3 100000
    run_app 4 4 20000
}

@test "a rank dies before some call: its places are as they were, at every survivor" {
    local call
    for call in 0 1 2 3 4 5 6 7 9 12 30 64 67 70 82 99; do run_app 4 3 3 "$((call % 4))" "$call"; done
    for call in 1 3 6 40 66 81; do run_app 7 6 1000 3 "$call"; done
    for call in 8 15 31 69; do run_app 3 2 20000 1 "$call"; done
}
