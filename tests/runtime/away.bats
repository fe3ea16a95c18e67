#!/usr/bin/env bats
# Progress goes on while callers are away.

# In this job the callers are away for SECONDS after an allreduce, in which the rank that DEATH
# names dies. Its slowest allreduce may take at most half of SECONDS.
quick_while_away() { # ALGORITHM SECONDS DEATH
    FTCOLL_TEST_DIE=$3 run timeout -s KILL 60 "$FTRUN" -np 6 -f 1 --set collectives.algorithm="$1" "$AWAY_APP" "$2"
    [ "$status" -eq 0 ]
    slowest=$(printf '%s\n' "$output" | sed -n 's/^took //p' | sort -n | tail -n 1)
    echo "slowest allreduce: $slowest s"
    # On a busy machine an answer may take some heartbeats (250 ms), but no more.
    awk -v slowest="$slowest" -v away="$2" 'BEGIN { exit !(slowest != "" && slowest < away / 2) }'
}

@test "an answer queued behind a large message does not wait for the callers" {
    quick_while_away corrected 8 0@send:3
}

@test "... nor does it by TCP, where heartbeats, which look as well, are rare" {
    export FTCOLL_TRANSPORT_ORDER=tcp FTCOLL_DETECTOR_HEARTBEAT_PERIOD_MS=20000 FTCOLL_DETECTOR_HEARTBEAT_TIMEOUT_MS=60000
    quick_while_away corrected 8 0@send:3
}

@test "on the board nobody waits for the callers, also if one dies after its post" {
    quick_while_away board 4 0@send:1
}

@test "a child made by fork may not use the communicator, and does no harm" {
    local algorithm
    for algorithm in board corrected; do
        run timeout -s KILL 60 "$FTRUN" -np 2 --set collectives.algorithm=$algorithm "$FORK_APP"
        echo "$output"
        [ "$status" -eq 0 ]
        [[ $output == *"a child made by fork() is not part of the job"* ]]
    done
}

# A sleep ends at each heartbeat, in case a ring was lost. A caller that nothing has woken sleeps on
# at once: it gives way up to a thousand times before it first sleeps, and then only if it is woken.
@test "a caller that waits in vain sleeps, also while its heart beats" {
    local order # a board for shm, messages for tcp
    for order in shm tcp; do
        run timeout -s KILL 60 "$FTRUN" -np 2 --set transport.order=$order --set detector.heartbeat_period_ms=10 "$PATIENCE_APP" 4
        echo "$order: $output"
        [ "$status" -eq 0 ]
        [ "$(printf '%s\n' "$output" | sed -n 's/^gave way \([0-9]*\) times$/\1/p')" -le 20000 ]
    done
}
