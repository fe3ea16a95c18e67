#!/usr/bin/env bats
# Tests bench/failed-peer on real jobs: each receive from a rank that fails ends with the error, and
# soon. FAILED_PEER is the script. FTRUN and BUILD come from ctest.

bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
}

failed_peer() {
    run --separate-stderr timeout -s KILL 100 "$FAILED_PEER" --build "$BUILD" "$@" 3>&-
    echo "$*: $status $output $stderr"
}

median() {
    grep -o 'median [0-9.]*' <<<"$output" | cut -d ' ' -f 2
}

@test "wrong use ends with 2 and says what is wrong" {
    # shellcheck disable=SC2154 # stderr is of bats
    for words in "--times 0" "--np 1" "--timeout 1" "tea" "--frobnicate"; do
        # shellcheck disable=SC2086 # an option and its value
        failed_peer $words
        [ "$status" -eq 2 ]
        [ -n "$stderr" ]
    done
}

@test "a receive from a rank that dies ends long before the detector would find one that was stopped" {
    failed_peer --times 6 --np 4 --slack 100000
    [ "$status" -eq 0 ]
    [[ $output == "6 times SIGKILL "* ]]
    local killed
    killed=$(median)
    failed_peer --times 4 --np 3 --stop --timeout 1000 --slack 100000
    [ "$status" -eq 0 ]
    [[ $output == "4 times SIGSTOP "* ]]
    awk "BEGIN { exit !(4 * $killed < $(median)) }"
}
