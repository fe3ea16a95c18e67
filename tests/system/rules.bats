#!/usr/bin/env bats
# Stages, in real processes, rules of agreement.md that storms take rarely or never.
# shellcheck disable=SC2153 # STATUS comes from ctest

setup() {
    report=$BATS_TEST_TMPDIR/report.json
    export FTCOLL_COLLECTIVES_ALGORITHM=corrected # only operations by messages take these rules
}

# rule RANK NAME: prints how often the rank took the rule.
rule() {
    jq -r ".ranks[$1].counters.rules[\"$2\"]" "$report"
}

@test "messages of a history that died are dropped by their epoch (rule 0)" {
    # Rank 0 tells only rank 1 its decision of operation 0 and dies. Ranks 1 and 3 deliver it and
    # begin operation 1 without rank 0. They send PREPARE and TREE of operation 1 to rank 2; then
    # they die. Rank 2 learns of all deaths late and decides operation 0 by itself.
    FTCOLL_TEST_DIE=0@send:1,1@send:4,3@send:3 FTCOLL_TEST_DEAF=1@150,3@400,2@900 \
        run timeout -s KILL 60 "$FTRUN" -np 4 -f 0 --report "$report" "$LOOP" 3
    echo "$output"
    [ "$status" -eq 0 ]
    [ "$(jq '[.ranks[] | select(.failed)] | length' "$report")" -eq 3 ]
    [ "$(rule 2 "drop other epoch")" -ge 1 ]
    [[ $output == *"rank 2: the sum of 1 ranks is 2, 3 failed"* ]]
}

@test "a retry with bit waits for a notice (rule 3)" {
    # More than f = 0 ranks fail. The coordinator gets no failure-free subtree before it is told who
    # died.
    FTCOLL_TEST_DIE=3@call:1 FTCOLL_TEST_DEAF=0@700 \
        run timeout -s KILL 60 "$FTRUN" -np 6 -f 0 --set failure_info.scheme=bit --report "$report" "$LOOP" 3
    echo "$output"
    [ "$status" -eq 0 ]
    [ "$(rule 0 "wait before retry")" -ge 1 ]
    [ "$(rule 0 "retry")" -ge 1 ]
}

# ranks_are JOB COUNT CONDITION: so many ranks are as the condition says.
ranks_are() {
    "$STATUS" --json --no-sample "$1" | jq -ne "[input.jobs[0].ranks[] | select($3)] | length == $2" >/dev/null
}

# A launcher fences a rank before it declares it failed. A rank that is declared and goes on may post in
# a round that others have decided without it. So rank 2 stands still until they know.
declare_rank_2() { # ALGORITHM
    FTCOLL_COLLECTIVES_ALGORITHM=$1 timeout -s KILL 60 "$FTRUN" -np 4 -f 1 --report "$report" "$LOOP" 400 10 >"$BATS_TEST_TMPDIR/output" 2>&1 &
    job=$!
    deadline=$((SECONDS + 20))
    until segment=$(compgen -G "/dev/shm/ftcoll-$(id -u)-$(pgrep -P "$job" -x ftrun)".*); do
        [ "$SECONDS" -lt "$deadline" ]
    done
    name=${segment##*/ftcoll-"$(id -u)"-}
    until ranks_are "$name" 4 '.state == "joined" and .called > 0'; do [ "$SECONDS" -lt "$deadline" ]; done
    local rank_2
    rank_2=$("$STATUS" --json --no-sample "$name" | jq ".jobs[0].ranks[2].pid")
    kill -STOP "$rank_2"
    "$DECLARE" "$name" 2 &
    until ranks_are "$name" 3 ".activity.agreed_failed == 1"; do [ "$SECONDS" -lt "$deadline" ]; done
    kill -CONT "$rank_2"
    local code=0
    wait "$job" || code=$?
    cat "$BATS_TEST_TMPDIR/output"
    [ "$code" -eq 0 ]
    [ "$(jq -r '.ranks[2].code' "$report")" -eq 113 ]
    [ "$(jq '.exit_code' "$report")" -eq 0 ]
    grep -q "this process was declared failed" "$BATS_TEST_TMPDIR/output"
    grep -q "rank 0: the sum of 3 ranks is 4, 1 failed" "$BATS_TEST_TMPDIR/output"
}

@test "a process that learns that it was declared failed exits before it returns from any call" {
    local algorithm
    for algorithm in board corrected; do
        declare_rank_2 "$algorithm"
    done
}
