#!/usr/bin/env bats
# Each key of ftcoll.ini(5) has a job here in which it changes something that can be seen. A row is
# run without the setting, and with it; what the two print, and how they end, must differ. With it,
# ftrun says of no setting of the row that it has no effect.
# shellcheck disable=SC2016,SC2034,SC2119,SC2153,SC2154 # commands for ranks; bats and ctest set variables

load pages

AT_ONCE=8 # rows; most of them wait

setup_file() {
    for name in $(compgen -v FTCOLL_); do unset "$name"; done
    export XDG_CONFIG_HOME=$BATS_FILE_TMPDIR
    "$FTRUN" --print-config --all | awk '/^\[/ { section = substr($1, 2, length($1) - 2) } /^[a-z_]+ =/ { print section "." $1 }' \
        >"$BATS_FILE_TMPDIR/keys"
}

# What would run, and why. No rank is started.
choose() { # OPTION...
    ftrun --print-algorithms "$@" "${with[@]}"
}

# A job. Its standard error goes to err.
job() { # OPTION... -- WORD...
    local options=()
    while [ "$1" != -- ]; do options+=("$1") && shift; done
    shift
    ftrun "${options[@]}" "${with[@]}" "$EFFECT_APP" "$@" 2>>err
}

# The same by messages.
messages() { job --set collectives.algorithm=corrected "$@"; }

# What a jq filter finds in the report of the ranks.
counts() { # FILTER OPTION... -- WORD...
    local filter=$1
    shift
    messages --report report "$@"
    jq -c "[.ranks[].counters | $filter]" report
}

# The protocol on a virtual machine, step by step.
trace() { # ARGUMENT...
    sim --trace "$@" "${with[@]}" | grep -v " MiB;"
}

# Multicast among three ranks.
datagrams() { # FILTER OPTION...
    local filter=$1
    shift
    counts "$filter" -np 3 --set broadcast.dissemination=multicast --set multicast.least_ranks=2 "$@" -- barrier barrier barrier barrier
}

# A job whose ranks reach each other by RDMA.
cards() { # OPTION... -- WORD...
    job -np 2 --set transport.order=verbs "$@"
}

# The same, by two devices that do not reach each other.
apart() { # OPTION... -- WORD...
    tc qdisc add dev port4 root netem loss 100%
    job -np 2 --set transport.order=verbs,tcp --set transport.verbs_device=192.0.2.3,192.0.2.4 "$@"
    tc qdisc del dev port4 root
}

# A job of two hosts, whose agents meet on this one.
two_hosts() { # OPTION...
    ftrun --engine local -np 2 "$FTRUN" --engine pmix -np 2 "$@" "${with[@]}" "$EFFECT_APP" barrier 2>>err
}

run_row() { # COMMAND OUTPUT
    : >err
    (eval "$1") >"$2" || echo "exit code $?" >>"$2"
}

# Leaves a file named wrong if the setting changes nothing, or if ftrun says so.
try_row() { # DIRECTORY SETTING COMMAND
    local with=()
    mkdir "$1" && cd "$1" || return
    run_row "$3" without
    with=(--set "$2")
    run_row "$3" changed
    if cmp -s without changed || grep -q "no effect in this job" err; then
        { echo "$2 :: $3" && tail -n 3 changed err; } >wrong
    fi
}

# Leaves in "seen" the settings of the rows, and prints those that change nothing.
try_rows() { # FUNCTION
    local row setting count=0
    while IFS= read -r row; do
        setting=${row%% :: *}
        echo "${setting%%=*}" >>seen
        count=$((count + 1))
        try_row "$count" "$setting" "${row#* :: }" </dev/null 3>&- &
        [ $((count % AT_ONCE)) -ne 0 ] || wait
    done < <("$1")
    wait
    cat ./*/wrong 2>/dev/null
}

@test "every setting changes something in some job" {
    cd "$BATS_TEST_TMPDIR"
    run try_rows rows
    echo "$output"
    [ -z "$output" ]
    diff <(sort "$BATS_FILE_TMPDIR/keys") <({ cat seen && rows_of_cards | sed 's/=.*//'; } | sort)
}

# tests/rdma runs it where there are devices.
@test "every setting of RDMA devices changes something in some job" {
    ip link show port4 >/dev/null 2>&1 || skip "no RDMA devices with cables: run this by tests/rdma/soft-roce"
    cd "$BATS_TEST_TMPDIR"
    run try_rows rows_of_cards
    echo "$output"
    [ -z "$output" ]
}

