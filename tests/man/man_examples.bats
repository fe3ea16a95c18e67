#!/usr/bin/env bats
# The examples of section 3 run, and print what their pages say. Some of their ranks die.
# shellcheck disable=SC2153,SC2154 # bats and ctest set variables

setup() {
    local name
    # The environment of the test must not change the result.
    for name in $(compgen -v FTCOLL_); do unset "$name"; done
    export TMPDIR=$BATS_TEST_TMPDIR XDG_CONFIG_HOME=$BATS_TEST_TMPDIR
    # A busy machine that stands still for some seconds must not count as a failure.
    printf "[detector]\nheartbeat_timeout_ms = 20000\n" >"$XDG_CONFIG_HOME/ftcoll.ini"
}

# EXAMPLE LINE...: the example prints these at 4 ranks, in any order; ftrun's own lines are ignored
prints() {
    local example=$1
    shift
    run timeout -s KILL 60 "$FTRUN" -np 4 "$EXAMPLES/man_$example"
    echo "$output"
    [ "$status" -eq 0 ]
    [ "$(grep -v '^ftrun: ' <<<"$output" | sort)" = "$(printf '%s\n' "$@" | sort)" ]
}

@test "init" {
    prints init "rank 0 of 4" "rank 1 of 4" "rank 2 of 4" "rank 3 of 4"
}

@test "init: a job of one without ftrun" {
    run "$EXAMPLES/man_init"
    [ "$output" = "rank 0 of 1" ]
}

@test "allreduce" {
    prints allreduce "rank "{0,1,2,3}": 30 in all, 20 at rank 2"
}

@test "bcast: the first root dies" {
    prints bcast "rank "{1,2,3}": 101 from rank 1"
}

@test "gossip" {
    prints gossip "rank "{0,1,2,3}": mean 1.500 by pflc"
}

@test "validate: rank 1 dies" {
    prints validate "rank "{0,2,3}": rank 1 has failed"
}

@test "report: rank 2 dies" {
    prints report "rank "{0,1,3}": 3 inputs by \"board\"; failed: 2"
}

@test "operator" {
    prints operator "rank "{0,1,2,3}": 12 and 1"
}

@test "ordered: the steps of ranks 0 to 3, one after the other" {
    prints ordered "rank "{0,1,2,3}": 1 becomes 27"
}

@test "allgather: rank 2 dies" {
    prints allgather "rank "{0,1,3}": 0 10 -1 30"
}

@test "gather: rank 0 has what ranks 1 to 3 have given" {
    prints gather 10 20 21 30 31 32
}

@test "scatter" {
    prints scatter "rank 0: 0 and 0.5" "rank 1: 1 and 1.5" "rank 2: 2 and 2.5" "rank 3: 3 and 3.5"
}

@test "alltoall" {
    prints alltoall "rank 0: 0 10 20 30" "rank 1: 1 11 21 31" "rank 2: 2 12 22 32" "rank 3: 3 13 23 33"
}

@test "reduce_scatter" {
    prints reduce_scatter "rank 0: 6" "rank 1: 46" "rank 2: 86" "rank 3: 126"
}

@test "scan" {
    prints scan "rank 0: lines 0 to 99" "rank 1: lines 100 to 200" "rank 2: lines 201 to 302" "rank 3: lines 303 to 405"
}

@test "grid: the sums of rows and columns" {
    prints grid "row 0, column 0: the row has 1, the column 2" "row 0, column 1: the row has 1, the column 4" \
        "row 1, column 0: the row has 5, the column 2" "row 1, column 1: the row has 5, the column 4"
}

@test "shrink: rank 3 dies, and rank 1 revokes" {
    prints shrink "rank 0 goes on as rank 0 of 3" "rank 1 goes on as rank 1 of 3" "rank 2 goes on as rank 2 of 3"
}

@test "requests: a sum while each rank computes" {
    prints requests "rank "{0,1,2,3}": 10 in all, and 500500"
}

@test "messages: squares of numbers that rank 0 hands out" {
    prints messages "rank 1 sent 1" "rank 2 sent 4" "rank 3 sent 9" "the sum is 14"
}

@test "error" {
    prints error "version: 0.1.0" "code: -4, operator not defined for this type" \
        "cause: operator band is not defined for type double: pass an integer type"
}
