#!/usr/bin/env bats
# Jobs of ftrun on hosts that die, or whose ranks, agents or slurmd die (jobs_helper.bash).
# shellcheck disable=SC2153,SC2154

bats_require_minimum_version 1.5.0

load jobs_helper

@test "sixteen ranks on four hosts" {
    start_job -N4 16 200 0
    finish_job
    [ "$status" -eq 0 ]
    survived 16 120 0
}

@test "a host is killed: the others go on" {
    start_job -N4 16 500 10
    wait_until 'is_going_on host1'
    cluster kill-host host4
    finish_job
    [ "$status" -eq 0 ]
    survived 12 66 4
    grep -q "node 3 (host4) is lost" "$out"
    grep -q "4 of 16 ranks failed (12-15)" "$out"
}

@test "the host whose agent leads is killed: another one takes over" {
    start_job "-N3 -w host2,host3,host4" 12 500 10
    wait_until 'is_going_on host3'
    cluster kill-host host2
    finish_job
    [ "$status" -eq 0 ]
    survived 8 60 4
    grep -q "node 0 (host2) is lost" "$out"
}

@test "all ranks of a host are killed, but not its agent: nobody waits for a timeout" {
    start_job -N4 16 500 10
    wait_until 'is_going_on host1'
    cluster exec host2 pkill -KILL -f "^$LOOP"
    finish_job
    [ "$status" -eq 0 ]
    survived 12 98 4
    run ! grep -q "is lost" "$out"
    [ "$(grep -c "failed: killed by signal 9" "$out")" -eq 4 ]
}

@test "an agent is killed: its ranks end with it" {
    start_job -N4 16 500 10
    wait_until 'is_going_on host1'
    cluster exec host3 pkill -KILL -f "engine=pmix"
    finish_job
    [ "$status" -eq 0 ]
    survived 12 82 4
    run cluster exec host3 pgrep -f "^$LOOP"
    [ "$status" -eq 1 ]
}

@test "slurmd is killed: nothing happens" {
    start_job -N4 16 500 10
    wait_until 'is_going_on host1'
    cluster kill-slurmd host4
    finish_job
    survived 16 120 0
}

@test "ftcoll-status shows the whole job on each host" {
    start_job -N4 16 2000 10
    wait_until 'is_going_on host1'
    for host in host1 host2 host3 host4; do
        wait_until "is_going_on $host"
        run cluster exec "$host" "$STATUS"
        echo "$output"
        [ "$(grep -c "^[0-3] *host[1-4] .*present" <<<"$output")" -eq 4 ]
        [ "$(grep -c " joined " <<<"$output")" -eq 16 ]
    done
}
