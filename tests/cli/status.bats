#!/usr/bin/env bats
# ftcoll-status shows segments that fake_job filled (helper.bash).
# shellcheck disable=SC2154 # job, jobs and work are the helper's

load helper

@test "a quiet job: its ranks, nobody failed, exit code 0" {
    start 3 1 "./app one two"
    run "$STATUS_TOOL" "$job"
    [ "$status" -eq 0 ]
    has "job $job running np 3 f 1 failed 0"
    has "command: ./app one two"
    has "node testnode"
    has "algorithm tree broadcast binomial tree + none"
    has "scheme list share piggyback"
    lacks multicast
    has "2 joined"
    has "moving outside"
    has "no failed ranks"
    lacks finally
}

@test "failed ranks: cause, who saw it, who knows it, exit code 3" {
    start 8 2
    tell "fail 5 1 9 -1" "fail 6 3 0 2" "fail 1 2 7 -1"
    run "$STATUS_TOOL" "$job"
    [ "$status" -eq 3 ]
    has "5 signal 9 (KILL)"
    has "launcher 1 ms"
    has "6 stalled"
    has "rank 2 1 ms"
    has "1 exit 7"
    has "agreed (G): none at ranks 0,2-4,7"
    has "known (L): 1,5-6 at ranks 0,2-4,7"
}

@test "--failed shows the failed sets and no table" {
    start 4 1
    tell "fail 2 1 11 -1"
    run "$STATUS_TOOL" --failed "$job"
    [ "$status" -eq 3 ]
    has "2 signal 11 (SEGV)"
    lacks OPERATION
}

@test "a chain of waiting ends at the rank that computes" {
    start 8 2
    tell "call 0 1 812" "call 1 1 812" "call 2 1 812" "call 3 1 812" \
        "wait 0 1 1 1" "wait 1 2 2 2" "wait 2 1 3 1" "wait 3 2 7 1" "out 7 810"
    run "$STATUS_TOOL" "$job"
    [ "$status" -eq 0 ]
    has "allreduce 812"
    has "child 2 +1"
    has "lags by 3"
    has "all finally wait for rank 7: outside for"
}

@test "who waits for messages of gossip says so" {
    start 3 1
    tell "call 0 7 4" "wait 0 10 2 1" "call 1 7 4" "wait 1 8 0 1"
    run "$STATUS_TOOL" "$job"
    has "gossip 4"
    [[ $output =~ gossip\ 4\ .*gossip\ 2 ]]
    has "post 0"
    lacks null
}

@test "ranks that gossip and do not converge say since when, and who waits for whom" {
    start 3 1
    tell "call 0 7 4" "wait 0 10 2 1" "unsettled 0 125" "call 1 7 4" "wait 1 10 2 1" "call 2 7 4" "wait 2 10 0 1" "unsettled 2 4"
    run "$STATUS_TOOL" "$job"
    has "unsettled 2 min 5 s"
    has "ranks 0 -> 2 -> 0 wait for each other"
    run "$STATUS_TOOL" --json "$job"
    jq -e '.jobs[0].ranks | .[0].activity.unsettled_ns > 1e11 and .[1].activity.unsettled_ns == null' <<<"$output"
    tell "wait 0 8 2 1"
    run "$STATUS_TOOL" --json "$job"
    jq -e '.jobs[0].ranks[0].activity.unsettled_ns == null' <<<"$output"
}

@test "a rank that is in a call and shows no more of it is not outside" {
    start 4 1
    tell "call 0 1 7" "wait 0 9 2 1" "enter 2 7" "out 3 7"
    run "$STATUS_TOOL" "$job"
    has "all finally wait for rank 2: in call 7 for"
    [ "$(grep -c 'outside' <<<"$output")" -eq 2 ]
    run "$STATUS_TOOL" --json "$job"
    jq -e '.jobs[0].ranks[2] | .activity.operation == null and .activity.number == 7 and .called == 8 and .returned == 7' \
        <<<"$output"
}

