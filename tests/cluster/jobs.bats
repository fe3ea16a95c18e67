#!/usr/bin/env bats
# Jobs of ftrun on the four hosts of a Slurm cluster, with four ranks on each. Hosts and links
# suffer faults meanwhile. CLUSTER, FTC_CLUSTER_RELAY, FTRUN, STATUS, LOOP, PROBE and BUILD come
# from ctest.
# shellcheck disable=SC2153,SC2154,SC2034,SC2016,SC2030,SC2031

bats_require_minimum_version 1.5.0

load ../transport/multicast_helper

setup_file() {
    "$CLUSTER" check || return 0
    export FTC_CLUSTER_NAME=j$BATS_ROOT_PID
    local cgroups=() # with cgroups, as on most clusters, if the machine can
    [ ! -w /sys/fs/cgroup/freezer/release_agent ] || cgroups=(--cgroups)
    up --hosts 4 --slurmd-timeout 5 "${cgroups[@]}"
}

teardown_file() {
    "$CLUSTER" check 2>/dev/null || return 0
    local of_test
    for of_test in "" l; do "$CLUSTER" --name "j$BATS_ROOT_PID$of_test" down; done
}

setup() {
    "$CLUSTER" check || skip "$("$CLUSTER" check 2>&1)"
    started=()
    out=$BATS_TEST_TMPDIR/out
    # A lease of two seconds: shorter leases may run out while 16 ranks and four slurmd wait for two
    # cores.
    timing=(--set detector.heartbeat_timeout_ms=4000 --set detector.heartbeat_period_ms=100)
}

teardown() {
    export FTC_CLUSTER_NAME=j$BATS_ROOT_PID
    local pid
    for pid in "${started[@]}"; do kill -KILL "$pid" 2>/dev/null || true; done
    cluster run scancel -u root || true
    for host in host1 host2 host3 host4; do
        cluster heal "$host" || true
        cluster start-host "$host" 2>/dev/null || true
        cluster start-slurmd "$host" 2>/dev/null || true
    done
    wait_until 'cluster run srun --immediate=5 -N4 true' # sinfo may go on to call a host mixed for long
}

cluster() {
    timeout -s KILL 100 "$CLUSTER" "$@" 3>&-
}

up() {
    cluster up --share "$BATS_RUN_TMPDIR" --share "$BUILD" "$@"
}

# start_job 'options of salloc' NP TIMES MS: starts a loop of allreduces in the background. Its
# output goes to $out.
start_job() {
    local words=$1 np=$2
    shift 2
    # shellcheck disable=SC2086 # words
    timeout -s KILL 200 "$CLUSTER" run salloc -Q --no-kill $words "$FTRUN" "${timing[@]}" -np "$np" -f 1 "$LOOP" "$@" >"$out" 2>&1 </dev/null 3>&- &
    pid=$!
    started+=("$pid")
}

# Waits for the job. Its exit code goes to $status.
finish_job() {
    status=0
    wait "$pid" || status=$?
    cat "$out"
}

# Has the first rank of HOST come to its 20th operation?
is_going_on() { # HOST
    cluster exec "$1" "$STATUS" --json 2>/dev/null |
        jq -ne '[input.jobs[]? | select(.launcher_alive) | .ranks[]? | select(.returned > 20)] | length >= 1' >/dev/null
}

# survived RANKS SUM FAILED: that many ranks printed this.
survived() {
    [ "$(grep -c "the sum of $1 ranks is $2, $3 failed" "$out")" -eq "$1" ]
}

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

# --- ranks that srun starts, without ftrun ---

# start_step 'options of srun' TIMES MS: as start_job, by srun alone.
start_step() {
    local words=$1
    shift
    # shellcheck disable=SC2086 # words
    FTCOLL_FTRUN=$FTRUN FTCOLL_DETECTOR_HEARTBEAT_TIMEOUT_MS=2000 FTCOLL_DETECTOR_HEARTBEAT_PERIOD_MS=100 FTCOLL_JOB_F=1 \
        timeout -s KILL 200 "$CLUSTER" run srun --mpi=pmix --ntasks-per-node=4 --no-kill --kill-on-bad-exit=0 $words \
        "$LOOP" "$@" >"$out" 2>&1 </dev/null 3>&- &
    pid=$!
    started+=("$pid")
}

# HOST has no process of the job, and no file.
nothing_on() { # HOST...
    local host
    for host; do
        wait_until "! cluster exec $host pgrep -f 'engine=adopt|^$LOOP' >/dev/null"
        run cluster exec "$host" bash -c 'ls -d /dev/shm/ftcoll-* /tmp/ftcoll-* 2>/dev/null'
        [ -z "$output" ] || { echo "left on $host: $output"; return 1; }
    done
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
