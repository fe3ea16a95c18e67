#!/usr/bin/env bats
# Tests ftcoll-sim explore. SIM is the program.

@test "a small communicator keeps every promise" {
    run "$SIM" explore -n 3 -f 1 --crashes 2 allreduce bcast:1
    [ "$status" -eq 0 ]
    [[ "$output" == *"every promise is kept in every reachable state"* ]]
    [[ "$output" =~ states\ +[1-9][0-9]* ]]
}

@test "comparing results keeps every promise" {
    local job
    for job in "-n 3 -f 1 --crashes 2 allreduce reduce:1 allreduce" "-n 4 -f 1 --crashes 2 allreduce" \
        "-n 4 -f 2 --crashes 2 allreduce" "-n 4 -f 1 reduce:2 allreduce"; do
        # shellcheck disable=SC2086 # words
        run "$SIM" explore --integrity vote $job
        echo "$job: $output"
        [ "$status" -eq 0 ]
        [[ "$output" == *"every promise is kept in every reachable state"* ]]
    done
}

@test "operations by --ops or as words are the same" {
    a=$("$SIM" explore -n 2 -f 1 --ops allreduce,barrier | grep -v "^time")
    b=$("$SIM" explore -n 2 -f 1 allreduce barrier | grep -v "^time")
    [ "$a" = "$b" ]
}

@test "without reductions there are more states and the same verdict" {
    run "$SIM" explore -n 3 -f 1 --scheme bit allreduce --no-reduction --json
    [ "$status" -eq 0 ]
    [[ "$output" == *'"verdict": "kept"'* ]]
    plain=$(sed -n 's/.*"states": \([0-9]*\).*/\1/p' <<<"$output")
    reduced=$("$SIM" explore -n 3 -f 1 --scheme bit allreduce --json | sed -n 's/.*"states": \([0-9]*\).*/\1/p')
    [ "$reduced" -lt "$plain" ]
}

@test "a limit that is reached has an exit code of its own" {
    run "$SIM" explore -n 4 -f 1 allreduce --max-states 1000
    [ "$status" -eq 4 ]
    [[ "$output" == *"NOT EXHAUSTIVE: the limit of 1000 states was reached"* ]]
}

@test "a rank that is declared failed without fencing returns a result of its own" {
    run "$SIM" explore -n 3 -f 1 --unfenced allreduce
    [ "$status" -eq 3 ]
    [[ "$output" == *"rank 0 is declared failed but goes on"* ]]
    [[ "$output" == *"both running, deliver operation 0 differently"* ]]
}

@test "over two levels a small communicator keeps every promise, and without looks at the decision word it does not" {
    run "$SIM" explore -n 4 -f 1 --nodes 2 --crashes 2 allreduce bcast:1 allreduce
    [ "$status" -eq 0 ]
    [[ "$output" == *"every promise is kept in every reachable state"* ]]
    run "$SIM" explore -n 4 -f 1 --nodes 2 --crashes 2 --late-look allreduce
    [ "$status" -eq 3 ]
    [[ "$output" == *"writes the decision word of its node"* ]]
    [[ "$output" == *"both alive, deliver operation 0 differently"* ]]
}

@test "what cannot be explored is refused with a remedy" {
    run "$SIM" explore -n 3 -f 1 --nodes 4 allreduce
    [ "$status" -eq 2 ]
    [[ "$output" == *"4 nodes for 3 ranks; use at most as many"* ]]
    run "$SIM" explore -n 4 -f 1 --nodes 2 --scheme bit allreduce
    [ "$status" -eq 2 ]
    [[ "$output" == *"two levels need"* ]]
    run "$SIM" explore -n 9 -f 1 allreduce
    [ "$status" -eq 2 ]
    [[ "$output" == *"-n 9: not a whole number in range; give 1 to 8"* ]]
    run "$SIM" explore -n 3 -f 1
    [ "$status" -eq 2 ]
    [[ "$output" == *"no operation is named; give one"* ]]
    run "$SIM" explore allreduce
    [ "$status" -eq 2 ]
    [[ "$output" == *"the number of ranks is missing; give -n N"* ]]
    run "$SIM" explore -n 3 -f 1 --crashes many allreduce
    [ "$status" -eq 2 ]
    [[ "$output" == *"--crashes many"* ]]
}

@test "help names the options" {
    run "$SIM" explore --help
    [ "$status" -eq 0 ]
    for option in --crashes --unfenced --no-reduction --max-states --memory --json; do
        [[ "$output" == *"$option"* ]]
    done
}
