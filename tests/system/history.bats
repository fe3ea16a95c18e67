#!/usr/bin/env bats
# The last operations of ranks: ftcoll-status --history, ftrun --timeout, --report and --trace, on
# the board and by messages.
# shellcheck disable=SC2016,SC2030,SC2031,SC2034,SC2153,SC2154 # commands for ranks; bats runs tests in subshells and sets variables

bats_require_minimum_version 1.5.0

load loop_helper

ini=$'[detector]\nheartbeat_timeout_ms = 20000\n'

# Asks for all histories. A job with failed ranks has exit code 3.
ask() {
    "$STATUS" -n --json --history all "$job" >json || [ $? -eq 3 ]
}

look() { # FILTER
    look_with ask "$1"
}

# Is it a trace that a viewer takes? Complete events need a duration, instants a scope.
is_trace() { # FILE
    jq -e '(.traceEvents | length > 0) and (.traceEvents | map(
        (.ph == "M" and (.args | type == "object")) or
        (.ph == "X" and .ts >= 0 and .dur >= 0 and (.name | type == "string") and .cat == "operation") or
        (.ph == "i" and .ts >= 0 and (.s | IN("g", "p", "t"))) | . ) | all) and
        (.traceEvents | map(.pid | type == "number") | all)' "$1" >/dev/null
}

