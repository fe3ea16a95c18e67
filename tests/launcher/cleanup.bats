#!/usr/bin/env bats
# However the job ends, it leaves nothing.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154 # commands for ranks; bats runs tests in subshells and sets variables

load helper

@test "after a normal end" {
    start -np 4 "$PMIX_PROBE"
    finish
    [ "$status" -eq 0 ]
    nothing_left "$pid"
}

@test "after a failure to start" {
    printf '#!/nonexistent/interpreter\n' >program
    chmod +x program
    start -np 4 ./program
    finish
    [ "$status" -eq 127 ]
    nothing_left "$pid"
}

@test "while it runs there is a segment and a private directory" {
    start -np 1 sh -c 'echo ready; while [ ! -e stop ]; do sleep 0.02; done'
    wait_until 'grep -q ready out'
    [ -n "$(segments_of "$pid")" ]
    [ "$(stat -c %a "/dev/shm/$(segments_of "$pid")")" = 600 ]
    [ "$(stat -c %a "$TMPDIR"/ftcoll-*/*)" = 700 ]
    touch stop
    finish
    nothing_left "$pid"
}

@test "processes that a rank leaves behind are killed" {
    start -np 2 sh -c 'sleep 1000 & echo $! >>pids; exit 0'
    finish
    [ "$status" -eq 0 ]
    # shellcheck disable=SC2046
    wait_until 'gone $(cat pids)'
    nothing_left "$pid"
}

@test "after SIGKILL to ftrun the ranks die, and the next ftrun removes the rest" {
    start -np 3 sh -c 'echo $$ >>pids; echo ready; exec sleep 1000'
    wait_until '[ "$(grep -c ready out)" -eq 3 ]'
    kill -KILL "$pid"
    finish
    [ "$status" -eq 137 ]
    wait_until 'gone $(cat pids)'
    run "$FTRUN" -np 1 true
    echo "$output"
    [ "$status" -eq 0 ]
    cleared_up "$pid"
}

@test "behind a wrapper, too" {
    start -np 2 sh -c '"$JOIN_PROBE" stall & echo $! >>pids; wait'
    wait_until '[ -e pids ] && [ "$(wc -l <pids)" -eq 2 ]'
    sleep 0.3
    kill -KILL "$pid"
    finish
    run "$FTRUN" -np 1 true
    echo "$output"
    [ "$status" -eq 0 ]
    wait_until 'gone $(cat pids)'
    cleared_up "$pid"
}

@test "SIGKILL at any time of the start" {
    for delay in 0 0.002 0.005 0.008 0.01 0.015 0.02 0.03; do
        start -np 4 sleep 1000
        sleep "$delay"
        kill -KILL "$pid"
        finish
    done
    run "$FTRUN" -np 1 true
    echo "$output"
    [ "$status" -eq 0 ]
    for one in "${started[@]}"; do cleared_up "$one"; done
}

@test "SIGTERM at any time of the start" {
    for delay in 0.002 0.005 0.008 0.01 0.015 0.02 0.03; do
        start -np 4 sleep 1000
        sleep "$delay"
        kill -TERM "$pid"
        finish
        [ "$status" -eq 143 ]
        nothing_left "$pid"
    done
}

@test "a SIGBUS that a process sends ends ftrun" {
    start -np 1 sh -c 'echo $$ >rank; exec sleep 1000'
    wait_until '[ -s rank ]'
    kill -BUS "$pid"
    finish
    [ "$status" -eq $((128 + $(kill -l BUS))) ]
    wait_until 'gone $(cat rank)'
    "$FTRUN" -np 1 true
    cleared_up "$pid"
}

@test "after another program has cut the segment short: a message, and the ranks are killed" {
    start -np 2 sh -c 'echo $$ >>pids; exec "$JOIN_PROBE" stall'
    wait_until '[ -e pids ] && [ "$(wc -l <pids)" -eq 2 ]'
    truncate -s 0 "/dev/shm/$(segments_of "$pid")"
    finish
    [ "$status" -eq 1 ]
    grep -q "ftrun: /dev/shm/ftcoll-.* was cut short by another program" err
    # shellcheck disable=SC2046
    wait_until 'gone $(cat pids)'
    nothing_left "$pid"
}
