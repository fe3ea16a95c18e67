#!/usr/bin/env bats
# Ranks that stand still while others wait for a result that does not need them (agreement.md, rule
# 2). The detector would take a minute to declare them failed, and a story has half a minute.

# Rank 1 is the head of the lowest subtree. It stops when it has told its group what it contributes.
reduce() { # TYPE [more options of ftrun]
    local type=$1
    shift
    FTCOLL_TEST_DIE=1@send:1=stop run timeout -s KILL 30 "$FTRUN" -np 7 -f 1 --set collectives.algorithm=corrected \
        --set detector.heartbeat_timeout_ms=60000 "$@" "$STRAGGLER_APP" "$type"
    echo "$output"
    [[ $output == *"the sum is 21"* ]]
}

@test "a sum of integers does not wait for a head that stands still" {
    reduce int --set detector.heartbeat_period_ms=30000 # nor for two heartbeat periods
}

@test "a sum of floating-point numbers waits for it, but not until it is declared failed" {
    reduce double
}

@test "with take = lowest it waits until the head is declared failed" {
    reduce int --set reduce.take=lowest --set detector.heartbeat_timeout_ms=1500
    [[ $output == *"1 of 7 ranks failed (1)"* ]]
}

@test "with take = first nothing waits for it" {
    reduce double --set reduce.take=first --set detector.heartbeat_period_ms=30000
}