@test "ranks in sends and receives say from or to whom, and the chain follows them" {
    start 6 1
    tell "message 0 1 7 800" "wait 0 14 1 1" "message 1 0 3 5242880" "wait 1 15 2 1" "out 2 0" \
        "message 3 1 -1 800" "wait 3 14 -1 1" "message 4 4 9 800" "wait 4 16 5 1" "message 5 4 -1 -1" "wait 5 14 -1 3"
    run "$STATUS_TOOL" "$job"
    grep -Eq "recv +[0-9.]+ s +- +from 1, tag 7, 800 B" <<<"$output"
    has " s - to 2, tag 3, 5242880 B"
    has " s - from any, any tag, 800 B"
    has " s - rest from 5, tag 9, 800 B"
    has " s - any of 3 requests"
    [ "$(grep -c "outside" <<<"$output")" -eq 2 ] # rank 2, in the table and below it
    has "all finally wait for rank 2: outside for"
    run "$STATUS_TOOL" --json "$job"
    jq -e '.jobs[0].ranks | .[0].activity == (.[0].activity + {operation: "recv", number: null,
            waits_for: "a message", waits_for_rank: 1, waits: 1, message: {tag: 7, bytes: 800}}) and
        .[3].activity.message == {tag: null, bytes: 800} and .[3].activity.waits_for_rank == null and
        .[5].activity.message == {tag: null, bytes: null} and .[5].activity.waits == 3 and
        [.[].finally_waits_for] == [2, 2, null, null, null, null] and .[2].activity.message == null' <<<"$output"
}

@test "a chain of waiting ends at a rank that receives from any" {
    start 3 1
    tell "call 0 1 10" "wait 0 1 1 1" "message 1 1 5 800" "wait 1 14 -1 1" "message 2 1 5 800" "wait 2 14 0 1"
    run "$STATUS_TOOL" "$job"
    has "all finally wait for rank 1: in recv from any, tag 5, 800 B for "
    tell "in 1 3 rows"
    run "$STATUS_TOOL" "$job"
    has "all finally wait for rank 1: in recv from any, tag 5, 800 B in rows for "
}

@test "ranks that receive from each other for a long time are named as a cycle" {
    start 2 1
    tell "message 0 1 5 800" "wait 0 14 1 1" "message 1 1 5 800" "wait 1 14 0 1"
    run "$STATUS_TOOL" "$job"
    has "ranks 0 -> 1 -> 0 wait for each other"
    tell "timeless 0" "timeless 1"
    run "$STATUS_TOOL" "$job"
    lacks "wait for each other"
}

@test "ranks in many receives share a row" {
    start 40 1
    for ((i = 0; i < 40; i++)); do echo "message $i 1 7 800"; echo "wait $i 14 $((i / 2)) 1"; done >"$work/commands"
    mapfile -t commands <"$work/commands"
    tell "${commands[@]}"
    run "$STATUS_TOOL" "$job"
    has " s - several"
}

@test "ranks that wait for each other are named as a cycle" {
    start 4 1
    tell "call 0 4 5" "call 1 4 5" "call 2 4 5" "wait 0 1 1 1" "wait 1 1 2 1" "wait 2 1 1 1"
    run "$STATUS_TOOL" "$job"
    has "ranks 1 -> 2 -> 1 wait for each other"
}

@test "a cycle with a stopped rank in it is that rank's doing" {
    start 4 1
    tell "call 0 4 5" "call 1 4 5" "call 2 4 5" "wait 0 1 1 1" "wait 1 1 2 1" "wait 2 1 1 1" "freeze 2"
    run "$STATUS_TOOL" "$job"
    has "all finally wait for rank 2: in "
    has "heartbeat still"
    lacks "wait for each other"
}

@test "who waits for a rank that is ahead waits for a message, not for it" {
    start 3 1
    tell "call 0 1 10" "call 1 1 11" "wait 0 1 1 1" "wait 1 1 0 1" "out 2 12"
    run "$STATUS_TOOL" "$job"
    has "all finally wait for rank 0: in allreduce 10"
}

