#!/usr/bin/env bats
# Multicast and links by verbs on real devices, at least four. They are those of
# tests/rdma/soft-roce, or others that FTC_TEST_INTERFACES lists (IPv4 addresses, a comma between
# two). PROBE, TEST_*, FTRUN, MULTICAST_APP, VERBS_PINGPONG, BENCH_VERBS and BUILD come from ctest.
# shellcheck disable=SC2030,SC2031,SC2034,SC2154

load ../transport/multicast_helper

setup() {
    [ -n "${FTC_TEST_INTERFACES:-}" ] || skip "FTC_TEST_INTERFACES lists no RDMA devices: run this by tests/rdma/soft-roce"
    prefix=()
    options=(--transport verbs --interfaces "$FTC_TEST_INTERFACES")
    probe_setup
}

teardown() {
    probe_teardown
}

report() { # RANK...: shows what each rank received, for the log
    local rank
    for rank in "$@"; do echo "rank $rank: $(tail -n 1 "receiver.$rank")" >&3; done
}

@test "receivers on four devices get 99 % and more, at the largest size" {
    local rank
    for rank in 1 2 3 4; do receive "$rank" "${options[@]}"; done
    send "${options[@]}" --count 2000 --pace 2000
    finish
    report 1 2 3 4
    jq -e '.sent == 2050 and .send_failed == 0 and .payload_max == 4096 - 56' sender
    for rank in 1 2 3 4; do counted "$rank" '.above >= 1980 and .wrong == 0 and .receive_failed == 0'; done
}

@test "two receivers on one device, one of them the sender's" {
    local rank
    # Device number = rank mod 4.
    for rank in 4 8 1 5; do receive "$rank" "${options[@]}" --receives 64; done
    send "${options[@]}" --count 500 --pace 2000
    finish
    report 4 8 1 5
    for rank in 4 8 1 5; do counted "$rank" '.above >= 495 and .wrong == 0'; done
}

@test "a late rank overruns its five receives without error, and hears what comes later" {
    mkfifo line
    exec 7<>line
    input=line receive 1 "${options[@]}" --late --split 500
    receive 2 "${options[@]}" --receives 64 --split 500
    send "${options[@]}" --count 500 --pace 2000 --unended
    echo now >&7
    wait_until "grep -q '^awake' receiver.1"
    send "${options[@]}" --first 500 --count 500 --pace 2000
    exec 7>&-
    finish
    report 1 2
    counted 1 '.below == 5 and .above >= 490 and .receive_failed == 0 and .wrong == 0'
    counted 2 '.below >= 495 and .above >= 495'
}

@test "another job that floods the group takes no receives: devices refuse its datagrams" {
    local rank
    for rank in 1 2; do receive "$rank" "${options[@]}"; done
    timeout -s KILL 100 "$PROBE" send --group "$group" --rank 3 "${options[@]}" --stranger --count 20000 --pace 0 >stranger 3>&- &
    started+=($!)
    send "${options[@]}" --count 500 --pace 2000
    finish
    report 1 2
    tail -n 1 stranger >&3
    jq -e '.sent >= 10000' stranger
    for rank in 1 2; do counted "$rank" '.above >= 495 and .foreign + .wrong + .receive_failed == 0'; done
    # The counter of a port stops at 65,535, and starts again only with the device.
    ip link show port2 >/dev/null 2>&1 || skip "ports may have counted before: run this by tests/rdma/soft-roce"
    for rank in 1 2; do counted "$rank" '.dropped >= 1000'; done
}

@test "loss of the paper's rate at the receiver" {
    receive 1 "${options[@]}" --receives 64 --loss 2870 --seed 1
    send "${options[@]}" --count 2000 --pace 1000
    finish
    report 1
    counted 1 '.lost >= 1 and .lost <= 20 and .above + .lost >= 1980'
}

@test "too little memory may be locked: the error says so" {
    run setpriv --bounding-set -ipc_lock --inh-caps -ipc_lock bash -c \
        'ulimit -l 64; exec "$0" receive --group "$1" "${@:2}" --receives 64' "$PROBE" "$group" "${options[@]}"
    echo "$output"
    [ "$status" -eq 2 ]
    [[ "$output" == *"raise memlock"*"64 KiB"* ]]
}

