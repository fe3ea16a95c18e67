#!/usr/bin/env bats
# UDP multicast across network namespaces: four hosts on a bridge. PROBE and TEST_MULTICAST come
# from ctest.
# shellcheck disable=SC2154,SC2034,SC2030,SC2031

load multicast_helper

# Names of this file's own namespaces: host 1..4 and the switch.
name() { echo "ftcoll-$BATS_ROOT_PID-$1"; }

can_make_namespaces() {
    [ "$(id -u)" -eq 0 ] && command -v ip >/dev/null && ip netns add "$(name switch)" 2>/dev/null
}

setup() {
    can_make_namespaces || skip "no network namespaces: needs root, \`ip\` and the right to make them"
    local i
    ip -n "$(name switch)" link add bridge type bridge mcast_snooping 0
    ip -n "$(name switch)" link set bridge up
    for i in 1 2 3 4; do add_host "$i"; done
    probe_setup
}

add_host() { # NUMBER; skips duplicate address detection, so that addresses are usable at once
    local host
    host=$(name "$1")
    ip netns add "$host"
    ip netns exec "$host" sysctl -q -w net.ipv6.conf.default.accept_dad=0
    ip -n "$(name switch)" link add "port$1" type veth peer name eth0 netns "$host"
    ip -n "$(name switch)" link set "port$1" master bridge up
    ip -n "$host" address add "192.0.2.$1/24" dev eth0
    ip -n "$host" link set lo up
    bring_up "$host"
}

bring_up() { # HOST; anything sent before the link is there is lost
    ip -n "$1" link set eth0 up
    wait_until "ip -n $1 link show eth0 | grep -q 'LOWER_UP.* state UP '"
}

teardown() {
    local i
    probe_teardown
    for i in switch 1 2 3 4; do ip netns delete "$(name "$i")" 2>/dev/null || true; done
}

on() { # HOST
    prefix=(ip netns exec "$(name "$1")")
}

# Host 1 sends to the others. Each must get everything that was sent.
deliver_to_all() { # INTERFACES-OF-HOST-i, with %d for i
    local i
    # shellcheck disable=SC2059 # a format is meant
    for i in 2 3 4; do on "$i" && receive "$i" --interfaces "$(printf "$1" "$i")"; done
    # shellcheck disable=SC2059
    on 1 && send --interfaces "$(printf "$1" 1)" --pace 200
    finish
    jq -e '.sent == 1050 and .send_failed == 0' sender
    for i in 2 3 4; do counted "$i" '.above >= 990 and .wrong == 0 and .foreign + .dropped == 0 and .corrupt == 0'; done
}

@test "IPv6 by the interface's name: datagrams of the largest size reach every host" {
    deliver_to_all eth0
    [ "$(jq .payload_max sender)" -eq $((1500 - 40 - 8 - 56)) ]
}

@test "IPv4 by address" {
    deliver_to_all 192.0.2.%d
    [ "$(jq .payload_max sender)" -eq $((1500 - 20 - 8 - 56)) ]
}

@test "IPv4 by name where the interface has no IPv6" {
    local i
    for i in 1 2 3 4; do ip netns exec "$(name "$i")" sysctl -q -w net.ipv6.conf.eth0.disable_ipv6=1; done
    deliver_to_all eth0
    [ "$(jq .payload_max sender)" -eq $((1500 - 20 - 8 - 56)) ]
}

@test "each rank takes its entry of the list" {
    on 2 && receive 2 --interfaces 192.0.2.1,192.0.2.9,192.0.2.2
    on 1 && send --interfaces 192.0.2.1,192.0.2.9 --pace 200
    finish
    counted 2 '.above >= 990'
    on 1
    run "${prefix[@]}" "$PROBE" receive --group "$group" --rank 1 --interfaces 192.0.2.1,192.0.2.9
    [ "$status" -eq 2 ]
    [[ "$output" == *192.0.2.9*"ip address"* ]]
}

@test "another job on the same group is counted, not heard" {
    on 2 && receive 2 --interfaces eth0
    on 3 && send --stranger --interfaces eth0 --pace 200
    on 1 && send --interfaces eth0 --pace 200
    finish
    counted 2 '.above >= 990 and .foreign + .dropped >= 990 and .wrong == 0'
}

@test "an interface that is down is refused, and taken when it is up again" {
    on 2 && receive 2 --interfaces 192.0.2.2
    on 1
    ip -n "$(name 1)" link set eth0 down
    run "${prefix[@]}" "$PROBE" send --group "$group" --interfaces 192.0.2.1
    [ "$status" -eq 2 ]
    [[ "$output" == *192.0.2.1*"ip address"* ]]
    bring_up "$(name 1)"
    send --interfaces 192.0.2.1 --pace 200
    finish
    counted 2 '.above >= 990'
}

@test "the whole suite by IPv6, on a loopback that has a route for it and on a link" {
    on 1
    ip -n "$(name 1)" -6 route add local ff00::/8 dev lo table local
    FTC_TEST_INTERFACES=::1 "${prefix[@]}" "$TEST_MULTICAST"
    FTC_TEST_INTERFACES=eth0 "${prefix[@]}" "$TEST_MULTICAST"
}