@test "the report says how many failures are behind a result, and how many deaths the operation masked" {
    local with=() algorithm f write_offs options
    cd "$BATS_TEST_TMPDIR"
    while read -r algorithm f write_offs options; do
        # shellcheck disable=SC2086 # several options
        job -np 6 -f 2 $options -- die:3 barrier report >out
        echo "$options: $(cat out err)"
        grep -qxE -- "$algorithm, f $f, .* $write_offs write-offs" out
    done <<'TABLE'
board 5 1
tree 2 1 --set collectives.algorithm=corrected
tree 2 [12] --set failure_info.scheme=count
tree 2 -1 --set failure_info.scheme=bit
direct 5 1 --set collectives.algorithm=corrected --set reduce.direct=8
exchange 0 1 --set collectives.algorithm=corrected --set reduce.doubling=8
TABLE
}

# They need RDMA devices.
rows_of_cards() {
    local port=$((20000 + RANDOM % 10000))
    sed "s/PORT_LAST/$((port + 20))/; s/PORT/$port/" <<'TABLE'
transport.verbs_timeout_ms=300 :: apart --set log.level=debug -- barrier; grep -o "does not reach rank . within .* ms" err
transport.verbs_port=PORT :: cards -- barrier report
transport.verbs_port_last=PORT_LAST :: cards --set transport.verbs_port=PORT -- barrier report
transport.verbs_memory=49152 :: cards --set log.level=debug -- barrier; grep -o "up to .* registered" err
TABLE
}

