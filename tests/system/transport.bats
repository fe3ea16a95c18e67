#!/usr/bin/env bats
# Which transport carries messages: TCP within a node, and between nodes. Here all nodes are on one
# machine (tests/launcher/nodes.bats). FTRUN, STATUS, PERF and LOOP come from ctest.
# shellcheck disable=SC2016,SC2153,SC2046,SC2086,SC2030,SC2031,SC2034,SC2154 # commands for ranks; bats runs tests in subshells and sets variables

bats_require_minimum_version 1.5.0

load ../launcher/helper

# job [ftrun's options] program: runs a job in the foreground; $output gets what ranks and ftrun
# print.
job() {
    run timeout -s KILL 100 "$FTRUN" "$@"
    echo "$output"
}

# nodes N [ftrun's options] program
nodes() {
    local count=$1
    shift
    job --engine local -np "$count" "$FTRUN" --engine pmix "$@"
}

start_nodes() {
    local count=$1
    shift
    # The outer ftrun must not kill an agent that is stopped.
    start --engine local --set detector.heartbeat_timeout_ms=60000 -np "$count" "$FTRUN" --engine pmix "$@"
}

# survivors N: N ranks came to the end.
survivors() {
    [ "$(grep -c "^rank .*: the sum of" <<<"$output")" -eq "$1" ]
}

@test "every operation goes by TCP within a node" {
    job -np 5 --set transport.order=tcp "$PERF" -m 8:64K -i 5 all
    [ "$status" -eq 0 ]
    [ "$(grep -c '^# ftcoll-perf.*algorithm tree' <<<"$output")" -eq 17 ]
    run ! grep -q warn <<<"$output"
}

@test "deaths among ranks that talk by TCP" {
    job -np 8 -f 2 --max-failures 3 --set transport.order=tcp --kill 0@0.1 --kill 5@0.2 --kill 6@0.2 "$LOOP" 600 1
    [ "$status" -eq 0 ]
    survivors 5
    [ "$(grep -c ", 3 failed$" <<<"$output")" -eq 5 ]
}

@test "ftcoll-status tells what carries messages" {
    start -np 3 --set transport.order=tcp "$LOOP" 100000 1
    wait_until '"$STATUS" "$pid" 2>/dev/null | grep -q "tcp 2"'
    "$STATUS" --json "$pid" | jq -e '[.jobs[0].ranks[].carriers.shm] == [null, null, null]'
    kill -TERM "$pid"
    finish
    nothing_left "$pid"
}

@test "an order that is none is refused before anything starts" {
    job -np 2 --set transport.order=tcp,udp true
    [ "$status" -eq 2 ]
    grep -qF 'transport.order: "tcp,udp" has a word that is not one of its values (allowed: shm, verbs, tcp;' <<<"$output"
    job -np 2 --set transport.order=shm,tcp,shm true
    [ "$status" -eq 2 ]
    grep -qF 'transport.order: "shm,tcp,shm" names one twice' <<<"$output"
    job -np 2 --set transport.tcp_port_last=100 true
    [ "$status" -eq 2 ]
    grep -qF 'set both, the last above the first' <<<"$output"
}

@test "who cannot reach the others says what to add" {
    nodes 2 -np 2 --set transport.order=shm "$LOOP" 1
    grep -q "transport.order: by shm ranks of another node cannot be reached from here; add tcp" <<<"$output"
}

@test "an address that is not here, and ports that do not suffice" {
    job -np 2 --set transport.order=tcp --set transport.tcp_address=nowhere0 "$LOOP" 1
    grep -q 'no interface or address "nowhere0" is up here' <<<"$output"
    job -np 4 --set transport.order=tcp --set transport.tcp_port=29170 --set transport.tcp_port_last=29171 "$LOOP" 1
    grep -q "cannot listen on ports 29170 to 29171: .*: give a wider range of ports, or 0" <<<"$output"
}

# Prints address:port, in hexadecimal, of each TCP socket at which one of these processes listens.
listeners() { # PID...
    local one inode
    for one in "$@"; do
        for inode in $(find "/proc/$one/fd" -lname "socket:*" -printf "%l\n" 2>/dev/null | tr -dc "0-9\n"); do
            awk -v inode="$inode" '$4 == "0A" && $10 == inode { print $2 }' /proc/net/tcp /proc/net/tcp6
        done
    done
}

children() { # PID...
    pgrep -P "$(tr ' ' , <<<"$*")"
}

# The PMIx server of each ftrun listens at 127.0.0.1, for its own ranks. This prints all other
# sockets.
beyond_pmix() {
    sort -u | grep -v "^0100007F:"
}

