#!/usr/bin/env bats
# Jobs that cannot see each other's processes: without /proc, and in pid namespaces that share
# /dev/shm. CTest runs this file through own_shm.
# shellcheck disable=SC2016,SC2030,SC2031,SC2153,SC2154 # commands for other shells; bats runs tests in subshells and sets variables

load ../launcher/helper

# Hides /proc behind an almost empty one. Sanitizers read their options from /proc/self, and their
# check for leaks needs the rest.
export HIDE_PROC='mount -t tmpfs none /proc && mkdir /proc/self &&
    printf "ASAN_OPTIONS=detect_leaks=0:%s\\0" "$ASAN_OPTIONS" >/proc/self/environ'

needs_namespaces() {
    [ -n "$OWN_SHM" ] || skip "needs root, to mount a /dev/shm of its own"
    unshare -m -p -f --mount-proc true || skip "no pid namespaces here"
}

# Runs a command that finds nothing in /proc.
blind() {
    unshare -m sh -c 'eval "$HIDE_PROC" && exec "$@"' sh "$@"
}

waiting_job() {
    start -np 2 sh -c 'echo ready; until [ -e stop ]; do sleep 0.02; done'
    wait_until '[ "$(grep -c ready out)" -eq 2 ]'
}

job_is_untouched() {
    [ -n "$(segments_of "$pid")" ] || { echo "its segment is gone"; return 1; }
    [ -n "$(ls "$TMPDIR"/ftcoll-*/)" ] || { echo "its directory is gone"; return 1; }
    : >stop
    finish
    [ "$status" -eq 0 ]
    nothing_left "$pid"
}

@test "ftcoll-status --gc without /proc leaves a live job alone" {
    needs_namespaces
    waiting_job
    run blind "$STATUS" --gc
    echo "$output"
    [[ "$output" == *"removed 0"* || "$output" == "no "* ]]
    job_is_untouched
}

@test "a new job without /proc leaves a live job alone, and runs" {
    needs_namespaces
    waiting_job
    run blind "$FTRUN" -np 2 true
    echo "$output"
    [ "$status" -eq 0 ]
    job_is_untouched
}

@test "ftcoll-status sees from another pid namespace whether the launcher lives" {
    needs_namespaces
    waiting_job
    there() { unshare -p -f --mount-proc "$STATUS" --json | jq -c '[.jobs[].launcher_alive]'; }
    [ "$(there)" = '[true]' ]
    kill -KILL "$pid"
    finish
    [ "$(there)" = '[false]' ]
    run unshare -p -f --mount-proc "$STATUS" --gc
    nothing_left "$pid"
}

@test "ranks that cannot see their launcher in /proc stay" {
    needs_namespaces
    run "$FTRUN" -np 2 unshare -m sh -c 'eval "$HIDE_PROC" && exec "$LOOP_APP" pace 1'
    echo "$output"
    [ "$status" -eq 0 ]
}

@test "such ranks leave when it is killed" {
    needs_namespaces
    start -np 2 unshare -m sh -c '
        eval "$HIDE_PROC"; setsid "$LOOP_APP" pace 100 & echo $! >>pids; echo ready; wait'
    wait_until '[ "$(grep -c ready out)" -eq 2 ]'
    wait_until '"$STATUS" --json | jq -e "[.jobs[].ranks[].state] | all(. == \"joined\")" >/dev/null'
    kill -KILL "$pid"
    finish
    # shellcheck disable=SC2046
    wait_until 'gone $(cat pids)'
    run "$STATUS" --gc
    nothing_left "$pid"
}

@test "a rank in a pid namespace of its own is refused with the reason" {
    needs_namespaces
    run "$FTRUN" -np 2 unshare -p -f --mount-proc "$LOOP_APP" pace 1
    echo "$output"
    [ "$status" -ne 0 ]
    [[ "$output" == *"another pid namespace than its ftrun"* ]]
}

@test "a rank that ftrun cannot look at is declared only after it has ended" {
    needs_namespaces
    printf '#!/bin/sh\nif [ "$FTCOLL_RANK" = 0 ]; then
        setsid sh -c '\''exec 9>life; flock 9; exec "$JOIN_PROBE" survive 9'\'' & sleep 1; exit 1
    fi
    "$JOIN_PROBE" survive 1; flock -n life true || echo "rank 0 lives"; exit 0\n' >program
    chmod +x program
    run blind "$FTRUN" -np 2 ./program
    echo "$output"
    [[ "$output" == *"rank 0 failed"* ]]
    [[ "$output" != *"rank 0 lives"* ]]
}

@test "of jobs in pid namespaces that share /dev/shm none dies of another, and nothing is left" {
    needs_namespaces
    "$BATS_TEST_DIRNAME/crowd" 4 6
}
