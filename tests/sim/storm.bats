#!/usr/bin/env bats
# Tests ftcoll-sim storm and replay. SIM is the program, MUTANT the same program over a protocol
# with a fault.

bats_require_minimum_version 1.5.0

setup() {
    work=$(mktemp -d)
}

teardown() {
    rm -rf "$work"
}

# Prints the parts of a report that do not depend on the machine.
steady() {
    sed 's/, [0-9]* schedules.s ([^)]*)//' <<<"$output"
}

@test "a storm keeps every promise and says what it did" {
    run "$SIM" storm --runs 2000 --seed 7
    [ "$status" -eq 0 ]
    [[ "$output" == *"2000 of 2000 runs from seed 7"* ]]
    [[ "$output" == *"schedules/s"* ]]
    [[ "$output" == *"no promise was broken"* ]]
}

@test "the result does not depend on the number of workers" {
    run --separate-stderr "$SIM" storm --runs 3000 --jobs 1 --rules
    one=$(steady)
    run --separate-stderr "$SIM" storm --runs 3000 --jobs 4 --rules
    [ "$one" = "$(steady)" ]
    [[ "$one" =~ [1-9][0-9]*\ \ rotate ]]
}

@test "--rules lists every rule" {
    run "$SIM" storm --runs 100 --rules
    [ "$status" -eq 0 ]
    [[ "$output" == *"  keep early"* ]]
    [[ "$output" == *" 0  fenced"* ]]
    [[ "$output" == *"  free"* ]]
}

@test "--json is JSON" {
    "$SIM" storm --runs 100 --seed 3 --json >"$work/out.json"
    [ "$(jq .runs "$work/out.json")" -eq 100 ]
    [ "$(jq .seed "$work/out.json")" -eq 3 ]
    [ "$(jq .violation "$work/out.json")" = null ]
    [ "$(jq .rules.deliver "$work/out.json")" -gt 0 ]
}

@test "what is given is not drawn" {
    run "$SIM" storm --runs 300 -n 3-5 -f 2 --scheme bit allreduce bcast:1 allreduce
    [ "$status" -eq 0 ]
    run "$SIM" storm --runs 200 -n 16 --correction checked
    [ "$status" -eq 0 ]
}

@test "bits turn over: comparing corrects or detects, checksums make deaths of it" {
    run --separate-stderr "$SIM" storm --runs 2000 -n 4-12 -f 2 --integrity vote --rules
    [ "$status" -eq 0 ]
    [[ "$output" =~ [1-9][0-9]*\ \ outvote\ a\ result && "$output" =~ [1-9][0-9]*\ \ detect\ corruption ]]
    run --separate-stderr "$SIM" storm --runs 2000 --integrity checksum
    [ "$status" -eq 0 ]
}

@test "nonsense is refused with a remedy" {
    run "$SIM" storm -n 5-3
    [ "$status" -eq 2 ]
    run "$SIM" storm -n 3-
    [ "$status" -eq 2 ]
    run "$SIM" storm --runs 0
    [ "$status" -eq 2 ]
    run "$SIM" storm --jobs 0
    [ "$status" -eq 2 ]
    run "$SIM" storm -n 2-4 -f 3
    [ "$status" -eq 2 ]
    [[ "$output" == *"give a smaller f or more ranks"* ]]
    run "$SIM" storm -n 2-4 bcast:3
    [ "$status" -eq 2 ]
    [[ "$output" == *"give a smaller root or more ranks"* ]]
    run "$SIM" storm -n -3
    [ "$status" -eq 2 ]
    [[ "$output" == *"-n -3: no such number of ranks; give N or MIN-MAX"* ]]
    run "$SIM" storm -n 2-
    [ "$status" -eq 2 ]
    [[ "$output" == *"-n 2-: no such number of ranks"* ]]
    run "$SIM" storm --seed 9223372036854775807 --runs 2
    [ "$status" -eq 2 ]
    [[ "$output" == *"give fewer --runs or a smaller --seed"* ]]
}

