#!/usr/bin/env bats
# Jobs on four hosts that ssh reaches (ftrun --hosts). There is no Slurm. Hosts, links, connections
# and agents fail meanwhile.
# shellcheck disable=SC2153,SC2154,SC2016

bats_require_minimum_version 1.5.0

load jobs_helper

setup_file() {
    "$CLUSTER" check --ssh || return 0
    cluster_of_file
    up --hosts 4 --ssh
}

setup() {
    "$CLUSTER" check --ssh || skip "$("$CLUSTER" check --ssh 2>&1)"
    cluster_of_file
    started=()
    out=$BATS_TEST_TMPDIR/out
    timing=(--set detector.heartbeat_timeout_ms=4000 --set detector.heartbeat_period_ms=100)
    remote=(--ssh "ssh -F /run/cluster/ssh/config")
}

teardown() {
    local pid host
    for pid in "${started[@]}"; do kill -KILL "$pid" 2>/dev/null || true; done
    for host in host1 host2 host3 host4; do
        cluster heal "$host" || true
        cluster start-host "$host" 2>/dev/null || true
    done
}

# start_by_ssh HOSTS NP TIMES MS: starts a loop of allreduces in the background, from host1.
start_by_ssh() {
    local hosts=$1 np=$2
    shift 2
    timeout -s KILL 200 "$CLUSTER" exec host1 "$FTRUN" "${remote[@]}" "${timing[@]}" --hosts "$hosts" -np "$np" -f 1 \
        "$LOOP" "$@" >"$out" 2>&1 </dev/null 3>&- &
    pid=$!
    started+=("$pid")
}

@test "ssh starts the ranks: sixteen on four hosts" {
    start_by_ssh host1:4,host2:4,host3:4,host4:4 16 200 0
    finish_job
    [ "$status" -eq 0 ]
    survived 16 120 0
    nothing_on host1 host2 host3 host4
}

@test "ssh starts the ranks: by slots, which differ" {
    start_by_ssh host4,host2:3,root@host3:2 6 200 0
    finish_job
    [ "$status" -eq 0 ]
    survived 6 15 0
}

@test "ssh starts the ranks: one is killed, and another agent's ranks" {
    start_by_ssh host1:4,host2:4,host3:4,host4:4 16 500 10
    wait_until 'is_going_on host1'
    cluster exec host2 pkill -KILL -n -f "^$LOOP"
    cluster exec host4 pkill -KILL -f "engine=guest"
    finish_job
    [ "$status" -eq 0 ]
    [ "$(grep -c "the sum of 11 ranks is .*, 5 failed" "$out")" -eq 11 ]
    nothing_on host2 host3
}

@test "ssh starts the ranks: a host is killed, and the others go on" {
    start_by_ssh host1:4,host2:4,host3:4,host4:4 16 500 10
    wait_until 'is_going_on host1'
    cluster kill-host host4
    finish_job
    [ "$status" -eq 0 ]
    survived 12 66 4
    grep -q "node 3 (host4) is lost" "$out"
}

@test "ssh starts the ranks: a host is cut off, and keeps nothing" {
    start_by_ssh host1:4,host2:4,host3:4,host4:4 16 500 10
    wait_until 'is_going_on host1'
    cluster cut host3
    finish_job
    [ "$status" -eq 0 ]
    survived 12 82 4
    nothing_on host3
}

@test "ssh starts the ranks: a connection breaks, and its host alone ends" {
    start_by_ssh host1:4,host2:4,host3:4,host4:4 16 500 10
    wait_until 'is_going_on host1'
    cluster exec host1 pkill -KILL -f "^ssh .* host2 "
    nothing_on host2
    finish_job
    [ "$status" -eq 0 ]
    survived 12 98 4
    grep -q "host host2: the connection is broken; its ranks end, and the others go on" "$out"
    run ! grep -q "is lost" "$out"
}

@test "ssh starts the ranks: the front is killed, and nothing is left" {
    start_by_ssh host1:4,host2:4,host3:4,host4:4 16 100000 10
    wait_until 'is_going_on host1'
    cluster exec host1 pkill -KILL -f "ftrun --ssh"
    nothing_on host1 host2 host3 host4
}

@test "ssh starts the ranks: Ctrl-C ends all" {
    start_by_ssh host1:4,host2:4,host3:4,host4:4 16 100000 10
    wait_until 'is_going_on host1'
    cluster exec host1 pkill -INT -f "ftrun --ssh"
    finish_job
    [ "$status" -eq 130 ]
    nothing_on host1 host2 host3 host4
}

@test "a host that is down: ssh says so, and no rank runs" {
    cluster kill-host host3
    start_by_ssh host1,host2,host3 3 200 0
    finish_job
    [ "$status" -eq 1 ]
    grep -q "^host3: ssh: connect to host host3 port 22" "$out"
    grep -q "host host3: ssh ended with code 255 before the job began" "$out"
    run ! grep -q "the sum" "$out"
    nothing_on host1 host2
}
