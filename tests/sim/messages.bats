#!/usr/bin/env bats
# Tests ftcoll-sim messages. SIM is the program.

bats_require_minimum_version 1.5.0

@test "runs keep every promise, and say what happened" {
    run --separate-stderr "$SIM" messages --runs 5000 --seed 3
    [ "$status" -eq 0 ]
    [[ ${lines[0]} == "5000 of 5000 runs from seed 3, "*" events" ]]
    [[ "$output" =~ [1-9][0-9]*\ deaths ]]
    [[ "$output" =~ [1-9][0-9]*\ waits\ interrupted ]]
    [[ ${lines[-1]} == "no promise was broken" ]]
}

@test "the same seed tells the same story" {
    story() {
        "$SIM" messages --trace "$@" 2>/dev/null | grep -v runs/s
    }
    story --seed 7 >"$BATS_TEST_TMPDIR/one"
    story --seed 7 | cmp - "$BATS_TEST_TMPDIR/one"
    ! story --seed 8 | cmp -s - "$BATS_TEST_TMPDIR/one"
    grep -q "starts send" "$BATS_TEST_TMPDIR/one"
}

@test "wrong use has one line with cause and remedy" {
    refused() {
        run --separate-stderr "$SIM" messages "$@"
        [ "$status" -eq 2 ]
        [ "${#stderr_lines[@]}" -eq 1 ]
    }
    refused --runs 0
    refused barrier
    [[ $stderr == *"leave them out"* ]]
    refused -n 4
    refused --scheme bit
    [[ $stderr == *"leave it out"* ]]
}
