#!/usr/bin/env bats
# This file counts messages in the running system (agreement.md, "Cost without failures").
# shellcheck disable=SC2154 # set by bats and ctest

setup() {
    export TMPDIR="$BATS_TEST_TMPDIR"
    local name
    for name in $(compgen -v FTCOLL_); do unset "$name"; done
}

launch() { # ftrun arguments
    timeout -s KILL 60 "$FTRUN" --set collectives.algorithm=corrected "$@"
}

up_messages() { # N F
    local a=$((($1 - 1) % ($2 + 1) + 1))
    echo $(($2 * ($2 + 1) * (($1 - 1) / ($2 + 1)) + a * (a - 1)))
}

# Checks the counters of the whole job. They hold 3 rounds of reduce, allreduce, barrier, validate
# and bcast, then one allreduce, and the barrier of ftc_finalize.
check_totals() { # N F COLLECTS
    local decided=14 collected=14
    if [ "$3" -eq 1 ]; then collected=17; fi
    jq -e --argjson up $(($(up_messages "$1" "$2") * collected)) --argjson most $((($1 - 1) * collected)) \
        --argjson least $((($1 - 1) * 3)) --argjson decide $((($1 - 1) * decided)) '
        [.ranks[].counters.sent] | {UP: (map(.UP) | add), TREE: (map(.TREE) | add), DECIDE: (map(.DECIDE) | add),
            other: (map(.PREPARE + .POKE + .PULL) | add)} | debug
        | .UP == $up and .TREE <= $most and .TREE >= $least and .DECIDE == $decide and .other == 0' \
        "$TMPDIR/report.json"
}

@test "without failures: every operation costs what the formula says, finalize's barrier too" {
    for n in 2 3 5 8 13 16 32; do
        for f in 0 1 2 3 7; do
            [ "$f" -lt "$n" ] || continue
            echo "np $n f $f"
            launch -np "$n" -f "$f" --set broadcast.settle_every=0 --report "$TMPDIR/report.json" "$COUNTS_APP" healthy 0
            check_totals "$n" "$f" 0
        done
    done
}

@test "without failures: a broadcast that collects costs as much as an allreduce" {
    for n in 4 9; do
        for f in 0 1 3; do
            launch -np "$n" -f "$f" --set broadcast.settle_every=1 --report "$TMPDIR/report.json" "$COUNTS_APP" healthy 1
            check_totals "$n" "$f" 1
        done
    done
}

@test "without failures: other trees and rotations cost the same" {
    for setting in broadcast.tree=kary broadcast.tree=lame reduce.arity=3 reduce.direct=1 collectives.rotation=spread \
        failure_info.scheme=count failure_info.scheme=bit; do
        echo "$setting"
        launch -np 13 -f 2 --set broadcast.settle_every=0 --set "$setting" "$COUNTS_APP" healthy 0
    done
}

@test "after a death that was agreed upon: the cost of a job without the dead, and nobody waits for them" {
    # The dead are the coordinator, a rank in the middle, the last rank, and three ranks together.
    for dead in 0x1 0x8 0x1000 0x1009 0x6; do
        for f in 0 1 3; do
            echo "dead $dead f $f"
            launch -np 13 -f "$f" --set broadcast.settle_every=0 "$COUNTS_APP" after "$dead"
        done
    done
}

@test "a reduce with failures never sends more than one without" {
    for orders in 0@call 3@call 0@send:1 0@send:2 3@send:1 3@send:2 2@send:1,3@call 0@call,1@call,2@call,3@call; do
        dead=0
        for order in ${orders//,/ }; do dead=$((dead | 1 << ${order%%@*})); done
        for f in 1 3; do
            echo "$orders f $f"
            FTCOLL_TEST_DIE="$orders" launch -np 9 -f "$f" "$COUNTS_APP" reduce "$dead"
        done
    done
}

# One rank dies in each up-correction group, so that every TREE reports a failure.
@test "the dead stay in the view (share = off): list costs more bytes than count, and count more than bit" {
    declare -A bytes
    for scheme in list count bit; do
        bytes[$scheme]=$(launch -np 64 -f 7 --set failure_info.share=off --set broadcast.settle_every=0 \
            --set failure_info.scheme="$scheme" "$COUNTS_APP" bytes 0x8080808080808)
        echo "$scheme: ${bytes[$scheme]} bytes"
    done
    [ "${bytes[list]}" -gt "${bytes[count]}" ]
    [ "${bytes[count]}" -gt "${bytes[bit]}" ]
}