@test "what is larger than the simulator itself is refused" {
    run "$SIM" storm bcast:40000
    [ "$status" -eq 2 ]
    [[ "$output" == *"only 4096 ranks; give a smaller root"* ]]
    run "$SIM" storm -f 4095
    [ "$status" -eq 2 ]
    [[ "$output" == *"of 4096 ranks"*"or a smaller f"* ]]
    for command in storm replay; do
        run "$SIM" "$command" -n 64 'barrier*20000'
        [ "$status" -eq 2 ]
        [[ "$output" == *"20000 operations of 64 ranks"*"give fewer operations"* ]]
    done
}

@test "the largest seed is what JSON can hold" {
    run "$SIM" storm --seed 9223372036854775808 --runs 1 --json
    [ "$status" -eq 2 ]
    [[ "$output" == *"give 0 to 9223372036854775807"* ]]
    run --separate-stderr "$SIM" storm --seed 9223372036854775807 --runs 1 --json
    [ "$status" -eq 0 ]
    [[ "$output" == *9223372036854775807* ]]
}

@test "a word that is neither an operation nor a command is told so" {
    for word in help stomr barier*3; do
        run "$SIM" "$word"
        [ "$status" -eq 2 ]
        [[ "$output" == *"\"$word\" is no operation and no command; see --help"* ]]
    done
    run "$SIM" --help
    [[ "$output" == *"finalize"* ]]
}

@test "no memory is an error with a remedy, not a broken promise" {
    readelf -Ws "$SIM" | grep -Eq '__[at]san' && skip "the sanitizer needs the address space"
    for command in replay "storm --runs 1"; do
        # shellcheck disable=SC2086
        run bash -c 'ulimit -v 400000; exec "$0" "$@"' "$SIM" $command -n 4096 barrier
        [ "$status" -eq 1 ]
        [[ "$output" == *"no memory for 4096 ranks"*"give fewer ranks"* ]]
        [[ "$output" != *"breaks a promise"* ]]
    done
}

@test "an interrupt ends it with what it did so far, and leaves no child" {
    "$SIM" storm --runs 1000000000 --jobs 3 >"$work/out" 2>"$work/err" &
    storm=$!
    until [ "$(pgrep -c -P "$storm")" -eq 3 ]; do sleep 0.01; done
    children=$(pgrep -P "$storm")
    kill -INT "$storm"
    status=0
    wait "$storm" || status=$?
    [ "$status" -eq 1 ]
    grep -q "of 1000000000 runs" "$work/out"
    grep -q "interrupted; no promise was broken" "$work/out"
    for child in $children; do
        run kill -0 "$child"
        [ "$status" -ne 0 ]
    done
}

@test "a SIGTERM to all of its processes is no fault of a run" {
    setsid "$SIM" storm --runs 1000000000 --jobs 3 >"$work/out" 2>"$work/err" &
    storm=$!
    until [ "$(pgrep -c -P "$storm")" -eq 3 ]; do sleep 0.01; done
    kill -TERM -- "-$storm"
    status=0
    wait "$storm" || status=$?
    [ "$status" -eq 1 ]
    grep -q "interrupted; no promise was broken" "$work/out"
}

@test "a worker that is killed from outside is reported with its seed" {
    "$SIM" storm --runs 1000000000 --jobs 2 >"$work/out" 2>"$work/err" &
    storm=$!
    until [ "$(pgrep -c -P "$storm")" -eq 2 ]; do sleep 0.01; done
    kill -KILL "$(pgrep -P "$storm" | head -n 1)"
    status=0
    wait "$storm" || status=$?
    [ "$status" -eq 3 ]
    grep -Eq "seed [0-9]+ breaks a promise: .*signal 9" "$work/out"
    grep -q "It could not be had again" "$work/out"
    grep -Eq "the whole run: ftcoll-sim storm .*--seed [0-9]+ --runs 1" "$work/out"
}

