#!/usr/bin/env bats
# Ranks on the hosts of a Slurm cluster that srun starts, without ftrun (jobs_helper.bash).
# shellcheck disable=SC2153,SC2154,SC2016

bats_require_minimum_version 1.5.0

load jobs_helper

# start_step 'options of srun' TIMES MS: starts a loop of allreduces in the background, by srun
# alone. Its output goes to $out.
start_step() {
    local words=$1
    shift
    # shellcheck disable=SC2086 # words
    FTCOLL_FTRUN=$FTRUN FTCOLL_DETECTOR_HEARTBEAT_TIMEOUT_MS=4000 FTCOLL_DETECTOR_HEARTBEAT_PERIOD_MS=100 FTCOLL_JOB_F=1 \
        timeout -s KILL 200 "$CLUSTER" run srun --mpi=pmix --ntasks-per-node=4 --no-kill --kill-on-bad-exit=0 $words \
        "$LOOP" "$@" >"$out" 2>&1 </dev/null 3>&- &
    pid=$!
    started+=("$pid")
}

@test "srun starts the ranks: sixteen on four hosts" {
    start_step -N4 200 0
    finish_job
    [ "$status" -eq 0 ]
    survived 16 120 0
    nothing_on host1 host2 host3 host4
}

@test "srun starts the ranks: some are killed, and all of a host" {
    start_step -N4 500 10
    wait_until 'is_going_on host1'
    cluster exec host2 pkill -KILL -f "^$LOOP"
    cluster exec host4 pkill -KILL -n -f "^$LOOP"
    finish_job
    [ "$status" -eq 137 ]
    [ "$(grep -c "the sum of 11 ranks is .*, 5 failed" "$out")" -eq 11 ]
    [ "$(grep -c "failed: killed by signal 9" "$out")" -eq 5 ]
    run ! grep -q "is lost" "$out"
    nothing_on host1 host2 host3 host4
}

@test "srun starts the ranks: an agent is killed" {
    start_step -N4 500 10
    wait_until 'is_going_on host1'
    cluster exec host3 pkill -KILL -f "engine=adopt"
    finish_job
    survived 12 82 4
    wait_until "! cluster exec host3 pgrep -f '^$LOOP' >/dev/null"
}

@test "srun starts the ranks: a host is killed" {
    start_step -N4 500 10
    wait_until 'is_going_on host1'
    cluster kill-host host4
    wait_until '[ "$(grep -c "the sum of 12 ranks is 66, 4 failed" "$out")" -eq 12 ]' # srun waits longer
    grep -q "node 3 (host4) is lost" "$out"
    nothing_on host1 host2 host3
}

@test "srun starts the ranks: a host is cut off" {
    start_step -N4 500 10
    wait_until 'is_going_on host1'
    cluster cut host3
    wait_until 'grep -q "node 2 (host3) is lost" "$out"'
    run cluster exec host3 pgrep -f "^$LOOP"
    [ "$status" -eq 1 ]
    wait_until '[ "$(grep -c "the sum of 12 ranks is 82, 4 failed" "$out")" -eq 12 ]'
    nothing_on host1 host2 host3 host4
}

@test "srun starts the ranks: the step is cancelled" {
    start_step "-N4 --job-name=adopted" 100000 10
    wait_until 'is_going_on host1'
    cluster run scancel --name adopted
    finish_job
    [ "$status" -ne 0 ]
    nothing_on host1 host2 host3 host4
}

@test "srun starts the ranks: they must be in rows" {
    start_step "-N4 --distribution=cyclic" 200 0
    finish_job
    [ "$status" -eq 1 ]
    [ "$(grep -c "use srun --distribution=block" "$out")" -eq 16 ]
    nothing_on host1 host2 host3 host4
}
