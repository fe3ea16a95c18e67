#!/usr/bin/env bats
# Operations over two levels (docs/design/nodes.md). Here nodes are agents of one machine. FTRUN,
# PERF, LOOP, WRONG_APP, FORGE_APP and SUMS_APP come from ctest.
# shellcheck disable=SC2016,SC2153,SC2154 # commands for ranks; bats sets variables

bats_require_minimum_version 1.5.0

load ../launcher/helper

# nodes N [ftrun's options] program: runs a job in the foreground; $output gets what ranks and ftrun
# print.
nodes() {
    local count=$1
    shift
    run timeout -s KILL 100 "$FTRUN" --engine local -np "$count" "$FTRUN" --engine pmix "$@"
    echo "$output"
}

# quiet_nodes: as nodes, but heartbeats come so seldom that they make good for no lost ring.
quiet_nodes() {
    nodes "$1" --timeout 20 --set detector.heartbeat_period_ms=30000 \
        --set detector.heartbeat_timeout_ms=600000 "${@:2}"
}

# survivors N: N ranks came to the end.
survivors() {
    [ "$(grep -c "^rank .*: the sum of" <<<"$output")" -eq "$1" ]
}

# sent RANK: prints how many messages of the agreement core the rank sent, by the report.
sent() {
    jq "[.ranks[] | select(.rank == $1) | .counters.sent[]] | add" report.json
}

# took RULE: prints how often ranks took the rule.
took() {
    jq "[.ranks[].counters.rules[\"$1\"] // 0] | add" report.json
}

@test "delegates alone talk to other nodes" {
    nodes 2 -np 6 --report report.json "$LOOP" 300
    [ "$status" -eq 0 ]
    survivors 6
    local rank
    for rank in 0 3; do [ "$(sent "$rank")" -gt 300 ]; done
    for rank in 1 2 4 5; do [ "$(sent "$rank")" -eq 0 ]; done
}

@test "the root of a broadcast or a reduce talks for its node, and whoever is not it or a delegate is silent" {
    nodes 2 -np 6 --report report.json "$PERF" -m 8 -i 20 bcast reduce
    [ "$status" -eq 0 ]
    local rank
    for rank in 0 3; do [ "$(sent "$rank")" -gt 40 ]; done
    for rank in 1 2 4 5; do [ "$(sent "$rank")" -eq 0 ]; done
}

# bats test_tags=optimised
@test "every operation, of any size, and by messages among all" {
    nodes 3 -np 8 "$PERF" -m 8:512K -i 20 all
    [ "$status" -eq 0 ]
    run ! grep -q warn <<<"$output"
    nodes 3 -np 8 --set collectives.levels=1 --report report.json "$LOOP" 100
    [ "$status" -eq 0 ]
    survivors 8
    [ "$(sent 1)" -gt 0 ]
}

@test "when delegates die, others take over, and nobody's input is lost" {
    nodes 3 -np 9 -f 2 --max-failures 5 --report report.json --kill 0@0.1 --kill 3@0.15 --kill 4@0.2 --kill 6@0.2 --kill 1@0.3 \
        "$LOOP" 800 1
    [ "$status" -eq 0 ]
    survivors 4
    [ "$(grep -c ", 5 failed$" <<<"$output")" -eq 4 ]
    [ "$(sent 2)" -gt 0 ]
    [ "$(sent 5)" -gt 0 ]
    [ "$(sent 8)" -eq 0 ]
}

@test "a delegate may die at any step" {
    local point
    for point in call:20 return:20 deliver:20 send:40 send:41 send:42 send:43 send:44 send:45; do
        export FTCOLL_TEST_DIE="0@$point,3@$point"
        nodes 2 -np 6 -f 1 --max-failures 2 "$LOOP" 60 1
        [ "$status" -eq 0 ]
        survivors 4
    done
}

@test "what two levels cannot do goes by messages among all" {
    local setting
    for setting in failure_info.scheme=bit failure_info.share=off integrity.mode=checksum; do
        nodes 2 -np 4 --set "$setting" "$LOOP" 30
        [ "$status" -eq 0 ]
        survivors 4
    done
}

@test "ranks in different collectives: the job ends with 116, and a line says who called what" {
    local what np
    for what in bcast bcast-from-here reduce reduce-to-here barrier validate count finalize; do
        # Rank 3 is the delegate of its node with one of these, and not with the other.
        for np in 6 8; do
            nodes 2 -np "$np" --timeout 30 "$WRONG_APP" mismatch "$what"
            [ "$status" -eq 116 ]
            grep -q "rank . is in .*, rank . in " <<<"$output"
            run ! grep -q "came through" <<<"$output"
        done
    done
}

@test "a decision word that cannot be ends the job with 115, and a line says so" {
    local what
    for what in status size; do
        nodes 2 -np 4 --timeout 30 "$FORGE_APP" "$what"
        [ "$status" -eq 115 ]
        grep -q "the node segment is damaged: " <<<"$output"
        run ! grep -q "came through" <<<"$output"
    done
}

@test "a post that cannot be has its owner fenced, and the others go on" {
    nodes 2 -np 6 -f 1 --max-failures 1 --timeout 30 "$FORGE_APP" post
    [ "$status" -eq 0 ]
    grep -q "rank 1 failed: sent damaged data, killed" <<<"$output"
}

@test "a rank whose own mark was changed leaves, and the others go on" {
    nodes 2 -np 6 -f 1 --max-failures 1 --timeout 30 "$FORGE_APP" mark
    [ "$status" -eq 0 ]
    grep -q "rank 1 failed: exited with code 117" <<<"$output"
}

@test "a rank that lags finds that its sum is taken, though others have gone on by all places" {
    nodes 2 -np 6 --timeout 30 --set broadcast.settle_every=100 "$SUMS_APP" lag
    [ "$status" -eq 0 ]
    [ "$(grep -c "came through" <<<"$output")" -eq 6 ]
}

@test "a delegate that computes sends the sum when the last rank of its node has come" {
    quiet_nodes 2 -np 6 "$SUMS_APP" late "$PWD/done"
    [ "$status" -eq 0 ]
    [ "$(grep -c "came through" <<<"$output")" -eq 6 ]
}

@test "a rank that comes late to a reduce wakes the root of a broadcast that waits for it" {
    quiet_nodes 2 -np 8 "$SUMS_APP" ahead
    [ "$status" -eq 0 ]
    [ "$(grep -c "came through" <<<"$output")" -eq 8 ]
}

@test "the senders of a reduce go on, and their sums come though delegates die and nobody is in a call" {
    local point
    for point in call:2 return:2 return:5 return:12 send:1 send:2 send:3 send:7 send:8 send:9 send:20; do
        rm -f done
        export FTCOLL_TEST_DIE="0@$point,3@$point,4@$point"
        nodes 3 -np 9 -f 1 --max-failures 3 "$SUMS_APP" 12 "$PWD/done"
        [ "$status" -eq 0 ]
        [ "$(grep -c "came through" <<<"$output")" -ge 6 ]
    done
}

@test "the root of reduces dies, and its senders go on" {
    export FTCOLL_TEST_DIE="8@call:7"
    nodes 3 -np 9 -f 1 --max-failures 1 --report report.json "$SUMS_APP" 40 /dev/null
    [ "$status" -eq 0 ]
    [ "$(grep -c "came through" <<<"$output")" -eq 8 ]
}
