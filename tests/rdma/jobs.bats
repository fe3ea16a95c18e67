#!/usr/bin/env bats
# Jobs of four nodes. Each node is an ftrun of this host with its own RDMA device
# (tests/rdma/ftrun-on-device). tests/rdma/soft-roce makes the devices. FTRUN, REAL_FTRUN, STATUS,
# LOOP, PERF, MESSAGES_APP, STORM, STORM_APP, MESSAGES_STORM_APP and STORM_STATUS come from ctest.
# shellcheck disable=SC2016,SC2030,SC2031,SC2034,SC2046,SC2086,SC2153,SC2154 # commands for ranks; bats runs tests in subshells and sets variables

bats_require_minimum_version 1.5.0

load ../launcher/helper

setup_file() {
    if [ -z "${FTC_TEST_INTERFACES:-}" ] || ! ip link show port2 >/dev/null 2>&1; then
        echo "no RDMA devices with cables: run this by tests/rdma/soft-roce" >&2
        return 1
    fi
}

# Emulated processors are slow: agents may wait long for one. No agent must be declared lost for
# that.
timing=(--set detector.heartbeat_timeout_ms=15000 --set transport.verbs_timeout_ms=10000)
# The ftrun in front of the nodes must not kill an agent that is stopped.
patient=(--set detector.heartbeat_timeout_ms=120000)

# nodes N [ftrun's options] program
nodes() {
    local count=$1
    shift
    run timeout -s KILL 200 "$FTRUN" --engine local "${patient[@]}" -np "$count" "$FTRUN" --engine pmix "${timing[@]}" "$@"
    echo "$output"
}

start_nodes() {
    local count=$1
    shift
    start --engine local "${patient[@]}" -np "$count" "$FTRUN" --engine pmix "${timing[@]}" "$@"
}

# wait_until 'command': the helper's function, with more patience.
wait_until() {
    local end=$((SECONDS + 120))
    until eval "$1"; do
        if [ "$SECONDS" -ge "$end" ]; then
            echo "waited in vain for: $1" >&2
            return 1
        fi
        sleep 0.1
    done
}

survivors() { # N: N ranks came to the end
    [ "$(grep -c "^rank .*: the sum of" <<<"$output")" -eq "$1" ]
}

# Finishes; $output is then what ranks and ftrun said.
ended() {
    finish
    output=$(cat out err)
    echo "$output"
}

# of_job FILTER: is FILTER true of the report of the background job's first node?
of_job() {
    local state
    state=$("$STATUS" --json "$(pgrep -P "$pid" | sort -n | head -n 1)" 2>/dev/null) && jq -e ".jobs[0].ranks | $1" <<<"$state" >/dev/null
}

going_on() { # N: some rank has finished its Nth operation
    of_job "any(.returned >= $1)"
}

# carried NAME FILTER: applies FILTER to the number of ranks that each rank reaches by NAME.
carried() {
    of_job "[.[].carriers.$1 // 0] | $2"
}

@test "operations span nodes: shared memory inside, queue pairs between" {
    start_nodes 4 -np 8 --set collectives.levels=1 --set log.level=debug "$LOOP" 100000 1
    wait_until 'going_on 50 && carried verbs "max >= 2"'
    "$STATUS" "$(pgrep -P "$pid" | sort -n | head -n 1)" | tee /dev/stderr | grep -q "verbs [1-6]"
    carried tcp 'add == 0'
    kill -TERM "$pid"
    ended
    nothing_left "$pid"
    grep -q "rank 1: debug: messages to rank 0 go by shm" <<<"$output"
    grep -q "rank [01]: debug: messages to rank [2-7] go by verbs" <<<"$output"
    run ! grep -q "rank [01]: debug: messages to rank [2-7] go by shm" <<<"$output"
}

@test "every operation, with values of one slot and of many" {
    local size
    for size in 8 4K 256K; do # few, since an operation takes 0.1 s and more here
        nodes 4 -np 8 "$PERF" -m "$size" -w 0 -i 2 all
        [ "$status" -eq 0 ]
        run ! grep -q warn <<<"$output"
    done
}

@test "ranks of one node talk by their device, too, where the order says so" {
    nodes 2 -np 4 --set transport.order=verbs "$LOOP" 50
    [ "$status" -eq 0 ]
    survivors 4
}

@test "ranks of any node may die" {
    nodes 4 -np 8 -f 2 --max-failures 4 --kill 0@0.5 --kill 1@0.6 --kill 4@1 --kill 7@1 "$LOOP" 200 10
    [ "$status" -eq 0 ]
    survivors 4
    [ "$(grep -c ", 4 failed$" <<<"$output")" -eq 4 ]
}

@test "a node whose agent is killed fails, and the others go on" {
    timing=(--set detector.heartbeat_timeout_ms=6000 --set transport.verbs_timeout_ms=10000)
    start_nodes 4 -np 8 -f 2 --max-failures 2 "$LOOP" 300 30
    wait_until 'going_on 20'
    victim=$(pgrep -P "$pid" | sort -n | tail -n 1)
    ranks=$(pgrep -P "$victim")
    kill -KILL "$victim"
    ended
    gone $ranks
    survivors 6
    [ "$(grep -c ", 2 failed$" <<<"$output")" -eq 6 ]
}

# The ranks of the node stop, too. They hold their queue pairs, and devices acknowledge for them.
@test "a node that stands still is refused, and its queue pairs are cut" {
    timing=(--set detector.heartbeat_timeout_ms=6000 --set transport.verbs_timeout_ms=10000)
    start_nodes 4 -np 8 -f 2 --max-failures 2 "$LOOP" 300 50
    wait_until 'going_on 20'
    victim=$(pgrep -P "$pid" | sort -n | tail -n 1)
    ranks=$(pgrep -P "$victim")
    kill -STOP "$victim" $ranks
    wait_until 'grep -q "is lost" err'
    kill -CONT $ranks "$victim"
    ended
    gone $ranks
    survivors 6
    [ "$(grep -c ", 2 failed$" <<<"$output")" -eq 6 ]
}