@test "the last operations of a rank that runs" {
    start pace
    look '[.ranks[] | .history | length == 257] | all' # a ring, and the last one
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

@test "--trace has each operation, and the death" {
    kill_one --trace trace
    is_trace trace
    [ ! -e trace.node0 ]
    # Each operation once. A busy machine may have overwritten some.
    jq -e '[.traceEvents[] | select(.ph == "X" and .pid == 0 and .name == "allreduce") | .args.number] |
        length > 0 and (unique | length) == length' trace
    jq -e '([.traceEvents[] | select(.ph == "X" and .pid == 0) | .args.count] | add) +
        32 * .otherData.overwritten_entries > 300' trace
    jq -e '[.traceEvents[] | select(.cat == "death" and .pid == 2)] | length == 1 and .[0].args.cause == "signal"' trace
    jq -e '[.traceEvents[] | select(.cat == "notice" and .args.failures_known == 1) | .pid] | contains([0, 1, 3])' trace
    # What the rank called begins before its death.
    jq -e '.traceEvents | map(select(.cat == "death" and .pid == 2))[0].ts as $death |
        map(select(.ph == "X" and .pid == 2) | .ts <= $death) | all' trace
}

@test "operations that come faster than they can be copied are counted, in words and in the trace" {
    local last
    start pace --trace trace
    look '[.ranks[] | .returned > 20] | all'
    kill -STOP "$pid" # it copies nothing
    ask
    last=$(jq '[.jobs[0].ranks[].history[-1].number] | max' json)
    look "[.ranks[] | .history[0].number > $last + 64] | all" # 64: two of the longest entries
    kill -CONT "$pid"
    kill "$pid"
    wait "$pid" || true
    pid=
    is_trace trace
    grep -qE "the trace trace lacks [0-9]+ entries" err
    jq -e '.otherData.overwritten_entries > 0' trace
    jq -e '([.traceEvents[] | select(.cat == "overwritten") | .args.entries] | add) == .otherData.overwritten_entries' trace
}

@test "an operation in which the job was killed is in the trace" {
    start sleep --timeout 4 --trace trace
    wait "$pid" || [ $? -eq 124 ]
    pid=
    is_trace trace
    jq -e '[.traceEvents[] | select(.ph == "X" and .args.number == 20 and .args.returned == 0) | .pid] | sort == [0, 1, 3]' trace
}

@test "a trace of two hosts has the ranks of both, and the death on one" {
    local outer
    "$FTRUN" --engine local --set detector.heartbeat_timeout_ms=60000 -np 2 "$FTRUN" --engine pmix -np 4 -f 1 --trace trace \
        --set collectives.algorithm=auto "$LOOP_APP" pace 100 >out 2>err </dev/null 3>&- &
    outer=$!
    for ((end = SECONDS + 30; SECONDS < end; )); do # one of the agents, when both are there
        [ "$(pgrep -c -P "$outer")" -ne 2 ] || break
        sleep 0.05
    done
    pid=$(pgrep -o -P "$outer")
    look '[.ranks[] | select(.history != null) | .returned > 50] | length == 2 and all'
    kill -9 "$(jq '.jobs[0].ranks[2].pid' json)"
    look '[.ranks[] | select(.history != null and .state != "failed") | .history[-1].agreed_failed == 1] | all'
    kill "$outer"
    wait "$outer" || true
    pid=
    is_trace trace
    [ -z "$(compgen -G "trace.*")" ]
    jq -e '[.traceEvents[] | select(.ph == "X") | .pid] | unique == [0, 1, 2, 3]' trace
    jq -e '[.traceEvents[] | select(.cat == "death" and .pid == 2) | .args.cause] == ["signal"]' trace
    jq -e '[.traceEvents[] | select(.name == "process_labels") | .args.labels[:6]] == ["node 0", "node 0", "node 1", "node 1"]' trace
    # The death cost the survivors another ballot.
    jq -e '[.traceEvents[] | select(.cat == "ballot" and .args.s + .args.i > 0)] | length > 0' trace
    jq -e '.otherData.files == 2 and .otherData.nodes == 2' trace
    # The two clocks are one: an operation of all begins everywhere before it ends anywhere. Reads
    # of two clocks are some microseconds apart.
    jq -e '[.traceEvents[] | select(.ph == "X" and .args.number == 5)] | length == 4 and
        (map(.ts) | max) < (map(.ts + .dur) | min) + 100' trace
}

@test "a trace that cannot be written ends the job before it starts" {
    run "$FTRUN" -np 2 --trace /none/such true
    [ "$status" -eq 1 ]
    [[ $output == *"cannot write the trace"* ]]
    mkfifo pipe
    run "$FTRUN" -np 2 --trace pipe true
    [ "$status" -eq 1 ]
    run "$FTRUN" -np 2 --trace trace --set trace.history=off true
    [ "$status" -eq 2 ]
    [[ $output == *"[trace] history"* ]]
}

start_app() { # STORY [ftrun options]
    local story=$1
    shift
    "$FTRUN" -np 4 "$@" "$HISTORY_APP" "$story" >out 2>err </dev/null 3>&- &
    pid=$!
}

@test "communicators, requests, creations and frees of two threads, and a death among them" {
    start_app busy -f 1 --trace trace --report report
    look '[.ranks[] | .returned > 300] | all'
    kill -9 "$(jq '.jobs[0].ranks[2].pid' json)"
    look '[.ranks[0, 1, 3] | .history |
        map(select(.agreed_failed == 1) | .communicator_name) | unique == ["rows", "world"]] | all'
    jq -e '.jobs[0].ranks[0, 2].history | [.[] | select(.request) | [.operation, .communicator_name]] | unique == [["allreduce", "world"]]' json
    jq -e '.jobs[0].ranks[0, 2].history | map(.operation) | contains(["allreduce", "barrier", "split", "free"])' json
    jq -e '.jobs[0].ranks[0].history | map(select(.request and .returned == 1) | .called_ns <= .started_ns and
        .started_ns <= .decided_ns and .decided_ns <= .returned_ns and .number != null) | all' json
    jq -e '.jobs[0].ranks[0, 2].history | map(.called_ns) | . == sort' json
    COLUMNS=300 run "$STATUS" -n --history 0 "$job"
    grep -qE "^iallreduce [0-9]+ +world " <<<"$output"
    grep -qE "^allreduce [0-9-]+ +rows " <<<"$output"
    kill "$pid"
    wait "$pid" || true
    pid=
    is_trace trace
    jq -e '.ranks[2].history | length == 16 and (map(.communicator_name) | unique - ["rows", "world"] | length <= 1)' report
    jq -e '[.traceEvents[] | select(.pid == 0 and .name == "thread_name") | .args.name] | contains(["world", "rows", "requests 0", "requests 1"])' trace
    # What is on a track follows each other, also where requests overlap. Times have nanoseconds.
    jq -e '[.traceEvents[] | select(.ph == "X")] | group_by([.pid, .tid]) | map(sort_by(.ts) |
        . as $one | [range(1; length)] | map($one[. - 1].ts + $one[. - 1].dur <= $one[.].ts + 0.1) | all) | all' trace
}

@test "two threads that wait, and a request, are all shown" {
    start_app stuck --timeout 6
    look '[.ranks[0, 1, 3] | .history | map(select(.returned == 0) | [.operation, .communicator_name, .request]) | sort ==
        [["allreduce", "columns", true], ["allreduce", "rows", false], ["barrier", "world", false]]] | all'
    jq -e '[.jobs[0].ranks[2].history[] | select(.returned == 0)] == []' json
    wait "$pid" || [ $? -eq 124 ]
    pid=
    grep -qE "  iallreduce( [0-9]+)? +columns .* under way$" err
    grep -qE "  allreduce [0-9]+ +rows .* under way$" err
    grep -qE "  barrier [0-9]+ +world .* under way$" err
}

@test "without histories there are none, and the job says why" {
    start pace --set trace.history=off
    look '[.ranks[] | .history == null and .returned > 5] | all'
    run "$STATUS" -n --history 0 "$job"
    [[ $output == *"none: [trace] history is off"* ]]
}
