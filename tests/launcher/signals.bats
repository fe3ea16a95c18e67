#!/usr/bin/env bats
# Signals to ftrun.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154 # commands for ranks; bats runs tests in subshells and sets variables

load helper

# Succeeds when so many ranks have written "ready". They write it once their traps are set. The
# tests call it in wait_until.
ready() { [ "$(grep -c ready out)" -eq "$1" ]; }

@test "SIGUSR1, SIGUSR2 and SIGTERM reach every rank" {
    for signal in USR1 USR2 TERM INT; do
        start -np 3 sh -c "trap 'echo got; exit 0' $signal; echo ready; while :; do sleep 0.05; done"
        wait_until "ready 3"
        kill "-$signal" "$pid"
        finish
        [ "$status" -eq 0 ]
        [ "$(grep -c got out)" -eq 3 ]
        nothing_left "$pid"
    done
}

@test "SIGINT that ends the ranks gives 130, without a line for each" {
    start -np 8 sh -c 'echo ready; exec sleep 100'
    wait_until "ready 8"
    kill -INT "$pid"
    finish
    cat err
    [ "$status" -eq 130 ]
    [ "$(wc -l <err)" -le 3 ]
}

@test "ranks that ignore SIGTERM live on until the second one" {
    start -np 2 sh -c 'trap "" TERM; echo ready; sleep 100'
    wait_until "ready 2"
    kill -TERM "$pid"
    wait_until 'grep -q "got SIGTERM; passed on to 2 ranks" err'
    kill -0 "$pid"
    kill -TERM "$pid"
    finish
    [ "$status" -eq 143 ]
    nothing_left "$pid"
}

@test "a second SIGINT kills" {
    start -np 2 sh -c 'trap "" INT; echo ready; sleep 100'
    wait_until "ready 2"
    kill -INT "$pid"
    wait_until 'grep -q "got SIGINT" err'
    kill -INT "$pid"
    finish
    [ "$status" -eq 130 ]
    grep -q "got SIGINT again; killing all ranks" err
    nothing_left "$pid"
}

@test "SIGHUP ends the job, but not under nohup" {
    start -np 2 sh -c 'echo ready; exec sleep 100'
    wait_until "ready 2"
    kill -HUP "$pid"
    finish
    [ "$status" -eq 129 ]
    nothing_left "$pid"
    : >out
    (trap '' HUP; exec "$FTRUN" -np 2 sh -c 'echo ready; while [ ! -e stop ]; do sleep 0.05; done') >out 2>err 3>&- &
    pid=$!
    started+=("$pid")
    wait_until "ready 2"
    kill -HUP "$pid"
    touch stop
    finish
    [ "$status" -eq 0 ]
}

@test "a stopped ftrun stops its ranks, and both go on" {
    # The ranks are not shells with children: a shell that is stopped inside vfork() would leave its
    # parent in state D.
    start -np 2 sh -c 'echo $$ >>pids; echo ready; exec sleep 1000'
    wait_until "ready 2"
    wait_until 'grep -q sleep /proc/$(head -n 1 pids)/comm'
    kill -TSTP "$pid"
    wait_until 'grep -q "^State:.T" /proc/$(head -n 1 pids)/status'
    wait_until 'grep -q "^State:.T" "/proc/$pid/status"'
    kill -CONT "$pid"
    wait_until '! grep -q "^State:.T" /proc/$(head -n 1 pids)/status'
    [ ! -s err ]
    kill -TERM "$pid"
    finish
    [ "$status" -eq 143 ]
}

@test "ranks start with default signals and an empty mask" {
    run "$FTRUN" -np 1 sh -c 'grep -E "Sig(Blk|Ign)" /proc/self/status'
    [ "${lines[0]##*[[:space:]]}" = 0000000000000000 ]
    [ "${lines[1]##*[[:space:]]}" = 0000000000000000 ]
}

@test "SIGUSR1 that comes while ranks are being started reaches all of them" {
    # Rank 0 sends the signal to ftrun as soon as it runs.
    run "$FTRUN" -np 30 sh -c 'trap "echo got; exit 0" USR1; if [ $FTCOLL_RANK = 0 ]; then kill -USR1 $PPID; fi
        while :; do sleep 0.05; done'
    # The signal killed the ranks that it reached before their trap was set.
    [ "$status" -eq 0 ] || [ "$status" -eq 138 ]
    [ "$(grep -c -e got -e 'killed by signal 10' <<<"$output")" -eq 30 ]
}
