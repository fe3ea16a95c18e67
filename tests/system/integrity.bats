#!/usr/bin/env bats
# Bits flip in running jobs. Votes correct or detect the flips; checksums turn them into deaths.
# shellcheck disable=SC2154 # set by bats and ctest

bats_require_minimum_version 1.5.0

setup() {
    export TMPDIR="$BATS_TEST_TMPDIR"
    local name
    for name in $(compgen -v FTCOLL_); do unset "$name"; done
    report=$BATS_TEST_TMPDIR/report.json
}

# launch NP F MODE FLIPS [ftrun's options] -- arguments of integrity_app
launch() {
    local np=$1 f=$2 mode=$3 flips=$4 options=()
    shift 4
    while [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    shift
    run --separate-stderr timeout -s KILL 60 "$FTRUN" -np "$np" -f "$f" --set integrity.mode="$mode" \
        --set drill.flip="$flips" --report "$report" "${options[@]}" "$INTEGRITY_APP" "$@"
    echo "$status"
    echo "$output"
    echo "$stderr"
}

# Prints how often all ranks together took a rule.
rule() {
    jq "[.ranks[].counters.rules[\"$1\"]] | add" "$report"
}

@test "without a vote the wrong result is everybody's" {
    launch 7 2 none 4:partial:62@3/0 -- 5
    [ "$status" -eq 0 ]
    [ "$output" = "operation 3: wrong, 0 compared, wrong:
4 right, 0 corrupt, 1 wrong; integrity none" ]
}

@test "a vote of three corrects, and says who was wrong" {
    launch 7 2 vote 4:partial:62@3/0,2:up.2:51@5/0 -- 20
    [ "$status" -eq 0 ]
    [ "$output" = "operation 3: right, 3 compared, wrong: 1
operation 5: right, 3 compared, wrong: 2
20 right, 0 corrupt, 0 wrong; integrity vote" ]
    [ "$(grep -c "silent corruption" <<<"$stderr")" -eq 2 ]
    [[ $stderr == *"rank 0: warn"*"of 3 results that should be equal, those of the subtrees of rank 1 were wrong and are corrected"* ]]
    [ "$(rule "compare results")" -eq 20 ]
    [ "$(rule "outvote a result")" -eq 2 ]
    [ "$(rule "detect corruption")" -eq 0 ]
}

@test "a vote of two detects, and the next call is right" {
    launch 7 1 vote 4:partial:62@3/0 -- 20
    [ "$status" -eq 0 ]
    [ "$output" = "operation 3: corrupt, 2 compared, wrong: 1 2
19 right, 1 corrupt, 0 wrong; integrity vote" ]
    [ "$(rule "detect corruption")" -eq 1 ]
    [ "$(jq '[.ranks[] | select(.failed)] | length' "$report")" -eq 0 ]
}

@test "a death leaves two results; the next operation has three again" {
    FTCOLL_TEST_DIE=5@call:1 launch 7 2 vote 4:partial:62@0/0,1:up:52@3/0 -- 10
    [ "$status" -eq 0 ]
    [ "$output" = "operation 0: corrupt, 2 compared, wrong: 1 3
operation 3: right, 3 compared, wrong: 1
9 right, 1 corrupt, 0 wrong; integrity vote" ]
}

@test "a plain reduce tells its root" {
    launch 7 2 vote 4:partial:62@2/0 -- 6 reduce
    [ "$status" -eq 0 ]
    [ "$output" = "operation 1: right, 3 compared, wrong: 1
6 right, 0 corrupt, 0 wrong; integrity vote" ]
}

@test "a damaged message is outvoted too" {
    launch 7 2 vote 3:message:40@1/2 -- 4 # UP messages go to two ranks, then TREE
    [ "$status" -eq 0 ]
    [ "$output" = "operation 1: right, 3 compared, wrong: 3
4 right, 0 corrupt, 0 wrong; integrity vote" ]
}

@test "with checksums damaged memory is a death, whatever the variable" {
    local variable
    # Flips strike a rank of the lowest subtree, whose value is needed.
    for variable in input up partial; do
        launch 7 2 checksum "4:$variable:5@2/0" -- 10
        [ "$status" -eq 0 ]
        [ "$output" = "10 right, 0 corrupt, 0 wrong; integrity checksum" ]
        [ "$(jq -c '[.ranks[] | select(.failed) | .rank]' "$report")" = "[4]" ]
        [ "$(jq '.ranks[4].code' "$report")" -eq 117 ]
        [[ $stderr == *"rank 4"*"leaving the job: a value in the memory of this process has changed by itself"* ]]
    done
    launch 7 2 checksum 0:decision:5@2/0 -- 10
    [ "$status" -eq 0 ]
    [ "$output" = "10 right, 0 corrupt, 0 wrong; integrity checksum" ]
    [ "$(jq -c '[.ranks[] | select(.failed) | .rank]' "$report")" = "[0]" ]
}

@test "with checksums the sender of a damaged message is fenced" {
    launch 7 2 checksum 3:message:5@2/0 -- 10
    [ "$status" -eq 0 ]
    [ "$output" = "10 right, 0 corrupt, 0 wrong; integrity checksum" ]
    [ "$(jq -c '[.ranks[] | select(.failed) | .rank]' "$report")" = "[3]" ]
    [[ $stderr == *"rank 3 sent a damaged message; asking the launcher to fence it"* ]]
}

@test "checksums look at datagrams, whole and along the ring" {
    launch 8 1 checksum 0:message.4:5@2/1 --set broadcast.dissemination=multicast --set multicast.least_ranks=2 -- 10
    [ "$status" -eq 0 ]
    [ "$output" = "10 right, 0 corrupt, 0 wrong; integrity checksum" ]
}

@test "what cannot be is refused before anything starts, with cause and remedy" {
    launch 4 1 vote "" --set collectives.algorithm=board -- 1
    [ "$status" -eq 2 ]
    [[ $stderr == *"integrity.mode: vote (--set) needs messages, but collectives.algorithm is board"* ]]
    launch 4 1 vote "" --set failure_info.scheme=bit -- 1
    [ "$status" -eq 2 ]
    [[ $stderr == *"which failure_info.scheme bit (--set) does not say: set that to list"* ]]
    launch 4 1 vote 3:nothing:1@0/0 -- 1
    [ "$status" -ne 0 ]
    [[ $stderr == *"drill.flip: \"3:nothing:1@0/0\" is no flip: RANK:VARIABLE"* ]]
}
