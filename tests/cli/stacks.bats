#!/usr/bin/env bats
# ftcoll-status --stacks. The tests use eu-stack or gdb where they are installed, and programs of
# these names that misbehave. FTRUN and SPIN name the launcher and a program whose rank 1 loops for
# ever.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154 # bats runs tests in subshells; job, jobs and work are the helper's

load helper

# tool TEXT: puts a shell script in the place of eu-stack. The script has the process of the rank in
# $2.
tool() {
    mkdir -p "$work/bin"
    printf '#!/bin/bash\n%s\n' "$1" >"$work/bin/eu-stack"
    chmod +x "$work/bin/eu-stack"
    PATH="$work/bin:$PATH"
}

# Starts a job whose only rank, 0, is a process of its own. Its pid goes to $sleeper.
start_sleeper() {
    start 2 1
    "$@" sleep 300 3>&- &
    sleeper=$!
    until grep -q sleep "/proc/$sleeper/comm"; do sleep 0.01; done
    tell "process 0 $sleeper" "exit 1 0"
}

teardown() {
    if [ -n "${sleeper:-}" ]; then kill -KILL "$sleeper" 2>/dev/null || true; fi
    if [ -n "${launcher:-}" ]; then kill -TERM "$launcher" 2>/dev/null || true; fi
    stop_jobs
}

state_of() {
    sed 's/.*) //' "/proc/$1/stat" | cut -d' ' -f1
}

# real NAME: runs a job with a rank that loops for ever, and looks at it with that tool alone.
real() {
    local deadline=$((SECONDS + 30)) path
    path=$(command -v "$1") || skip "no $1"
    mkdir "$work/only"
    ln -s "$path" "$work/only/$1"
    timeout -k 1 60 "$FTRUN" -np 3 -f 1 --set detector.heartbeat_timeout_ms=20000 "$SPIN" >"$work/out" 2>&1 </dev/null 3>&- &
    launcher=$!
    until job=$(pgrep -P "$launcher") && # launcher is the process of timeout
        "$STATUS_TOOL" --no-sample --json "$job" 2>/dev/null | jq -ne '[input.jobs[0].ranks[].called] == [1, 0, 1]' >/dev/null; do
        [ "$SECONDS" -lt "$deadline" ] || return 1
        sleep 0.1
    done
    PATH="$work/only" run "$STATUS_TOOL" --stacks --no-sample "$job"
    echo "$output"
    [ "$status" -eq 0 ]
    has "STACK of rank 0, process "
    sed -n '/^STACK of rank 1,/,/^$/p' <<<"$output" | grep -qE '^#.*turn_for_ever'
    sed -n '/^STACK of rank 2,/,/^$/p' <<<"$output" | grep -qE '^#.*ftc_allreduce'
    PATH="$work/only:$PATH" run "$STATUS_TOOL" --stacks --json "$job"
    jq -e '.jobs[0].ranks | length == 3 and all(.stack.error == null)
        and (.[1].stack.lines | any(startswith("#") and contains("turn_for_ever")))
        and (.[0].stack.lines | any(startswith("#") and contains("ftc_allreduce")))' <<<"$output" >/dev/null
    # No process stayed stopped.
    "$STATUS_TOOL" "$job" | grep -q "failed 0"
    for rank in 0 1 2; do
        [[ $(state_of "$(jq ".jobs[0].ranks[$rank].pid" <<<"$output")") == [RSD] ]]
    done
}

@test "a rank that turns for ever is seen to, by eu-stack" {
    real eu-stack
}

@test "a rank that turns for ever is seen to, by gdb" {
    real gdb
}

@test "who does not ask gets no stacks" {
    start_sleeper
    run "$STATUS_TOOL" "$job"
    lacks STACK
    run "$STATUS_TOOL" --json "$job"
    jq -e '.jobs[0].ranks | all(.stack == null)' <<<"$output"
}