@test "ranks and agents listen at the address and the ports that were named, and nowhere else" {
    start_nodes 2 -np 4 --set transport.tcp_address=127.0.0.2 --set transport.tcp_port=29180 \
        --set transport.tcp_port_last=29199 "$LOOP" 100000 1
    wait_until 'own_jobs | jq -e "any(.jobs[]; [.ranks[] | select(.called >= 5)] | length == 4)"'
    agents=$(children "$pid" | xargs)
    listeners $agents $(children $agents) | beyond_pmix >all
    cat all
    [ "$(wc -l <all)" -eq 6 ] # four ranks, two agents
    while IFS=: read -r address port; do
        [ "$address" = 0200007F ]
        ((16#$port >= 29180 && 16#$port <= 29199))
    done <all
    kill -TERM "$pid"
    finish
    nothing_left "$pid"
}

@test "agents may have an interface of their own" {
    start_nodes 2 -np 2 --set transport.tcp_address=127.0.0.2 --set transport.agent_address=127.0.0.3 "$LOOP" 100000 1
    wait_until 'own_jobs | jq -e "any(.jobs[]; [.ranks[] | select(.called >= 5)] | length == 2)"'
    agents=$(children "$pid" | xargs)
    [ "$(listeners $agents | beyond_pmix | cut -d: -f1 | xargs)" = "0300007F 0300007F" ]
    [ "$(listeners $(children $agents) | beyond_pmix | cut -d: -f1 | xargs)" = "0200007F 0200007F" ]
    kill -TERM "$pid"
    finish
}

@test "ports that are too few for a host are refused on all hosts, before any rank starts" {
    nodes 2 -np 4 --set transport.tcp_port=29140 --set transport.tcp_port_last=29141 touch started
    [ "$status" -ne 0 ]
    [ ! -e started ]
    grep -q "tcp_port 29140 to 29141 are too few .* needs 3: .*set transport.tcp_port_last to 29142 or more" <<<"$output"
    nodes 2 -np 2 --set transport.tcp_port=29140 touch started
    [ ! -e started ]
    grep -q "tcp_port 29140 to 29140 are too few" <<<"$output"
    nodes 2 -np 2 --set transport.order=shm --set transport.tcp_port=29140 --set transport.tcp_port_last=29159 true
    [ "$status" -eq 0 ] # so no rank listens
}

@test "a rank that comes late is found at once" {
    job -np 4 --set transport.order=tcp --set detector.heartbeat_period_ms=5000 --set detector.heartbeat_timeout_ms=60000 \
        --timeout 60 sh -c 'test "$FTCOLL_RANK" != 2 || sleep 1; exec "$0" 10' "$LOOP"
    [ "$status" -eq 0 ]
    survivors 4
}

@test "operations span nodes: shared memory inside, TCP between" {
    nodes 3 -np 7 --set collectives.levels=1 --set log.level=debug "$LOOP" 300
    [ "$status" -eq 0 ]
    survivors 7
    grep -q "rank 1: debug: messages to rank 0 go by shm" <<<"$output"
    grep -q "rank 0: debug: messages to rank [3-6] go by tcp" <<<"$output"
    run ! grep -q "rank 0: debug: messages to rank [3-6] go by shm" <<<"$output"
    run ! grep -q warn <<<"$output"
}

# A file that is no library stands in for the library that the host does not have.
@test "without what RDMA needs messages go by TCP, and one line of each rank says why" {
    mkdir libraries
    : >libraries/libibverbs.so.1
    export LD_LIBRARY_PATH=$PWD/libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    nodes 2 -np 2 --set log.level=debug "$LOOP" 20
    [ "$status" -eq 0 ]
    survivors 2
    [ "$(grep -c "info: messages go without verbs: .*libibverbs and librdmacm.*install them.*, or use tcp" <<<"$output")" -eq 2 ]
    grep -q "messages to rank 1 go by tcp" <<<"$output"
    nodes 2 -np 2 --set transport.order=shm,verbs "$LOOP" 20
    grep -q "warn: messages go without verbs: .*libibverbs" <<<"$output"
    grep -q "transport.order: by shm,verbs ranks of another node cannot be reached from here; add tcp" <<<"$output"
}

@test "a device that is named and not here costs a warning, a list of devices with a gap the job" {
    nodes 2 -np 2 --set transport.verbs_device=no-such-device "$LOOP" 20
    [ "$status" -eq 0 ]
    survivors 2
    [ "$(grep -cE 'warn: messages go without verbs: (no RDMA device .* is "no-such-device"|this build has no verbs)' <<<"$output")" -eq 2 ]
    nodes 2 -np 2 --set transport.verbs_device=rxe1,,rxe2 "$LOOP" 20
    grep -q 'transport.verbs_device: "rxe1,,rxe2" has an entry that is empty or too long' <<<"$output"
}

# Either agent may be the one that tells, and ftcoll-status may run on either host. So each host has
# to know of the rank that the other one started.
@test "a rank that hangs in its start is named on all hosts, by ftcoll-status and by --timeout" {
    start_nodes 2 -np 4 --timeout 6 sh -c 'if [ $FTCOLL_RANK = 3 ]; then exec sleep 100; fi; exec "$0" 100' "$LOOP"
    wait_until 'own_jobs | jq -e "[.jobs[].ranks | select(length == 4) | .[3].state] == [\"spawned\", \"spawned\"]"'
    finish
    cat err
    [ "$status" -eq 124 ]
    grep -q "rank 3: started .* s ago, has not come through ftc_init() yet" err
    grep -q "finally wait for rank 3: started" err
    run ! grep -q "rank.* [0-9]: ended" err
}

@test "nobody runs ahead of a rank of another node" {
    nodes 2 -np 4 --set broadcast.settle_every=0 "$PERF" -m 8 -t 0.3 reduce bcast
    [ "$status" -eq 0 ]
}

@test "ranks of any node may die" {
    nodes 3 -np 9 -f 2 --max-failures 4 --kill 0@0.1 --kill 1@0.15 --kill 4@0.2 --kill 8@0.2 "$LOOP" 800 1
    [ "$status" -eq 0 ]
    survivors 5
    [ "$(grep -c ", 4 failed$" <<<"$output")" -eq 5 ]
}

@test "the board is for one node" {
    nodes 2 -np 4 --set collectives.algorithm=board "$LOOP" 1
    grep -q "collectives.algorithm is board, in memory that ranks of one node share, and this job has 2 nodes" <<<"$output"
}

@test "datagrams need an interface that leaves the node" {
    nodes 2 -np 4 --set broadcast.dissemination=multicast --set multicast.least_ranks=2 "$LOOP" 20
    [ "$status" -eq 0 ]
    survivors 4
    [ "$(grep -c "no multicast: the loopback, .*: set multicast.interface" <<<"$output")" -eq 4 ]
}

# Starts a job of 3 nodes with a short timeout. It sets variables for the agents, and $ranks for the
# ranks of one of them.
start_lossy() {
    start_nodes 3 -np 6 -f 2 --max-failures 2 --set detector.heartbeat_timeout_ms=4000 \
        --set detector.heartbeat_period_ms=100 "$LOOP" 2500 1
    # The check asks whether any agent saw 20 calls. A rank computes most of the time, so "it is in
    # an operation now" may never be seen.
    wait_until 'own_jobs | jq -e "any(.jobs[].ranks[]; .called >= 20)"'
    victim=$(for agent in $(pgrep -P "$pid"); do if grep -qz '^PMIX_RANK=2$' "/proc/$agent/environ"; then echo "$agent"; fi; done)
    ranks=$(pgrep -P "$victim" -f "^$LOOP") # for a while the agent has a child for PMIx, too
    [ "$(wc -w <<<"$ranks")" -eq 2 ]
}

@test "a node whose agent is killed fails, and the others go on" {
    start_lossy
    kill -KILL "$victim"
    finish
    cat out err
    gone $ranks
    output=$(cat out)
    survivors 4
    [ "$(grep -c ", 2 failed$" out)" -eq 4 ]
}

@test "an agent that slept until the others had left tells nothing of them" {
    start_lossy
    mapfile -t others < <(pgrep -P "$pid" | grep -vx "$victim")
    kill -STOP "$victim"
    wait_until 'gone "${others[@]}"'
    kill -CONT "$victim"
    finish
    cat out err
    output=$(cat out)
    survivors 4
    grep -q "2 of 6 ranks failed" err
    run ! grep -q "did not answer at the end\|6 of 6" err
}

@test "ranks whose agent is stopped end themselves when its lease is over" {
    start_lossy
    kill -STOP "$victim"
    wait_until 'gone $ranks'
    grep -q '^State:.T' "/proc/$victim/status" # the stopped agent had no part in that
    wait_until 'grep -q "is lost" err'
    kill -CONT "$victim"
    finish
    cat out err
    output=$(cat out)
    survivors 4
    [ "$(grep -c "leaving the job: this node has lost its lease" err)" -ge 1 ]
}