@test "a node without a device is reached by TCP, and says why" {
    FTC_TEST_INTERFACES=192.0.2.1,192.0.2.2,no-such-device,192.0.2.4 start_nodes 4 -np 4 --set log.level=debug "$LOOP" 100000 1
    wait_until 'going_on 50 && carried verbs "max >= 1" && carried tcp "max >= 1"'
    kill -TERM "$pid"
    ended
    [ "$(grep -c "rank 2: warn: messages go without verbs: no RDMA device .* is \"no-such-device\"" <<<"$output")" -eq 1 ]
    [ "$(grep -c "messages go without verbs" <<<"$output")" -eq 1 ]
    run ! grep -q "rank 2: debug: messages to rank . go by verbs" <<<"$output"
    run ! grep -q "debug: messages to rank 2 go by verbs" <<<"$output"
}

@test "devices that do not reach each other: TCP takes over after a while, and a line says so" {
    timing=(--set detector.heartbeat_timeout_ms=15000 --set transport.verbs_timeout_ms=3000)
    tc qdisc add dev port2 root netem loss 100%
    nodes 4 -np 4 --set log.level=debug "$LOOP" 50
    tc qdisc del dev port2 root
    [ "$status" -eq 0 ]
    survivors 4
    grep -q "warn: verbs does not reach rank . within 3000 ms: messages to it go by another of transport.order" <<<"$output"
    grep -q "rank 1: debug: messages to rank . go by tcp" <<<"$output"
    run ! grep -q "rank 1: debug: messages to rank . go by verbs" <<<"$output"
    run ! grep -q "debug: messages to rank 1 go by verbs" <<<"$output"
}

@test "a cable that is pulled for a moment costs nobody" {
    start_nodes 4 -np 8 "$LOOP" 400 5
    wait_until 'going_on 20'
    ip link set port2 down
    sleep 1 # the link is to be down this long
    ip link set port2 up
    ended
    [ "$status" -eq 0 ]
    survivors 8
    [ "$(grep -c ", 0 failed$" <<<"$output")" -eq 8 ]
}

# Does not use exchanges, because then a node would talk to only two others.
@test "what may be registered bounds queue pairs, not the job" {
    timing=(--set detector.heartbeat_timeout_ms=15000 --set transport.verbs_timeout_ms=3000)
    nodes 4 -np 8 --set transport.verbs_memory=49152 --set reduce.doubling=1 --set log.level=debug "$LOOP" 50
    [ "$status" -eq 0 ]
    survivors 8
    grep -q "up to 48 KiB registered" <<<"$output"
    grep -q "go by verbs" <<<"$output"
    grep -q "go by tcp" <<<"$output"
}

@test "too little memory may be locked: TCP, and the line says what to raise" {
    run setpriv --bounding-set -ipc_lock --inh-caps -ipc_lock bash -c \
        'ulimit -l 64; shift; exec timeout -s KILL 200 "$0" --engine local -np 4 "$0" --engine pmix "$@"' "$FTRUN" x "${timing[@]}" -np 4 "$LOOP" 20
    echo "$output"
    [ "$status" -eq 0 ]
    survivors 4
    [ "$(grep -c "warn: messages go without verbs: .*raise memlock (.ulimit -l.), 64 KiB now, or use tcp" <<<"$output")" -eq 4 ]
}

# By queue pairs alone: without TCP in the order, no message can go another way.
by_verbs=(--set "transport.order=shm,verbs")

@test "messages of all sizes, each way that they go" {
    nodes 2 -np 2 "${by_verbs[@]}" "$MESSAGES_APP" sizes
    [ "$(grep -c "messages_app: done" <<<"$output")" -eq 2 ]
    nodes 4 -np 4 "${by_verbs[@]}" "$MESSAGES_APP" pairs "$RANDOM"
    [ "$(grep -c "messages_app: done" <<<"$output")" -eq 4 ]
}

@test "threads exchange messages, each in its communicator" {
    nodes 3 -np 3 "${by_verbs[@]}" "$MESSAGES_APP" threads "$RANDOM"
    [ "$(grep -c "messages_app: done" <<<"$output")" -eq 3 ]
}

# The ninth message of rank 1 is the sixth part of a large one.
@test "a rank dies in the middle of a message to it, and of one from it" {
    FTCOLL_TEST_DIE=1@send:9 nodes 3 -np 3 "${by_verbs[@]}" "$MESSAGES_APP" cut
    [ "$(grep -c "messages_app: done" <<<"$output")" -eq 2 ]
    [[ "$output" == *"rank 1 failed: killed by signal 9"* ]]
}

# kill_storm RUNS [VARIABLE=VALUE...]: does not use TCP, so that nothing that gets stuck goes on by
# TCP.
kill_storm() {
    local runs=$1
    shift
    run env STORM_NODES=4 STORM_TRANSPORT=shm,verbs STORM_ALGORITHM=corrected STORM_RANKS=16 STORM_TIMEOUT_MS=15000 \
        STORM_WATCHDOG_S=300 "$@" timeout -s KILL 1800 "$STORM" "${FTC_STORM_RUNS:-$runs}"
    echo "$output"
    [ "$status" -eq 0 ]
    [[ "$output" == *"runs of several nodes"* ]]
}

@test "a kill storm on four devices" {
    kill_storm 10
}

@test "a kill storm of messages on four devices" {
    kill_storm 5 STORM_KIND=messages STORM_APP="$MESSAGES_STORM_APP"
}