@test "a rank in a call of another communicator says which" {
    start 4 1
    tell "call 0 1 7" "in 0 3 rows" "wait 0 1 1 1" "call 1 1 2" "in 1 -3 rows" "call 2 2 7" "in 3 4 stale"
    run "$STATUS_TOOL" "$job"
    has "OPERATION IN FOR"
    has "allreduce 7 rows "
    has "allreduce 2 rows (revoked) "
    has "reduce 7 world "
    lacks stale
    run "$STATUS_TOOL" --json "$job"
    jq -e '[.jobs[0].ranks[0,1,2].activity.communicator_name] == ["rows", "rows (revoked)", "world"] and
        .jobs[0].deadlocks == []' <<<"$output"
    COLUMNS=60 run "$STATUS_TOOL" "$job"
    has "(no room for"
    [ "$(sed -n '/^RANK/,/^$/p' <<<"$output" | grep -v finally | wc -L)" -le 60 ]
}

@test "ranks of different communicators have rows of their own, and numbers where there are no names" {
    start 40 1
    for ((i = 0; i < 40; i++)); do echo "call $i 1 7"; echo "in $i $((i % 2 + 3))"; done >"$work/commands"
    mapfile -t commands <"$work/commands"
    tell "${commands[@]}"
    run "$STATUS_TOOL" "$job"
    has "allreduce 7 3.0 "
    has "allreduce 7 4.0 "
    [ "$(grep -c "allreduce 7" <<<"$output")" -eq 2 ]
}

@test "ranks that wait for each other in two communicators are a deadlock" {
    start 6 1
    tell "call 3 1 7" "in 3 3 rows" "wait 3 1 5 1" "call 5 1 2" "in 5 4 columns" "wait 5 1 3 1" \
        "call 0 1 9" "wait 0 1 5 1"
    run "$STATUS_TOOL" "$job"
    has "all finally wait for rank 3: in allreduce 7 in rows for"
    has "ranks 3 and 5 wait for each other: rank 3 in rows for rank 5, rank 5 in columns for rank 3"
    run "$STATUS_TOOL" --json "$job"
    jq -e '.jobs[0].deadlocks[0].ranks == [3, 5] and .jobs[0].ranks[0].finally_waits_for == 3' <<<"$output"
    # One look cannot tell whether they only pass by.
    run "$STATUS_TOOL" --no-sample "$job"
    lacks "wait for each other"
    tell "out 5 2"
    run "$STATUS_TOOL" "$job"
    has "all finally wait for rank 5: outside for"
    lacks "wait for each other"
}

@test "a name of a communicator is untrusted" {
    start 2 1
    tell "call 0 1 7" "in 0 3 "$'a\e[31m\xc3\xa4'
    run "$STATUS_TOOL" "$job"
    has "allreduce 7 a?[31m??"
    lacks $'\e'
}

@test "a heartbeat that stands still is seen" {
    start 3 1
    tell "freeze 1"
    run "$STATUS_TOOL" "$job"
    has "still"
    run "$STATUS_TOOL" --json "$job"
    [ "$(jq -r '[.jobs[0].ranks[].heartbeat] | join(" ")' <<<"$output")" = "moving still moving" ]
    run "$STATUS_TOOL" --no-sample "$job"
    lacks moving
}

@test "512 ranks are a few lines; --all shows each" {
    start 512 3
    tell "fail 64 1 9 -1"
    run "$STATUS_TOOL" "$job"
    [ "$status" -eq 3 ]
    has "0-63,65-511 joined"
    has "64 failed"
    [ "${#lines[@]}" -lt 20 ]
    run "$STATUS_TOOL" --all "$job"
    [ "${#lines[@]}" -gt 512 ]
}

@test "no line of the table is wider than the terminal" {
    start 8 2
    tell "call 0 1 812" "wait 0 1 1 1" "fail 3 1 9 -1" "freeze 4"
    for width in 60 80 120; do
        COLUMNS=$width run "$STATUS_TOOL" "$job"
        [ "$(sed -n '/^RANK/,/^$/p' <<<"$output" | grep -v finally | wc -L)" -le "$width" ]
    done
}

