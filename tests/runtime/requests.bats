#!/usr/bin/env bats
# Non-blocking operations. FTRUN and REQUESTS_APP come from ctest; REQUESTS_SEED replays a run.

setup() {
    export TMPDIR=$BATS_TEST_TMPDIR
    seed=${REQUESTS_SEED:-$RANDOM}
}

# run_app RANKS 'options of ftrun' STORY SURVIVORS: on the board, and by messages
run_app() {
    local way
    for way in "" "--set collectives.algorithm=corrected"; do
        # shellcheck disable=SC2086 # options
        run timeout -s KILL 60 "$FTRUN" -np "$1" $way $2 "$REQUESTS_APP" "$3" "$seed" 3>&-
        echo "$way $3, seed $seed: exit $status: $output"
        [ "$(grep -c "requests_app: done" <<<"$output")" -eq "$4" ]
    done
}

# over_nodes STORY: on two nodes of three ranks, over two levels
over_nodes() {
    run timeout -s KILL 60 "$FTRUN" --engine local -np 2 "$FTRUN" --engine pmix -np 6 "$REQUESTS_APP" "$1" "$seed" 3>&-
    echo "$1, seed $seed: exit $status: $output"
    [ "$(grep -c "requests_app: done" <<<"$output")" -eq 6 ]
}

@test "each form gives what its blocking form gives" {
    run_app 1 "" equal 1
    run_app 2 "" equal 2
    run_app 5 "" equal 5
}

# bats test_tags=threads
@test "16 are under way, and end in any order" {
    run_app 1 "" many 1
    run_app 5 "" many 5
}

@test "over two nodes, on two levels" {
    local story
    for story in equal many two mixed revoke; do
        over_nodes "$story"
    done
}

@test "a wait for a rank that is late ends in time" {
    run_app 4 "" late 4
}

@test "two communicators have requests, and requests make communicators" {
    run_app 5 "" two 5
}

@test "those that go by messages, and others, start in turn, also while all ranks compute" {
    run_app 1 "" mixed 1
    run_app 5 "" mixed 5
    run_app 5 "--set transport.order=tcp" mixed 5
}

# bats test_tags=threads
@test "a revoke ends what is under way" {
    run_app 4 "" revoke 4
}

# bats test_tags=threads
@test "a request that is refused ends alone" {
    run_app 4 "" refused-alone 4
}

# bats test_tags=threads
@test "another thread revokes between two calls" {
    run_app 3 "" watched 3
}

# A ring that gets lost costs a heartbeat period, which is longer here than the app waits.
@test "operations go on while all ranks compute" {
    run_app 4 "--set detector.heartbeat_period_ms=20000 --set detector.heartbeat_timeout_ms=60000" away 4
    printf "[detector]\nheartbeat_period_ms = 20000\nheartbeat_timeout_ms = 600000\n" >"$TMPDIR/ftcoll.ini"
    XDG_CONFIG_HOME=$TMPDIR over_nodes away
}

@test "a process that was started by hand has requests, too" {
    for story in equal many late; do
        run timeout -s KILL 60 "$REQUESTS_APP" "$story" "$seed"
        echo "$story, seed $seed: exit $status: $output"
        [[ $output == *"requests_app: done"* ]]
    done
}

# bats test_tags=threads
@test "ranks die in a storm of requests" {
    run_app 6 "-f 1 --kill 5@0.2 --kill 0@0.4" storm 4
}

# bats test_tags=threads
@test "an operator that calls the library is refused, in whichever thread it runs" {
    run_app 4 "" refused 4
}

# Sleeps that nobody ends are so long that they cannot be missed (BEAT_S of the app).
beats="--set detector.heartbeat_period_ms=10000 --set detector.heartbeat_timeout_ms=60000"

# bats test_tags=threads
@test "a short wait beside a thread that waits is short" {
    run_app 2 "$beats" short-wait 2
}

# bats test_tags=threads
@test "a test beside a thread that waits takes nothing away from it" {
    run_app 2 "$beats --set transport.order=tcp" tests 2
}

@test "an operator may take longer than the detector is patient" {
    run_app 2 "--set detector.heartbeat_timeout_ms=1500" slow-operator 2
}
