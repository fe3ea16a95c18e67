#!/usr/bin/env bats
# Ranks that a PMIx launcher starts without ftrun. The first rank of each host starts an agent,
# which adopts the ranks of the host. The launcher belongs to these tests (pmix_launcher.c). All its
# hosts are this machine.
# shellcheck disable=SC2016,SC2030,SC2031,SC2034,SC2153,SC2154 # bats runs tests in subshells and sets variables

bats_require_minimum_version 1.8.0

load helper

# The common setup() unsets these variables. The timeout is short enough to wait for, and long
# enough for two busy cores.
adopting() {
    export FTCOLL_FTRUN=$FTRUN FTCOLL_DETECTOR_HEARTBEAT_TIMEOUT_MS=3000 FTCOLL_DETECTOR_HEARTBEAT_PERIOD_MS=100
    unset SLURM_JOB_ID SLURM_STEP_ID
}

# launch HOSTS RANKS_PER_HOST program: runs the launcher in the foreground.
launch() {
    adopting
    run timeout -s KILL 60 "$PMIX_LAUNCHER" "$@"
    echo "$output"
}

# ... and in the background. Its pid goes to $pid, its output to out and err.
start_launch() {
    adopting
    : >out
    : >err
    "$PMIX_LAUNCHER" "$@" >out 2>err </dev/null 3>&- &
    pid=$!
    started+=("$pid")
}

descendants() { # PID
    local one
    for one in $(pgrep -P "$1"); do
        echo "$one"
        descendants "$one"
    done
}

# Prints the process of rank RANK.
rank_pid() {
    local one
    for one in $(descendants "$pid"); do
        if grep -qz "^PMIX_RANK=$1$" "/proc/$one/environ" 2>/dev/null; then echo "$one"; fi
    done
}

# Prints the agents of this test. Their sockets are in its TMPDIR.
agents() {
    local one
    for one in $(pgrep -f -- "--engine=adopt"); do
        if grep -qz "^TMPDIR=$TMPDIR$" "/proc/$one/environ" 2>/dev/null; then echo "$one"; fi
    done
}

# Prints the agent of the host whose first rank is RANK.
agent_of() {
    local one
    for one in $(agents); do
        if grep -qz "^PMIX_RANK=$1$" "/proc/$one/environ"; then echo "$one"; fi
    done
}

# Has every rank joined the job, and returned from more than 20 operations?
is_going_on() { # RANKS
    own_jobs | jq -e "[.jobs[].ranks[] | select(.returned > 20)] | length >= $1" >/dev/null
}

all_gone() {
    wait_until '[ -z "$(agents)" ]'
    [ -z "$(ls -A "$TMPDIR")" ] || { ls -lR "$TMPDIR"; return 1; }
}

survived() { # RANKS SUM FAILED
    [ "$(grep -c "the sum of $1 ranks is $2, $3 failed" out)" -eq "$1" ]
}

teardown() {
    local one
    for one in "${started[@]}" $(agents); do kill -9 "$one" 2>/dev/null || true; done
    "$STATUS" --gc >/dev/null 2>&1 || true
}

@test "ranks of one host" {
    launch 1 3 "$LOOP" 50
    [ "$status" -eq 0 ]
    [ "$(grep -c "the sum of 3 ranks is 3, 0 failed" <<<"$output")" -eq 3 ]
    all_gone
}

@test "ranks of three hosts" {
    launch 3 2 "$LOOP" 50
    [ "$status" -eq 0 ]
    [ "$(grep -c "the sum of 6 ranks is 15, 0 failed" <<<"$output")" -eq 6 ]
    all_gone
}

@test "a job of one rank" {
    launch 1 1 "$LOOP" 50
    [ "$status" -eq 0 ]
    all_gone
}

@test "settings come from variables" {
    FTCOLL_JOB_F=9 launch 1 3 "$LOOP" 50
    [ "$status" -ne 0 ]
    grep -q "f is 9 (from FTCOLL_JOB_F) but there are only 3 ranks" <<<"$output"
}