# The rows that wait for a time limit come first, at once.
rows() {
    local port=$((20000 + RANDOM % 10000))
    sed "s/PORT_LAST/$((port + 20))/; s/PORT/$port/" <<'TABLE'
detector.heartbeat_timeout_ms=150 :: job -np 3 --timeout 2 --set detector.heartbeat_period_ms=50 -- stop:1 barrier
detector.fence=off :: job -np 3 --timeout 2 --set detector.heartbeat_period_ms=50 --set detector.heartbeat_timeout_ms=150 -- stop:1 barrier
detector.exit_notices=off :: job -np 3 --timeout 2 -- die:1 barrier
gossip.patience_us=600000000 :: job -np 2 --timeout 2 --set drill.message_loss=20 -- gossip report
gossip.most_seconds=1 :: job -np 2 --timeout 3 --set gossip.most_messages=0 --set gossip.patience_us=100000 --set drill.message_loss=60 -- gossip
drill.message_loss=50 :: job -np 2 --timeout 2 --set gossip.patience_us=600000000 -- gossip report
job.f=2 :: messages -np 6 -- barrier report
detector.heartbeat_period_ms=20 :: EFFECT_STATUS='"$STATUS" -n --json "$FTCOLL_JOB_SEGMENT" | jq ".jobs[0].ranks[0].heartbeat_count > 5"' job -np 2 -- sleep:200 status
failure_info.scheme=bit :: job -np 4 -- barrier report
failure_info.share=off :: messages -np 4 -- die:2 barrier barrier report
reduce.tree=chain :: trace -n 20 -f 1 allreduce
reduce.arity=4 :: trace -n 20 -f 1 allreduce
reduce.take=lowest :: trace -n 7 -f 1 --stall 1@1us:5ms barrier
reduce.direct=8 :: messages -np 5 -- barrier report
reduce.doubling=8 :: messages -np 5 -- barrier report
broadcast.dissemination=gossip :: job -np 4 -- barrier report
broadcast.tree=kary :: job -np 4 -- barrier report
broadcast.arity=4 :: counts .sent.DECIDE -np 6 --set broadcast.tree=kary -- bcast barrier
broadcast.correction=checked :: job -np 4 -- barrier report
broadcast.distance=6 :: trace -n 20 --correction opportunistic bcast
broadcast.correction_delay_us=1 :: trace -n 20 --correction checked bcast
broadcast.patience_us=5 :: trace -n 20 --dissemination gossip bcast
broadcast.gossip_bound=time :: trace -n 20 --dissemination gossip bcast
broadcast.gossip_rounds=3 :: trace -n 20 --dissemination gossip bcast
broadcast.gossip_hop=9 :: trace -n 20 --dissemination gossip --set broadcast.gossip_bound=time bcast
broadcast.seed=7 :: trace -n 20 --dissemination gossip bcast
broadcast.settle_every=2 :: counts .sent.UP -np 6 -- bcast bcast bcast bcast
transport.order=tcp :: job -np 3 -- barrier report
transport.tcp_address=192.0.2.1 :: job -np 2 --set transport.order=tcp -- barrier report
transport.agent_address=192.0.2.1 :: two_hosts
transport.tcp_port=PORT :: job -np 2 --set transport.order=tcp -- barrier report
transport.tcp_port_last=PORT_LAST :: job -np 2 --set transport.order=tcp --set transport.tcp_port=PORT -- barrier report
transport.tcp_congestion=none_such :: job -np 2 --set transport.order=tcp -- barrier report; grep -o "none_such.*" err
transport.seal=encrypt :: job -np 2 --set transport.order=tcp --set log.level=debug -- barrier; grep -o ", seal .*" err
transport.verbs_device=none_such :: job -np 2 --set transport.order=verbs,tcp --set log.level=info -- barrier; grep -o "messages go .*" err
multicast.transport=off :: job -np 3 --set broadcast.dissemination=multicast --set multicast.least_ranks=2 -- barrier
multicast.interface=none_such :: job -np 3 --set broadcast.dissemination=multicast --set multicast.least_ranks=2 -- barrier
multicast.receives=64 :: job -np 2 --set broadcast.dissemination=multicast --set multicast.least_ranks=2 --set log.level=debug -- barrier; grep -o "room for.*" err
multicast.least_ranks=2 :: job -np 3 --set broadcast.dissemination=multicast -- barrier report
multicast.most_bytes=8 :: job -np 3 --set broadcast.dissemination=multicast --set multicast.least_ranks=2 -- allreduce:2 report
collectives.rotation=spread :: trace -n 5 barrier barrier
collectives.prepare=tree :: counts .sent.PREPARE -np 5 -f 0 -- die:3 barrier barrier
collectives.algorithm=corrected :: job -np 2 -- barrier report
collectives.levels=1 :: choose -np 8 --nodes 2
collectives.direct_copies=off :: job -np 2 -- barrier allreduce:8192 report
collectives.large=ring :: job -np 3 -- allreduce:32768 report
collectives.large_at=8 :: job -np 3 --set collectives.large=ring -- allreduce:1 report
integrity.mode=vote :: job -np 4 -- allreduce report
gossip.algorithm=push-flow :: job -np 2 -- gossip report
gossip.neighbourhood=full :: job -np 2 -- gossip report
gossip.accuracy=1e-3 :: job -np 2 -- gossip report
gossip.tau=1e6 :: job -np 4 --set drill.flip=0:flow:51@5,0:flow:51@7,0:flow:51@9,0:flow:51@11,0:flow:51@13,0:flow:51@15,0:flow:51@17,0:flow:51@19 -- gossip report
gossip.turns=off :: EFFECT_STATUS='sleep 0.1; "$STATUS" -n --json "$FTCOLL_JOB_SEGMENT" | jq ".jobs[0].ranks[0].counters.sent.GOSSIP > 0"' job -np 2 --set gossip.patience_us=600000000 -- status:1 gossip
gossip.most_messages=1 :: job -np 2 -- gossip
drill.multicast_loss=50 :: datagrams .datagrams.drill_lost
drill.multicast_duplicate=50 :: datagrams .datagrams.drill_other
drill.multicast_reorder=50 :: datagrams .datagrams.drill_other
drill.multicast_corrupt=50 :: datagrams .datagrams.drill_other
drill.multicast_foreign=50 :: datagrams .datagrams.foreign
drill.seed=5 :: datagrams .datagrams.drill_lost --set drill.multicast_loss=50
drill.flip=0:input:3@0 :: job -np 3 --set integrity.mode=checksum -- allreduce report
mpi.failures=raise :: EFFECT_APP=$MPI_APP job -np 3 -- masked
trace.history=off :: EFFECT_STATUS='"$STATUS" -n --json --history 0 "$FTCOLL_JOB_SEGMENT" | jq ".jobs[0].ranks[0].history == null"' job -np 2 -- barrier status
log.level=info :: job -np 2 --set transport.order=verbs,tcp -- barrier; grep -o "info: .*" err
TABLE
}
