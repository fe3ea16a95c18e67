#!/usr/bin/env bats
# Tests bench/lost-node on real jobs. LOST_NODE is the script. FTRUN and BUILD come from ctest.

bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
}

lost_node() {
    run --separate-stderr timeout -s KILL 100 "$LOST_NODE" "$@" 3>&-
}

@test "wrong use ends with 2 and says what is wrong" {
    # shellcheck disable=SC2154 # stderr is of bats
    for words in "--runs 0" "--runs x" "--nodes 2" "--timeout 1" "--period" "tea" "--frobnicate"; do
        # shellcheck disable=SC2086 # an option and its value
        lost_node $words
        echo "$words: $status $stderr"
        [ "$status" -eq 2 ]
        [ -n "$stderr" ]
    done
}

# The slack is the bound of nodes.md, and as much again, because others use the machine, too. A
# detector that counts from the wrong moment takes longer.
segments() {
    find /dev/shm -maxdepth 1 -name "ftcoll-$(id -u)-*" | sort
}

@test "a node whose agent is killed is declared lost within the timeout and two periods" {
    segments >before
    lost_node --runs 4 --timeout 2000 --period 100 --slack 2200
    echo "$output $stderr"
    [ "$status" -eq 0 ]
    [[ $output == "4 times SIGKILL to one of 4 agents"*"bound 2200 ms" ]]
    [ -z "$(segments | comm -13 before -)" ]
}