@test "ranks are killed: the others go on, and the launcher tells" {
    start_launch 3 2 "$LOOP" 300 10
    wait_until 'is_going_on 2'
    kill -KILL "$(rank_pid 3)"
    finish
    cat out err
    [ "$status" -eq 137 ]
    survived 5 12 1
    [ "$(grep -c "rank 3 failed: " err)" -eq 1 ]
    [ "$(grep -c "1 of 6 ranks failed (3)" err)" -ge 1 ]
    all_gone
}

@test "the rank that started the agent is killed: the agent goes on" {
    start_launch 2 3 "$LOOP" 300 10
    wait_until 'is_going_on 3'
    kill -KILL "$(rank_pid 3)" "$(rank_pid 0)"
    finish
    cat out err
    survived 4 12 2
    all_gone
}

@test "all ranks of a host are killed: nobody waits for a timeout" {
    start_launch 3 2 "$LOOP" 300 10
    wait_until 'is_going_on 2'
    kill -KILL "$(rank_pid 4)" "$(rank_pid 5)"
    finish
    cat out err
    survived 4 6 2
    run ! grep -q "is lost" err
    all_gone
}

@test "ranks that are bound to a core leave the agent all of them" {
    [ "$(nproc)" -gt 1 ] || skip "one core"
    start_launch 1 2 taskset -c 0 "$LOOP" 300 10
    wait_until 'is_going_on 2'
    [ "$(taskset -p "$(rank_pid 0)")" != "$(taskset -p $$)" ]
    [ "$(taskset -p "$(agents)" | sed 's|.*: ||')" = "$(taskset -p $$ | sed 's|.*: ||')" ]
    finish
    [ "$status" -eq 0 ]
    all_gone
}

# bats test_tags=waits
@test "an agent is killed: its ranks end, the others go on" {
    start_launch 3 2 "$LOOP" 600 10
    wait_until 'is_going_on 2'
    kill -KILL "$(agent_of 2)"
    finish
    cat out err
    survived 4 10 2
    [ "$(grep -c "the launcher is gone" err)" -eq 2 ]
    grep -q "is lost: nothing came from it for 3.0 s" err
    wait_until '[ -z "$(agents)" ]'
}

# bats test_tags=waits
@test "an agent is stopped for long: its ranks are killed when it goes on" {
    start_launch 3 2 "$LOOP" 800 10
    wait_until 'is_going_on 2'
    victim=$(agent_of 2)
    kill -STOP "$victim"
    wait_until 'grep -q "is lost" err'
    kill -CONT "$victim"
    finish
    cat out err
    survived 4 10 2
    all_gone
}

@test "all ranks and agents are killed: nothing lives on" {
    start_launch 2 2 "$LOOP" 100000 10
    wait_until 'is_going_on 2'
    # shellcheck disable=SC2046 # words
    kill -KILL $(descendants "$pid" | grep -vxF "$(pgrep -P "$pid")") $(agents)
    finish
    [ "$status" -eq 137 ]
    [ -z "$(agents)" ]
}

@test "the launcher is killed with its ranks: the agents end" {
    start_launch 2 2 "$LOOP" 100000 10
    wait_until 'is_going_on 2'
    kill -KILL "$pid"
    all_gone
}

# Nobody reports a process that is stopped before its first heartbeat.
@test "a rank that is stopped in ftc_init() is killed" {
    adopting
    export FTCOLL_TEST_DIE=2@attached=stop
    run timeout -s KILL 60 "$PMIX_LAUNCHER" 1 3 "$LOOP" 50
    echo "$output"
    [ "$status" -eq 137 ]
    [ "$(grep -c "1 failed" <<<"$output")" -eq 2 ]
    grep -q "rank 2 failed: its heartbeat stood still" <<<"$output"
    all_gone
}

# bats test_tags=waits
@test "a rank that is stopped in the job is killed" {
    start_launch 1 3 "$LOOP" 800 10
    wait_until 'is_going_on 3'
    kill -STOP "$(rank_pid 1)"
    finish
    cat out err
    survived 2 2 1
    all_gone
}

# An ftrun that kills the rank that called it, and goes on.
killing_ftrun() {
    printf '#!/bin/bash\nkill -KILL $PPID\nexec "%s" "$@"\n' "$FTRUN" >killing_ftrun
    chmod +x killing_ftrun
    echo "$PWD/killing_ftrun"
}