@test "devices and interfaces by name; what is neither is refused" {
    receive 1 --transport verbs --interfaces eth1,rxe2 --receives 64
    send --transport verbs --interfaces eth1,rxe2 --count 200 --pace 2000
    finish
    counted 1 '.above >= 198'
    for word in rxe99 fd00::1 127.0.0.1; do
        run "$PROBE" send --group "$group" --transport verbs --interfaces "$word"
        [ "$status" -eq 2 ]
        [[ "$output" == *"$word"*"rdma link"* ]]
    done
}

@test "a job with ranks on four devices: datagrams bring 99 % of the pieces" {
    cd "$BATS_TEST_TMPDIR"
    run timeout -s KILL 300 "$FTRUN" -np 8 --set broadcast.dissemination=multicast --set broadcast.correction=ring \
        --set multicast.least_ranks=2 --set multicast.transport=verbs --set multicast.interface="$FTC_TEST_INTERFACES" \
        --set multicast.receives=64 --report report.json "$MULTICAST_APP" 500 1 1000 3000 20000
    echo "$output"
    [ "$status" -eq 0 ]
    [ "$output" = "500 delivered, 0 without a root" ]
    jq -c '[.ranks[].counters | .pieces + .datagrams | to_entries[]] | reduce .[] as $e ({}; .[$e.key] += $e.value)
        | . + {all: (.datagram + .ring + .other)}' report.json >figures
    cat figures >&3
    # On a busy host some datagrams arrive after the ring has brought the same value.
    jq -e '.all >= 500 * 7 and .received >= 0.99 * .all and .datagram >= 0.9 * .all and .corrupt + .failed == 0' figures
}

@test "the whole suite of a multicast transport" {
    FTC_TEST_TRANSPORT=verbs "$TEST_MULTICAST"
}

# --- links by queue pairs, of the verbs transport ---

@test "the conformance suite of transports, on links between devices" {
    "$TEST_TRANSPORT_VERBS"
}

@test "stories of links: meeting, breaking, floods, deaths, memory, strangers" {
    "$TEST_VERBS"
    "$TEST_VERBS_STRANGERS"
}

@test "a cable that is pulled and put back: messages go on, of who looks and of who sleeps" {
    ip link show port2 >/dev/null 2>&1 || skip "no cables to pull: run this by tests/rdma/soft-roce"
    local sleep
    for sleep in "" --sleep; do
        # shellcheck disable=SC2086 # none or one word
        timeout -s KILL 200 "$VERBS_PINGPONG" $sleep --drill 64 2000 192.0.2.1 192.0.2.2 >pingpong 2>errors 3>&- &
        started+=($!)
        wait_until "grep -q '^warm' pingpong || ! kill -0 $! 2>/dev/null"
        ip link set port2 down
        wait_until "grep -q '^broken' pingpong || ! kill -0 $! 2>/dev/null"
        ip link set port2 up
        wait $! || { cat pingpong errors; return 1; }
        cat pingpong
        grep -q '^broken' pingpong
    done
}

@test "lost frames are sent again" {
    ip link show port2 >/dev/null 2>&1 || skip "no cables: run this by tests/rdma/soft-roce"
    tc qdisc add dev port2 root netem loss 2%
    run timeout -s KILL 200 "$VERBS_PINGPONG" 3000 300 192.0.2.1 192.0.2.2
    tc qdisc del dev port2 root
    echo "$output"
    [ "$status" -eq 0 ]
}

@test "too little memory may be locked for links: the error says so" {
    # shellcheck disable=SC2016 # for the shell that is started
    run setpriv --bounding-set -ipc_lock --inh-caps -ipc_lock bash -c \
        'ulimit -l 64; exec "$0" 64 10 "$@"' "$VERBS_PINGPONG" "${FTC_TEST_INTERFACES%%,*}" "${FTC_TEST_INTERFACES%%,*}"
    echo "$output"
    [ "$status" -eq 1 ]
    [[ "$output" == *"raise memlock"*"64 KiB"*"use tcp"* ]]
}

@test "a link's round trip beside ibv_rc_pingpong's" {
    command -v ibv_rc_pingpong >/dev/null || skip "no ibv_rc_pingpong: install ibverbs-utils"
    rdma link show rxe2/1 >/dev/null 2>&1 || skip "no devices of tests/rdma/soft-roce"
    "$BENCH_VERBS" --build "$BUILD" --json figures --rounds 7 --count 200 rxe1 rxe2 >&3
    # The goal is 1.5. On a busy host, processes of either kind wait longer for a processor than for
    # a message. There, even medians of equal things differ this much.
    jq -se 'any(.way == "poll" and .bytes == 64 and .ratio <= 2)' figures
}