@test "a rank that died while writing is shown as uncertain" {
    start 2 1
    tell "call 1 1 7" "tear 1"
    run "$STATUS_TOOL" "$job"
    has "allreduce 7 ?"
}

@test "slots full of junk do no harm" {
    start 6 2 $'evil \e[31mred \xff' broadcast.dissemination=multicast
    tell "junk 0 255" "junk 1 127" "junk 2 1" "junk 3 128" "message 4 1 -2147483648 2147483647" "wait 4 99 77 -1"
    run "$STATUS_TOOL" "$job"
    [ "$status" -eq 0 ] || [ "$status" -eq 3 ]
    lacks $'\e'
    has "evil ?[31mred ?"
    run "$STATUS_TOOL" --json "$job"
    jq -e '.jobs[0].ranks | length == 6' <<<"$output"
}

@test "how decisions are spread: by the names that people know, and in the words of the settings" {
    start 2 1 ./app broadcast.algorithm=ccg
    run "$STATUS_TOOL" "$job"
    has "algorithm tree broadcast CCG (gossip + checked)"
    start 2 1 ./app broadcast.algorithm=corrected-tree broadcast.tree=lame
    run "$STATUS_TOOL" "$job"
    has "broadcast corrected tree (lame tree + checked)"
    run "$STATUS_TOOL" --json "$job"
    jq -e '.jobs[0].broadcast == {dissemination: "tree", tree: "lame", correction: "checked", name: "corrected tree"}' \
        <<<"$output"
    start 2 1 ./app collectives.algorithm=board
    run "$STATUS_TOOL" "$job"
    has "algorithm board scheme list"
    run "$STATUS_TOOL" --json "$job"
    jq -e '.jobs[0].broadcast == null' <<<"$output"
}

@test "multicast: how the pieces came, of all ranks" {
    start 3 1 ./app broadcast.dissemination=multicast
    run "$STATUS_TOOL" "$job"
    has "broadcast multicast with a ring (multicast + ring)"
    has "multicast 0 pieces; 0 datagrams foreign, 0 corrupt, 0 senseless, 0 dropped by kernel or device"
    tell "pieces 1 300 100 0"
    run "$STATUS_TOOL" "$job"
    has "multicast 400 pieces: 75.0 % by datagram, 25.0 % by ring; 0 datagrams foreign, 0 corrupt, 0 senseless, 0 dropped by kernel or device"
    tell "pieces 0 0 0 0" "pieces 1 700 3 1" "pieces 2 250 40 6" "datagrams 1 9 2 3" "datagrams 2 8 0 0" "undelivered 1 4"
    run "$STATUS_TOOL" "$job"
    has "multicast 1000 pieces: 95.0 % by datagram, 4.3 % by ring, 0.7 % otherwise; 17 datagrams foreign, 2 corrupt, 3 senseless, 4 dropped by kernel or device"
    run "$STATUS_TOOL" --json "$job"
    jq -e '.jobs[0].ranks[2].counters | {pieces, datagrams, results} == {pieces: {datagram: 250, ring: 40, other: 6, again: 0}, datagrams: {sent: 0,
        received: 0, foreign: 8, corrupt: 0, senseless: 0, failed: 0, dropped: 0, drill_lost: 0, drill_other: 0},
        results: {compared: 0, corrected: 0, detected: 0}}' <<<"$output"
}

@test "integrity: what comparing results found, of all ranks" {
    start 3 1
    run "$STATUS_TOOL" "$job"
    lacks integrity
    start 3 1 ./app integrity.mode=checksum
    run "$STATUS_TOOL" "$job"
    has "integrity checksum"
    start 3 1 ./app integrity.mode=vote
    tell "results 0 900 2 1" "results 1 100 0 3"
    run "$STATUS_TOOL" "$job"
    has "integrity vote: 1000 operations compared, 2 corrected, 4 only detected"
    run "$STATUS_TOOL" --json "$job"
    jq -e '.jobs[0].ranks[1].counters.results == {compared: 100, corrected: 0, detected: 3}' <<<"$output"
}

