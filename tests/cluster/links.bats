#!/usr/bin/env bats
# Jobs of ftrun on hosts whose links are cut, late or lose messages (jobs_helper.bash).
# shellcheck disable=SC2153,SC2154,SC2034,SC2016,SC2030,SC2031

bats_require_minimum_version 1.5.0

load jobs_helper

@test "a host is cut off: its ranks end, the others go on without them" {
    start_job -N4 16 500 10
    wait_until 'is_going_on host1'
    cluster cut host3
    wait_until 'grep -q "node 2 (host3) is lost" "$out"'
    run cluster exec host3 pgrep -f "^$LOOP" # before anybody was told that the host is lost
    [ "$status" -eq 1 ]
    finish_job
    [ "$status" -eq 0 ]
    survived 12 82 4
}

# After the cut TCP waits for as long again as the cut was. With the default timeout that is well
# within a lease.
@test "a link that is cut for a moment costs nobody" {
    timing=()
    start_job -N4 16 500 10
    wait_until 'is_going_on host1'
    cluster cut host2
    cluster heal host2
    finish_job
    [ "$status" -eq 0 ]
    survived 16 120 0
}

@test "a sealed link that is cut for a moment costs nobody, and a host that is cut off ends" {
    timing+=(--set transport.seal=encrypt)
    start_job -N4 16 500 10
    wait_until 'is_going_on host1'
    cluster cut host2
    cluster heal host2
    cluster cut host4
    finish_job
    cluster heal host4
    [ "$status" -eq 0 ]
    survived 12 66 4
    run ! grep "transport.seal" "$out"
}

@test "two hosts cannot reach each other: the higher one ends, the others go on" {
    start_job -N4 16 500 10
    wait_until 'is_going_on host1'
    cluster cut host2 host4
    finish_job
    cluster heal host2 host4
    [ "$status" -eq 0 ]
    survived 12 66 4
    grep -q "node 3 (host4) is lost: it and others could not reach each other" "$out"
}

@test "two hosts that cannot reach each other for a moment: nobody is lost" {
    timing=()
    start_job -N4 16 500 10
    wait_until 'is_going_on host1'
    cluster cut host2 host4
    cluster heal host2 host4
    finish_job
    [ "$status" -eq 0 ]
    survived 16 120 0
}

# Ranks have an interface of their own. Agents can use all interfaces.
@test "ranks of two hosts cannot reach each other, but their agents do: one host ends" {
    timing+=(--set transport.tcp_address=data0 --set transport.agent_address=eth0 --set detector.heartbeat_timeout_ms=2000)
    for i in 1 2 3 4; do
        cluster exec "host$i" bash -c "ip link show data0 >/dev/null 2>&1 || ip link add link eth0 name data0 type macvlan mode bridge"
        cluster exec "host$i" bash -c "ip address replace 10.78.0.$i/24 dev data0; ip link set data0 up"
    done
    for pair in "2 4" "4 2"; do # before they connect
        cluster exec "host${pair% *}" ip neigh replace "10.78.0.${pair#* }" lladdr 02:00:00:00:00:00 nud permanent dev data0
    done
    start_job -N4 16 500 10
    finish_job
    for host in host1 host2 host3 host4; do cluster exec "$host" ip link del data0; done
    [ "$status" -eq 0 ]
    survived 12 66 4
    grep -q "node 3 (host4) is lost: it and others could not reach each other" "$out"
}

# With these faults on all links an allreduce takes seconds. A lease must outlast the repeated
# sending.
@test "links that delay by 50 ms, one that loses 20 %: late, and right" {
    timing=(--set detector.heartbeat_timeout_ms=30000 --set detector.heartbeat_period_ms=500)
    export FTC_CLUSTER_NAME=${FTC_CLUSTER_NAME}l # the Slurm of this cluster is as patient
    up --hosts 4 --slurmd-timeout 300
    start_job -N4 8 60 100
    wait_until 'is_going_on host1'
    cluster delay 50 # not earlier: with the delay srun does not start anything
    cluster loss 20 --host host3 --seed 5
    finish_job
    cluster down
    [ "$status" -eq 0 ]
    survived 8 28 0
}
