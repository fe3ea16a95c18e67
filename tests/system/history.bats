#!/usr/bin/env bats
# The last operations of ranks: ftcoll-status --history, ftrun --timeout and --report, on the
# board and by messages.
# shellcheck disable=SC2016,SC2030,SC2031,SC2153,SC2154 # commands for ranks; bats runs tests in subshells and sets variables

bats_require_minimum_version 1.5.0

setup() {
    export TMPDIR="$BATS_TEST_TMPDIR/tmp" XDG_CONFIG_HOME="$BATS_TEST_TMPDIR/config"
    mkdir -p "$TMPDIR" "$XDG_CONFIG_HOME"
    printf "[detector]\nheartbeat_timeout_ms = 20000\n" >"$XDG_CONFIG_HOME/ftcoll.ini"
    local name
    for name in $(compgen -v FTCOLL_); do unset "$name"; done
    export FTCOLL_COLLECTIVES_ALGORITHM=${ALGORITHM:-auto}
    cd "$BATS_TEST_TMPDIR" || return 1
}

teardown() {
    if [ -z "$BATS_TEST_COMPLETED" ]; then tail -n 40 out err json 2>/dev/null || true; fi
    if [ -n "${pid:-}" ]; then
        kill "$pid" 2>/dev/null || true
        wait "$pid" || true
    fi
}

# Starts four ranks that call an allreduce each millisecond. If WHAT is not "pace", rank 2 leaves
# the loop before operation 20.
start() { # WHAT [ftrun options]
    local what=$1
    shift
    "$FTRUN" -np 4 "$@" sh -c 'what=pace; if [ "$FTCOLL_RANK" = 2 ]; then what=$1; fi; exec "$LOOP_APP" $what 100' _ "$what" \
        >out 2>err </dev/null 3>&- &
    pid=$!
}

# Asks for all histories. A job with failed ranks has exit code 3.
ask() {
    job=$(find /dev/shm -maxdepth 1 -name "ftcoll-$(id -u)-$pid.*" | sed 's/.*-//')
    [ -n "$job" ] || return 1
    "$STATUS" -n --json --history all "$job" >json || [ $? -eq 3 ]
}

# look FILTER: asks for the histories of the job until jq's FILTER holds, at most 30 s.
look() {
    local end=$((SECONDS + 30))
    until ask && jq -ne "input.jobs[0] | $1" json >/dev/null; do
        [ "$SECONDS" -lt "$end" ] || { echo "in vain: $1"; return 1; }
        sleep 0.05
    done
}

@test "the last operations of a rank that runs" {
    start pace
    look '[.ranks[] | .history | length == 256] | all'
    jq -e '.jobs[0].ranks | map(.history | map(.operation == "allreduce" and .communicator_name == "world" and .bytes == 4) | all) | all' json
    jq -e '.jobs[0].ranks[1].history | [.[].number] == (. | sort_by(.called_ns) | [.[].number])' json
    jq -e '.jobs[0].ranks[1].history | map(select(.returned_ns != null) | .returned_ns >= .called_ns) | all' json
    COLUMNS=300 run "$STATUS" -n --history 1 "$job"
    [ "$(grep -c "^HISTORY of rank" <<<"$output")" -eq 1 ]
    [ "$(grep -c "^allreduce [0-9]" <<<"$output")" -ge 250 ]
    run ! "$STATUS" -n --history 4 "$job"
    [[ $output == *"no such rank"* ]]
}

@test "the last operations of a rank that was killed, while the job goes on" {
    start pace -f 1
    look '[.ranks[] | .returned > 20] | all'
    kill -9 "$(jq '.jobs[0].ranks[2].pid' json)"
    look '.ranks[2].state == "failed" and (.ranks[0].history[-1].agreed_failed == 1)'
    jq -e '.jobs[0].ranks[2].history | length > 20 and .[-1].operation == "allreduce" and (.[-1].agreed_failed | IN(0, null))' json
    # The others are past the last operation of the dead rank.
    jq -e '.jobs[0] | .ranks[0].history[-1].number > .ranks[2].history[-1].number' json
    run "$STATUS" -n --history 2 "$job"
    [[ $output == *"HISTORY of rank 2, which failed (signal 9 (KILL))"* ]]
}

@test "a rank that waits shows for whom, and since when" {
    start sleep
    look '[.ranks[0, 1, 3] | .history[-1] | .number == 20 and .returned == 0 and .waits_for_rank != null and .waits_since_ns >= .called_ns] | all'
    jq -e '.jobs[0].ranks[2].history | ([.[].count] | add) == 20 and (.[-1] | .returned == .count)' json
}

@test "--timeout prints the last operations of the rank that is awaited, and of one that waits" {
    start sleep --timeout 4
    wait "$pid" || [ $? -eq 124 ]
    pid=
    grep -q "the last operations of rank 2:" err
    grep -qE "allreduce ([0-9]+-)?19 .* ok$" err
    grep -q "the last operations of rank [013]:" err
    grep -qE "allreduce 20 .* under way$" err
}

# Starts ranks, and kills rank 2 when all have called more operations than a ring holds. Ends the
# job when the others have gone on without it.
kill_one() { # [ftrun options]
    start pace -f 1 "$@"
    look '[.ranks[] | .returned > 300] | all'
    kill -9 "$(jq '.jobs[0].ranks[2].pid' json)"
    look '[.ranks[0, 1, 3] | .history[-1].agreed_failed == 1] | all'
    kill "$pid"
    wait "$pid" || true
    pid=
}

@test "--report has the last operations of ranks that failed" {
    kill_one --report report
    jq -e '.ranks[2].history | length == 16 and .[-1].operation == "allreduce"' report
    jq -e '[.ranks[] | has("history") == .failed] | all' report
}

@test "without histories there are none, and the job says why" {
    start pace --set trace.history=off
    look '[.ranks[] | .history == null and .returned > 5] | all'
    run "$STATUS" -n --history 0 "$job"
    [[ $output == *"none: [trace] history is off"* ]]
}
