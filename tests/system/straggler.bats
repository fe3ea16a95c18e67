#!/usr/bin/env bats
# Ranks that stand still while others wait for a result that does not need them (agreement.md, rule
# 2). The detector would take a minute to declare them failed, and a story has half a minute.

# shellcheck disable=SC2153 # ctest sets STATUS

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

teardown() {
    [ -z "${pid:-}" ] || kill -KILL "$pid" 2>/dev/null || true
}

# look FILTER: asks for --json of the job until jq's FILTER holds, at most 30 s.
look() {
    local end=$((SECONDS + 30)) job
    until job=$(find /dev/shm -maxdepth 1 -name "ftcoll-$(id -u)-$pid.*" | sed 's/.*-//') && [ -n "$job" ] &&
        "$STATUS" --json "$job" >"$json"; jq -ne "input.jobs[0] | $1" "$json" >/dev/null; do
        [ "$SECONDS" -lt "$end" ] || { echo "in vain: $1"; jq -c .jobs "$json"; return 1; }
        sleep 0.05
    done
}

pid_of() { # RANK
    jq ".jobs[0].ranks[$1].pid" "$json"
}

@test "a message that lies there when the wait for it ends still counts" {
    json=$BATS_TEST_TMPDIR/json report=$BATS_TEST_TMPDIR/report
    FTCOLL_TEST_DIE=1@send:1=stop "$FTRUN" -np 7 -f 1 --set collectives.algorithm=corrected --report "$report" \
        --set detector.heartbeat_timeout_ms=60000 --set detector.heartbeat_period_ms=2000 "$STRAGGLER_APP" double \
        >"$json.out" 2>&1 3>&- &
    pid=$!
    look '.ranks[0].activity.waits_for_rank == 1'
    kill -STOP "$(pid_of 0)" # its wait ends after two heartbeat periods
    kill -CONT "$(pid_of 1)"
    look '.ranks[1].returned == 1'
    sleep 4
    kill -CONT "$(pid_of 0)"
    wait "$pid" || true
    pid=
    cat "$json.out"
    grep -q "the sum is 21" "$json.out"
    [ "$(jq '.ranks[0].counters.rules["leave a straggler"]' "$report")" -eq 0 ]
}
