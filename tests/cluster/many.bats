#!/usr/bin/env bats
# 64 hosts that ssh reaches, with two ranks each, share the processors of this machine. Ranks die
# one by one, then two hosts. The story prints how long the others took to know, and how long the
# start took.
# shellcheck disable=SC2153,SC2154,SC2016

bats_require_minimum_version 1.5.0

load jobs_helper

hosts=64
ranks=128
deaths=24
lost=(59 61) # their hosts have no victim among their ranks

setup_file() {
    "$CLUSTER" check --ssh || return 0
    cluster_of_file
    up --hosts $hosts --ssh
}

setup() {
    "$CLUSTER" check --ssh || skip "$("$CLUSTER" check --ssh 2>&1)"
    cluster_of_file
    started=()
    out=$BATS_TEST_TMPDIR/out
}

teardown() {
    local pid
    for pid in "${started[@]}"; do kill -KILL "$pid" 2>/dev/null || true; done
}

microseconds() {
    echo "${EPOCHREALTIME/[.,]/}"
}

start_witnesses() { # OPTION...
    begun=$(microseconds)
    timeout -s KILL 300 "$CLUSTER" exec host1 "$FTRUN" --ssh "ssh -F /run/cluster/ssh/config" "$@" -f 1 -np $ranks \
        --hosts "$(seq -s , -f host%g:2 $hosts)" "$WITNESS" $deaths $((2 * lost[0])) $((2 * lost[1])) >"$out" 2>&1 </dev/null 3>&- &
    pid=$!
    started+=("$pid")
}

# Strikes when rank 0 waits for the death.
strike() { # NUMBER COMMAND...
    wait_until "grep -q '^waiting $1$' '$out' || ! kill -0 $pid 2>/dev/null"
    sleep 0.2 # until the others wait, too
    echo "died $1 $(microseconds)" >>"$BATS_TEST_TMPDIR/struck"
    cluster "${@:2}"
}

# Prints the median and the maximum of the times from each death until the last survivor knew of it.
last_to_know() { # FIRST LAST
    cat "$BATS_TEST_TMPDIR/struck" "$out" | awk -v first="$1" -v last="$2" '
        $1 == "died" { died[$2] = $3 }
        $1 == "knows" && $3 > known[$2] { known[$2] = $3 }
        END { for (i = first; i <= last; i++) print (known[i] - died[i]) / 1000 }' |
        sort -n | awk '{ at[NR] = $1 } END { print at[int((NR + 1) / 2)], at[NR] }'
}

tell() {
    local what
    read -ra what < <(last_to_know 0 $((deaths - 1)))
    echo "# a rank dies, until the last of $((ranks - deaths)) and more ranks knows: ${what[0]} ms (median of $deaths), ${what[1]} ms (longest)" >&3
    read -ra what < <(last_to_know $deaths $deaths)
    echo "# a host is killed, until the last rank knows: ${what[0]} ms" >&3
    read -ra what < <(last_to_know $((deaths + 1)) $((deaths + 1)))
    echo "# a host is cut off, until the last rank knows: ${what[0]} ms" >&3
    echo "# from the start to the first result at all $ranks ranks: $((($(awk '$1 == "first" && $2 > t { t = $2 } END { print t }' "$out") - begun) / 1000)) ms" >&3
}

@test "64 hosts: ranks and hosts die, and nobody else is lost" {
    start_witnesses
    strike $deaths kill-host "host$((lost[0] + 1))"
    strike $((deaths + 1)) cut "host$((lost[1] + 1))"
    finish_job >/dev/null
    tell
    [ "$status" -eq 0 ]
    [ "$(grep -c "^end $((ranks - deaths - 4))$" "$out")" -eq $((ranks - deaths - 4)) ]
    [ "$(grep -c "is lost" "$out")" -eq 2 ]
    wait_until "! cluster exec host$((lost[1] + 1)) pgrep -f 'engine=guest|^$WITNESS' >/dev/null"
}