@test "what carries messages, where it is not shared memory alone" {
    start 3 1
    tell "carriers 0 2 0 0"
    run "$STATUS_TOOL" "$job"
    lacks "MESSAGES BY"
    tell "carriers 1 1 0 1" "carriers 2 0 1 1"
    run "$STATUS_TOOL" "$job"
    has "MESSAGES BY"
    has " 0 shm 2"
    has " 0 shm 1, tcp 1"
    has " 0 verbs 1, tcp 1"
    run "$STATUS_TOOL" --json "$job"
    jq -e '[.jobs[0].ranks[].carriers] == [{shm: 2}, {shm: 1, tcp: 1}, {verbs: 1, tcp: 1}]' <<<"$output"
}

@test "several nodes: which ranks are where, and what became of the nodes" {
    FAKE_NODES=3 start 8 1
    tell "node 2 2" "node 5 3"
    run "$STATUS_TOOL" "$job"
    has "NODE HOST RANKS STATE FOR"
    has "0 testnode0 0-1 present "
    has "1 testnode1 2-4 refused "
    has "2 testnode2 5-7 lost "
    has " testnode1 - outside"
    run "$STATUS_TOOL" --json "$job"
    jq -e '(.jobs[0].nodes | map(del(.since_ns))) == [{node: 0, host: "testnode0", first_rank: 0, np: 2, state: "present"},
        {node: 1, host: "testnode1", first_rank: 2, np: 3, state: "refused"},
        {node: 2, host: "testnode2", first_rank: 5, np: 3, state: "lost"}]
        and .jobs[0].nodes[0].since_ns > .jobs[0].nodes[1].since_ns
        and .jobs[0].ranks[4].node == "testnode1" and .jobs[0].ranks[4].heartbeat == "none"
        and [.jobs[0].ranks[] | .counters != null and .carriers != null] == [true, true, false, false, false, false, false, false]' <<<"$output"
    FAKE_NODES=2 start 40 1
    run "$STATUS_TOOL" "$job"
    has "0-19 joined (20) testnode0 "
}

@test "several nodes: what protects messages between them" {
    FAKE_NODES=2 start 4 1 ./app transport.seal=encrypt
    run "$STATUS_TOOL" "$job"
    has "timeout 1.0 s seal encrypt"
    run "$STATUS_TOOL" --json "$job"
    jq -e '.jobs[0].seal == "encrypt"' <<<"$output"
    FAKE_NODES=2 start 4 1
    run "$STATUS_TOOL" "$job"
    has "timeout 1.0 s seal off"
    start 4 1 ./app transport.seal=encrypt
    run "$STATUS_TOOL" "$job"
    lacks seal
    run "$STATUS_TOOL" --json "$job"
    jq -e '.jobs[0] | has("seal") and .seal == null' <<<"$output"
}

@test "--json is short for --format json; the last format counts" {
    start 2 1
    [ "$("$STATUS_TOOL" --format json "$job" | jq -r .jobs[0].job)" = "$job" ]
    [ "$("$STATUS_TOOL" --format text --json "$job" | jq -r .jobs[0].job)" = "$job" ]
    run "$STATUS_TOOL" --json --format=text "$job"
    has "no failed ranks"
}

@test "--json has everything" {
    start 4 1
    tell "call 0 1 9" "wait 0 2 3 1" "fail 2 2 1 -1" "finalize 1"
    run "$STATUS_TOOL" --json "$job"
    [ "$status" -eq 3 ]
    jq -e --arg job "$job" '.schema == 1 and (.jobs | length == 1) and .jobs[0].job == $job
        and .jobs[0].np == 4
        and .jobs[0].failed == [2] and .jobs[0].ranks[2].failure.cause == "exit"
        and .jobs[0].ranks[2].failure.seen_by == "launcher"
        and .jobs[0].ranks[0].activity.operation == "allreduce"
        and .jobs[0].ranks[0].finally_waits_for == 3 and .jobs[0].ranks[1].state == "finalized"
        and .jobs[0].ranks[0].known == [2]
        and .jobs[0].settings["failure_info.scheme"] == "list"' <<<"$output"
}

