#!/usr/bin/env bats
# Large allreduces across nodes, round the ring. Each node is an ftrun that another one has started,
# all on this machine.
# shellcheck disable=SC2154 # bats sets variables

bats_require_minimum_version 1.5.0

load ../launcher/helper

# nodes N [options] program: runs a job of N nodes.
nodes() {
    local count=$1
    shift
    run timeout -s KILL 120 "$FTRUN" --engine local -np "$count" "$FTRUN" --engine pmix "$@"
    echo "exit code $status: $output"
}

# Prints how many bytes the busiest rank has sent, in a job with the given setting.
most_bytes() {
    nodes 4 -np 8 --set "collectives.large=$1" --report "$BATS_TEST_TMPDIR/report" "$PERF" -m 1M -i 3 -w 1 allreduce
    [ "$status" -eq 0 ]
    most=$(jq '[.ranks[].counters.bytes] | max' "$BATS_TEST_TMPDIR/report")
}

@test "the ring is what a job of several nodes takes for large values, and no rank sends as much as before" {
    most_bytes off
    grep -q "algorithm exchange" <<<"$output"
    local off=$most
    most_bytes auto
    grep -q "algorithm ring" <<<"$output"
    [ "$most" -lt "$off" ]
    nodes 4 -np 8 "$PERF" -m 1K -i 3 -w 1 allreduce
    grep -q "algorithm levels" <<<"$output"
}

@test "ranks die during large allreduces: the others have the right sums" {
    nodes 4 -np 16 -f 1 "$PERF" -m 1M --kill 4 allreduce
    [ "$status" -eq 0 ]
}

@test "the ranks of a node gather in the memory that they share, also where nodes are uneven and ranks die" {
    nodes 2 -np 6 --set collectives.large_at=1 "$PERF" -m 8:256K -t 0.05 allgather
    [ "$status" -eq 0 ]
    grep -q "algorithm ring" <<<"$output"
    nodes 3 -np 8 -f 1 --set collectives.large_at=1 "$PERF" -m 64K --kill 2 allgather
    [ "$status" -eq 0 ]
}

@test "a job of one node goes round the ring when it is told to" {
    run timeout -s KILL 120 "$FTRUN" -np 5 --set collectives.algorithm=corrected --set collectives.large=ring \
        --set collectives.large_at=1 "$PERF" -m 8:64K -t 0.05 allreduce
    echo "exit code $status: $output"
    [ "$status" -eq 0 ]
}

@test "ranks in different collectives: the job ends with 116, and a line says who called what" {
    local what
    for what in bcast bcast-from-here reduce reduce-to-here barrier validate count type operator finalize; do
        run timeout -s KILL 60 "$FTRUN" -np 6 --timeout 30 --set collectives.algorithm=corrected \
            --set collectives.large=ring --set collectives.large_at=1 "$WRONG_APP" mismatch "$what"
        echo "$what: exit code $status: $output"
        [ "$status" -eq 116 ]
        grep -q "rank . is in .*, rank . in " <<<"$output"
        [ "$(grep -c "came through" <<<"$output")" -eq 0 ]
    done
}

# Some ranks have 8 bytes, which are large and go round the ring. The others have 4 bytes, which are
# not large.
@test "large for some and small for others: 116" {
    run timeout -s KILL 60 "$FTRUN" -np 6 --timeout 30 --set collectives.algorithm=corrected \
        --set collectives.large=ring --set collectives.large_at=5 "$WRONG_APP" mismatch count
    [ "$status" -eq 116 ]
    grep -q "rank . is in .*, rank . in " <<<"$output"
}
