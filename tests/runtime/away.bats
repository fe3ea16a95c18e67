#!/usr/bin/env bats
# Progress while callers are away.

@test "an answer queued behind a large message does not wait for the callers" {
    FTCOLL_TEST_DIE=0@send:3 run timeout -s KILL 60 "$FTRUN" -np 6 -f 1 "$AWAY_APP" 8
    [ "$status" -eq 0 ]
    slowest=$(printf '%s\n' "$output" | sed -n 's/^took //p' | sort -n | tail -n 1)
    echo "slowest allreduce: $slowest s"
    # The callers are away for 8 s; the answer may take some heartbeats (250 ms) on a busy machine, no more.
    awk -v slowest="$slowest" 'BEGIN { exit !(slowest < 4) }'
}

@test "a child made by fork may not use the communicator, and does no harm" {
    run timeout -s KILL 60 "$FTRUN" -np 2 "$FORK_APP"
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output == *"a child made by fork() is not part of the job"* ]]
}