@test "the list has every job, with its failures" {
    start 3 1 ./first
    first=$job
    start 4 2 ./second
    tell "fail 0 1 9 -1"
    run "$STATUS_TOOL"
    [ "$status" -eq 3 ]
    has "$first 3 1 running"
    has "$job 4 2 running"
    has ./second
    run "$STATUS_TOOL" --watch
    [ "$status" -eq 1 ]
    has "name the one to watch"
}

@test "--watch ends with the job" {
    start 3 1
    "$STATUS_TOOL" --watch "$job" >"$work/watch" 3>&- &
    local watcher=$!
    local deadline=$((SECONDS + 20))
    until grep -q running "$work/watch"; do [ "$SECONDS" -lt "$deadline" ] && sleep 0.02; done
    tell "fail 1 1 9 -1" end
    local code=0
    wait "$watcher" || code=$?
    [ "$code" -eq 3 ]
    run cat "$work/watch"
    has "ended"
    lacks $'\e'
}

@test "--watch ends when the launcher is gone, and --gc removes what it left" {
    start 2 1
    "$STATUS_TOOL" --watch "$job" >"$work/watch" 3>&- &
    local watcher=$! pid="pid_$jobs"
    local deadline=$((SECONDS + 20))
    until grep -q running "$work/watch"; do [ "$SECONDS" -lt "$deadline" ] && sleep 0.02; done
    kill -KILL "${!pid}"
    wait "$watcher" || true
    grep -q "orphaned" "$work/watch"
    run "$STATUS_TOOL" --gc
    [ "$status" -eq 0 ]
    has "without a launcher"
    run "$STATUS_TOOL" "$job"
    [ "$status" -eq 1 ]
}

@test "the pid of its ftrun names a job, too" {
    start 2 1
    run "$STATUS_TOOL" --json "${job%.*}"
    [ "$status" -eq 0 ]
    [ "$(jq -r '.jobs[0].job' <<<"$output")" = "$job" ]
    run "$STATUS_TOOL" 1
    [ "$status" -eq 1 ]
    has "no job of an ftrun with pid 1"
}

@test "SIGINT leaves --watch cleanly" {
    start 2 1
    # A shell without job control makes background processes ignore SIGINT. env undoes that.
    env --default-signal=INT "$STATUS_TOOL" --watch "$job" >"$work/watch" 3>&- &
    local watcher=$!
    local deadline=$((SECONDS + 20))
    until grep -q running "$work/watch"; do [ "$SECONDS" -lt "$deadline" ] && sleep 0.02; done
    kill -INT "$watcher"
    wait "$watcher"
}

@test "no such job is exit code 1, a wrong command line 2" {
    run "$STATUS_TOOL" 1.999
    [ "$status" -eq 1 ]
    has "ftcoll-status:"
    run "$STATUS_TOOL" ../../etc/passwd
    [ "$status" -eq 1 ]
    for wrong in --nonsense -q "one two" "--json --watch" "--format openmetrics --watch" "--format xml" --format "--stacks --watch" "--stacks --list" "--stacks --format openmetrics" "--history" "--history x" "--history 0 --watch" "--history 0 --list" "--history 0 --failed" "--history 0 --format openmetrics" "--gc 1.1" "--list 1.1" "--watch=3"; do
        # shellcheck disable=SC2086 # words on purpose
        run "$STATUS_TOOL" $wrong
        [ "$status" -eq 2 ]
    done
}

@test "--help lists every option, --version the version" {
    run "$STATUS_TOOL" --help
    [ "$status" -eq 0 ]
    for option in watch failed all list format json stacks history no-sample gc help version; do
        has "--$option"
    done
    run "$STATUS_TOOL" --version
    [[ "$output" =~ ^ftcoll-status\ [0-9]+\.[0-9]+\.[0-9]+$ ]]
}

@test "output that cannot be written is an error" {
    start 2 1
    run bash -c '"$1" "$2" >/dev/full' _ "$STATUS_TOOL" "$job"
    [ "$status" -eq 1 ]
}
