#!/usr/bin/env bats
# What ftcoll-status and ftrun --timeout say of running jobs, on the board and by messages.
# shellcheck disable=SC2030,SC2031,SC2153,SC2154 # bats runs tests in subshells and sets variables

load loop_helper

# Its exit code says whether all is well.
ask() {
    "$STATUS" --json "$job" >json || true
}

# Waits for FILTER, and then puts the page into $output.
look() { # FILTER
    look_with ask "$1"
    COLUMNS=200 run "$STATUS" "$job"
    echo "$output"
}

has() { # TEXT: blanks in a row count as one
    tr -s ' ' <<<"$output" | grep -qF -- "$1"
}

@test "the algorithm is named, not auto" {
    start pace
    look '([.ranks[] | select(.returned > 100)] | length == 4) and
        ([.ranks[].activity | .communicator == 1 and (.algorithm == "board" or .algorithm == "tree")] | all)'
    [ "$(jq -r '.jobs[0].settings["collectives.algorithm"]' json)" = "${ALGORITHM:-board}" ]
    if [ "${ALGORITHM:-board}" = board ]; then has "algorithm board"; else has "algorithm tree"; fi
}

@test "a launcher that was stopped is shown as such" {
    start pace
    look ".launcher_alive and (.launcher_stopped | not) and .state == \"running\""
    kill -STOP "$pid"
    look ".launcher_stopped"
    has "(stopped)"
    has "the launcher is stopped: no death is noticed until it goes on (kill -CONT $pid)"
    kill -CONT "$pid"
    look ".launcher_stopped | not"
}

@test "a loop that runs: calls are counted, and nobody is far behind" {
    start pace
    look '[.ranks[] | select(.returned > 100)] | length == 4'
    before=$(jq '[.jobs[0].ranks[].called] | min' json)
    look "(.ranks | all(.called > $before + 100 and .lag <= 1 and .called - .returned <= 1))"
}

@test "one rank computes: the others are in the allreduce, and wait for it in the end" {
    start compute
    look '[.ranks[] | select(.activity.operation == "allreduce" and .activity.number == 20)] | length == 3'
    look '[.ranks[] | select(.finally_waits_for == 2)] | length == 3'
    jq -e '.jobs[0].ranks[2] | .called == 20 and .returned == 20 and .lag == 1 and .awaited_by == 3 and
        .activity.waits_for_rank == null' json
    has "all finally wait for rank 2: outside for"
    # The time grows as long as the activity lasts.
    look '.ranks | all(.activity.since_ns > 1500000000)'
}

@test "one rank is stopped: its heartbeat is still, and everybody waits for it" {
    start pace --set detector.heartbeat_timeout_ms=60000
    look '.ranks[1].returned > 100'
    kill -STOP "$(jq '.jobs[0].ranks[1].pid' json)"
    look '(.ranks[1].heartbeat == "still") and ([.ranks[] | select(.rank != 1 and .finally_waits_for == 1)] | length == 3)'
    has "all finally wait for rank 1"
    has "heartbeat still"
    kill -CONT "$(jq '.jobs[0].ranks[1].pid' json)"
    look '(.ranks[1].heartbeat == "moving") and .failed == []'
}

@test "one rank has died: the survivors show it in L and, as soon as they agreed, in G" {
    start pace --kill 1@0.5
    look '.failed == [1] and ([.ranks[] | select(.known == [1] and .agreed == [1])] | length == 3)'
    has "agreed (G): 1 at ranks 0,2-3"
    has "known (L): 1 at ranks 0,2-3"
    jq -e '[.jobs[0].ranks[0,2,3].activity.agreed_failed] == [1, 1, 1]' json
}

@test "--timeout says who waits for whom" {
    start compute --timeout 5
    status=0
    wait "$pid" || status=$?
    cat err
    [ "$status" -eq 124 ]
    grep -q "in allreduce, operation 20, for .* s: waits for rank" err
    grep -q "rank 2: outside the library for" err
    grep -q "3 of the 3 waiting ranks finally wait for rank 2: outside the library" err
}

@test "--report counts the operations, and messages only where there are any" {
    timeout -s KILL 60 "$FTRUN" -np 4 --report report.json "$LOOP_APP" pace 0.2
    jq -e '[.ranks[].counters.operations] | min > 20 and min == max' report.json
    sent=$(jq '[.ranks[].counters.sent[]] | add' report.json)
    if [ "${ALGORITHM:-board}" = board ]; then [ "$sent" -eq 0 ]; else [ "$sent" -gt 0 ]; fi
}