@test "the rank that starts the agent is killed meanwhile: the others return, and nothing is left" {
    adopting
    FTCOLL_FTRUN=$(killing_ftrun) run timeout -s KILL 90 "$PMIX_LAUNCHER" 1 3 "$LOOP" 50
    echo "$output"
    [ "$status" -eq 137 ]
    [ "$(grep -c "^allreduce_loop: " <<<"$output")" -eq 2 ]
    all_gone
}

# bats test_tags=waits, patient
@test "... also those of another host" {
    adopting
    killer=$(killing_ftrun) run timeout -s KILL 90 "$PMIX_LAUNCHER" 2 2 bash -c 'test "$PMIX_RANK" != 2 || export FTCOLL_FTRUN=$killer; exec "$0" "$@"' "$LOOP" 50
    echo "$output"
    [ "$status" -eq 137 ]
    [ "$(grep -c "^allreduce_loop: " <<<"$output")" -eq 3 ]
    all_gone
}

@test "no ftrun: every rank says what to do" {
    adopting
    FTCOLL_FTRUN=/nonexistent/ftrun run timeout -s KILL 60 "$PMIX_LAUNCHER" 2 2 "$LOOP" 50
    echo "$output"
    [ "$status" -eq 1 ]
    [ "$(grep -c "no ftrun here to watch this host's ranks (FTCOLL_FTRUN: No such file or directory); install ftcoll" <<<"$output")" -eq 4 ]
    all_gone
}

@test "one host without ftrun: all hosts end, and say which" {
    adopting
    run timeout -s KILL 60 "$PMIX_LAUNCHER" 3 2 bash -c 'test "$PMIX_RANK" != 2 || export FTCOLL_FTRUN=/nonexistent; exec "$0" "$@"' "$LOOP" 50
    echo "$output"
    [ "$status" -eq 1 ]
    [ "$(grep -c "the host of rank 2 cannot take part: no ftrun here" <<<"$output")" -eq 6 ]
    all_gone
}

@test "an ftrun that cannot begin says why" {
    adopting
    FTCOLL_FTRUN=$(type -P false) run timeout -s KILL 60 "$PMIX_LAUNCHER" 1 2 "$LOOP" 50
    echo "$output"
    [ "$status" -eq 1 ]
    [ "$(grep -c "could not begin (exit code 1)" <<<"$output")" -eq 2 ]
}

# bats test_tags=waits, patient
@test "an ftrun that neither begins nor ends is killed" {
    adopting
    printf '#!/bin/sh\nexec sleep 1000\n' >hanging
    chmod +x hanging
    FTCOLL_FTRUN=$PWD/hanging run timeout -s KILL 60 "$PMIX_LAUNCHER" 1 2 "$LOOP" 50
    echo "$output"
    [ "$status" -eq 1 ]
    [ "$(grep -c "did not begin within 20 s" <<<"$output")" -eq 2 ]
}

@test "an ftrun that says nothing is no agent" {
    adopting
    FTCOLL_FTRUN=$(type -P true) run timeout -s KILL 60 "$PMIX_LAUNCHER" 1 2 "$LOOP" 50
    echo "$output"
    [ "$status" -eq 1 ]
    [ "$(grep -c "has ended, or did not answer" <<<"$output")" -eq 2 ]
}

@test "what an agent cannot do reaches all ranks" {
    adopting
    run timeout -s KILL 60 "$PMIX_LAUNCHER" 2 2 bash -c 'test "$PMIX_RANK" != 2 || export TMPDIR=/nonexistent; exec "$0" "$@"' "$LOOP" 50
    echo "$output"
    [ "$status" -eq 1 ]
    [ "$(grep -c "the host of rank 2 cannot take part: .*nonexistent" <<<"$output")" -eq 4 ]
    all_gone
}

@test "--engine adopt is nothing to call" {
    run "$FTRUN" --engine adopt -np 2 true </dev/null
    [ "$status" -eq 1 ]
    grep -q "start yours by ftrun, or by srun --mpi=pmix" <<<"$output"
}