@test "a broken promise: what, the smallest run that shows it, and the lines that have both again" {
    # The finding takes few steps.
    run --separate-stderr "$MUTANT" storm --runs 100000 --jobs 2 --doubling 1 allreduce bcast
    [ "$status" -eq 3 ]
    [[ "$output" =~ seed\ ([0-9]+)\ breaks\ a\ promise:\ ([^$'\n']+) ]]
    seed=${BASH_REMATCH[1]} words=${BASH_REMATCH[2]}
    [[ "$output" =~ replay:\ ftcoll-sim\ ([^$'\n']+) ]]
    read -ra replay <<<"${BASH_REMATCH[1]}"
    [[ "$output" =~ the\ whole\ run:\ ftcoll-sim\ ([^$'\n']+) ]]
    read -ra whole <<<"${BASH_REMATCH[1]}"
    [[ "$output" =~ The\ smallest\ run\ found\ in\ [0-9]+\ trials:\ ([^$'\n']+) ]]
    smallest=${BASH_REMATCH[1]}
    [ "$(grep -c '^ *[0-9]* *rank' <<<"$output")" -lt 40 ]

    run --separate-stderr "$MUTANT" "${whole[@]}"
    [ "$status" -eq 3 ]
    [[ "$output" == *"1 of 1 runs from seed $seed"*"seed $seed breaks a promise: $words"* ]]
    run --separate-stderr "$MUTANT" "${replay[@]}" --trace
    [ "$status" -eq 3 ]
    [[ "$output" == *"CRASHES"*"breaks a promise: $smallest" ]]
    run --separate-stderr "$SIM" "${replay[@]}" # this program has no fault
    [ "$status" -eq 0 ]
}

@test "a broken promise does not depend on the number of workers, and is in the JSON" {
    for jobs in 1 4; do
        run --separate-stderr "$MUTANT" storm --runs 100000 --jobs "$jobs" --json
        [ "$status" -eq 3 ]
        jq -S '.violation | del(.again)' <<<"$output" >"$work/$jobs"
    done
    cmp "$work/1" "$work/4"
    [ "$(jq .seed "$work/1")" -gt 0 ]
    [[ "$(jq -r .shrunk.replay "$work/1")" == "ftcoll-sim replay -n "* ]]
    [ "$(jq '.shrunk.trace | length' "$work/1")" -gt 3 ]
}

@test "a replay is the same to the letter" {
    line=(replay -n 4 -f 1 --scheme bit --ops allreduce,bcast:1,allreduce --crash 0@4 --lose 0:2@0
          --schedule 2:1,5:2 --trace)
    run "$SIM" "${line[@]}"
    [ "$status" -eq 0 ]
    first=$output
    run "$SIM" "${line[@]}"
    [ "$output" = "$first" ]
    [[ "$output" == *"rank 0"*"CRASHES"* ]]
    [[ "$output" == *"all promises kept"*"3 of 4 ranks live"* ]]
}

@test "a replay that cannot be is refused" {
    run "$SIM" replay -n 3
    [ "$status" -eq 2 ]
    [[ "$output" == *"give -n and --ops"* ]]
    run "$SIM" replay -n 3 allreduce --crash 3@0
    [ "$status" -eq 2 ]
    run "$SIM" replay -n 2 allreduce --crash 0@0,1@0
    [ "$status" -eq 2 ]
    run "$SIM" replay -n 3 allreduce --schedule 5:1,2:1
    [ "$status" -eq 2 ]
    [[ "$output" == *"sort"* ]]
    run "$SIM" replay -n 3 allreduce --lose 0-1@2
    [ "$status" -eq 2 ]
    run "$SIM" replay -n 3 allreduce --schedule 0:1,5:2
    [ "$status" -eq 2 ]
    [[ "$output" == *"steps count from 1"* ]]
    run "$SIM" replay -n 3 allreduce --crash 0@1 --lose 0:2@2 --lose 0:2@1
    [ "$status" -eq 2 ]
    [[ "$output" == *"lost twice"* ]]
    run "$SIM" replay -n 4097 allreduce
    [ "$status" -eq 2 ]
    [[ "$output" == *"give 1 to 4096"* ]]
}

@test "both explain themselves" {
    run "$SIM" storm --help
    [ "$status" -eq 0 ]
    [[ "$output" == *"MIN-MAX"* ]]
    run "$SIM" replay --help
    [ "$status" -eq 0 ]
    [[ "$output" == *"RANK@OUTPUTS"* ]]
    [[ "$output" == *"number of ranks, 1 to 4096"* ]]
    [[ "$output" != *"--seed"* ]]
}