@test "frames and threads are kept, what else a tool says is not; nothing reaches the terminal as it is" {
    start_sleeper
    tool 'printf "PID %s - process\nTID 7:\n#0  0x1 main \e[31mred\nwarning: talk\n" "$2"; [ "$1" = -p ]'
    run "$STATUS_TOOL" --stacks "$job"
    has "STACK of rank 0, process $sleeper"
    has "TID 7:"
    has "#0 0x1 main ?[31mred"
    lacks talk
    lacks "rank 1, process" # it has ended
    run "$STATUS_TOOL" --stacks --json "$job"
    jq -e '.jobs[0].ranks[0].stack == {lines: ["TID 7:", "#0  0x1 main ?[31mred"], error: null} and .jobs[0].ranks[1].stack == null' <<<"$output"
}

@test "a tool that shows nothing is quoted" {
    start_sleeper
    tool 'echo "eu-stack: dwfl_linux_proc_attach pid $2: Operation not permitted" >&2; exit 2'
    run "$STATUS_TOOL" --stacks "$job"
    [ "$status" -eq 0 ]
    has "eu-stack shows no stack: eu-stack: dwfl_linux_proc_attach pid $sleeper: Operation not permitted"
}

@test "a tool that is late is ended with all that it has started" {
    start_sleeper
    tool "sleep 200 & echo \$! \$\$ >$work/late; wait"
    run timeout 30 "$STATUS_TOOL" --stacks "$job"
    [ "$status" -eq 0 ]
    has "eu-stack took longer than 500 ms"
    local pid late deadline=$((SECONDS + 10))
    read -r -a late <"$work/late"
    for pid in "${late[@]}"; do # a zombie is whoever's who has inherited it
        until [ ! -e "/proc/$pid" ] || [ "$(state_of "$pid")" = Z ]; do
            [ "$SECONDS" -lt "$deadline" ] || return 1
            sleep 0.05
        done
    done
}

@test "one that never stops talking is ended, too" {
    start_sleeper
    tool 'exec yes "#0 main"'
    run timeout 30 "$STATUS_TOOL" --stacks "$job"
    [ "$status" -eq 0 ]
    has "said too much"
}

@test "a tool that is ended while it stops a rank leaves the rank running" {
    start_sleeper
    tool 'kill -STOP "$2"; sleep 200'
    run timeout 30 "$STATUS_TOOL" --stacks "$job"
    has "eu-stack took longer"
    [ "$(state_of "$sleeper")" = S ]
}

@test "a rank that was stopped before stays so" {
    start_sleeper
    kill -STOP "$sleeper"
    until [ "$(state_of "$sleeper")" = T ]; do sleep 0.01; done
    tool 'sleep 200'
    run timeout 30 "$STATUS_TOOL" --stacks "$job"
    [ "$(state_of "$sleeper")" = T ]
}

@test "with neither tool a line says what to install" {
    start_sleeper
    PATH=/nonexistent run "$STATUS_TOOL" --stacks "$job"
    [ "$status" -eq 0 ]
    has "no stacks: neither eu-stack nor gdb is there: install elfutils or gdb"
    local json
    json=$(PATH=/nonexistent "$STATUS_TOOL" --stacks --json "$job")
    jq -e '.jobs[0].ranks[0].stack.error | contains("install elfutils")' <<<"$json"
}

@test "a process of somebody else is refused" {
    [ "$(id -u)" -eq 0 ] || skip "needs to start one as somebody else"
    start_sleeper setpriv --reuid=65534 --clear-groups
    tool 'echo "#0 looked"'
    run "$STATUS_TOOL" --stacks "$job"
    has "refused: process $sleeper is of user 65534"
    lacks looked
}

@test "a process that is gone is not looked at, nor who has its pid" {
    start_sleeper
    kill -KILL "$sleeper"
    wait "$sleeper" || true
    tool 'echo "#0 looked"'
    run "$STATUS_TOOL" --stacks "$job"
    has "its process is not there"
    lacks looked
}
