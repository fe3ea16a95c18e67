#!/usr/bin/env bats
# Tests bench/message_time. MESSAGE_TIME is the program.

bats_require_minimum_version 1.5.0

setup() {
    work=$(mktemp -d)
    export TMPDIR=$work
}

teardown() {
    rm -rf "$work"
}

message_time() {
    run --separate-stderr timeout -s KILL 60 "$MESSAGE_TIME" "$@"
}

left_behind() { # PID
    find "$work" -mindepth 2
    find /dev/shm -name "ftcoll-*-$1.*"
}

@test "wrong use ends with 2 and says how it is used" {
    for words in x 0 "1 2 3" "3 none 8 both 1" "514 none 8 both 1" "2 tree 8 both 1" "2 none 0 both 1" "2 none 8 once 1" "2 none 8 both 0"; do
        # shellcheck disable=SC2086 # several words
        message_time $words
        [ "$status" -eq 2 ]
        # shellcheck disable=SC2154 # stderr is of bats
        [[ -z "$output" && "$stderr" == "usage: message_time"* ]]
    done
}

@test "one figure: every way, on one core, on several, and with messages larger than a channel" {
    for words in "both none 8 8" "turns one 2 8" "both cores 4 64" "both none 4 200000" "turns none 2 200000"; do
        read -r way bind ranks bytes <<<"$words"
        message_time "$ranks" "$bind" "$bytes" "$way" 0.05
        [ "$status" -eq 0 ]
        [[ "$output" =~ ^"message_time $words "[1-9][0-9]*(\ [0-9]+\.[0-9]+){3}$ ]]
        awk '{ exit !($7 > 0 && $8 > 0 && $8 <= $9) }' <<<"$output"
    done
    [ -z "$(find "$work" -mindepth 2)" ]
}

@test "tables of all classes, both ways" {
    message_time 0.002
    [ "$status" -eq 0 ]
    [ "$(grep -c "ranks\? a core" <<<"$output")" -eq 10 ]
    [[ "$output" == *"in turns"*"2 ranks, one core"*"both ways"*"32 ranks a core"* ]]
}

@test "a rank that is killed ends it, and nothing is left" {
    "$MESSAGE_TIME" 16 none 8 both 30 >/dev/null &
    pid=$!
    for ((i = 0; i < 500; i++)); do
        [ "$(pgrep -c -P "$pid")" -ne 16 ] || break
        sleep 0.01
    done
    kill -KILL "$(pgrep -P "$pid" | tail -n 1)"
    code=0
    wait "$pid" || code=$?
    [ "$code" -eq 1 ]
    [ -z "$(left_behind "$pid")" ]
}