deadlock="ranks 0 and 1 wait for each other: rank 0 in rows for rank 1, rank 1 in columns for rank 0"

@test "two communicators used in opposite orders: the deadlock is told in words" {
    "$FTRUN" -np 2 "$OPPOSITE_APP" >out 2>err </dev/null 3>&- &
    pid=$!
    look '.deadlocks | length == 1'
    jq -e --arg text "$deadlock" '.jobs[0] | .deadlocks == [{ranks: [0, 1], text: $text}] and
        ([.ranks[].activity.communicator_name] == ["rows", "columns"]) and
        ([.ranks[].activity.communicator] | .[0] > 1 and .[1] > .[0])' json
    has "OPERATION IN FOR"
    has "allreduce 1 rows"
    has "allreduce 1 columns"
    has "all finally wait for rank 0: in allreduce 1 in rows for"
    has "$deadlock"
}

@test "--timeout tells the deadlock, too" {
    run timeout -s KILL 60 "$FTRUN" -np 2 --timeout 6 "$OPPOSITE_APP"
    echo "$output"
    [ "$status" -eq 124 ]
    has "rank 0: in allreduce in rows, operation 1, for "
    has "rank 1: in allreduce in columns, operation 1, for "
    has "2 of the 2 waiting ranks finally wait for rank 0: in allreduce in rows, "
    has "$deadlock"
}

@test "who waits in a send or a receive says for whom, and is not outside" {
    "$FTRUN" -np 5 "$MESSAGES_APP" hang >out 2>err </dev/null 3>&- &
    pid=$!
    look '([.ranks[].finally_waits_for] == [2, 2, null, null, null]) and
        ([.ranks[].activity.operation] == ["recv", "send", "none", "wait", "none"])'
    jq -e '[.jobs[0].ranks[].activity.message] == [{tag: 7, bytes: 16}, {tag: 3, bytes: 5242880}, null,
        {tag: null, bytes: 1}, null]' json
    jq -e '.jobs[0].ranks | ([.[0,1,3].activity.waits_for] == ["a message", "the receiver of a message", "a message"]) and
        ([.[0,1,3].activity.waits_for_rank] == [1, 2, null]) and .[0].activity.communicator_name == "reversed"' json
    grep -Eq "recv +reversed .* from 1, tag 7, 16 B" <<<"$output"
    grep -Eq "send +world .* to 2, tag 3, 5242880 B" <<<"$output"
    has "all finally wait for rank 2: outside for"
    run "$STATUS" --history all "$job"
    echo "$output"
    has "recv reversed 16 - "
    has "send world 5242880 - "
    has "wait world 1 - "
    [ "$(grep -c "under way" <<<"$output")" -eq 3 ]
    # The time grows as long as the wait lasts.
    look '[.ranks[0,1,3].activity.since_ns] | all(. > 2500000000)'
}

@test "--timeout follows sends and receives" {
    run timeout -s KILL 60 "$FTRUN" -np 5 --timeout 6 "$MESSAGES_APP" hang
    echo "$output"
    [ "$status" -eq 124 ]
    has "rank 0: in recv from 1, tag 7, 16 B in reversed, for "
    has " s: waits for rank 1 (a message)"
    has "rank 1: in send to 2, tag 3, 5242880 B, for "
    has " s: waits for rank 2 (the receiver of a message)"
    has "rank 3: in wait from any, any tag, 1 B, for "
    has " s: waits for any rank"
    has "ranks 2,4: outside the library for "
    has "2 of the 2 waiting ranks finally wait for rank 2: outside the library"
}

@test "--report names the communicator in which a rank was when it failed" {
    timeout -s KILL 60 "$FTRUN" -np 2 -f 1 --kill 1@1 --report report.json "$OPPOSITE_APP" || true
    jq -e '.ranks[1] | .failed and .communicator.name == "columns" and
        (.communicator.number | test("^[0-9]+[.][01]$"))' report.json
    jq -e '.ranks[0] | has("communicator") | not' report.json
}

@test "a job that only uses the world shows no communicator, and no deadlock" {
    start compute
    look '([.ranks[] | select(.finally_waits_for == 2)] | length == 3) and .deadlocks == []'
    if grep -E "OPERATION +IN|world" <<<"$output"; then false; fi
}
