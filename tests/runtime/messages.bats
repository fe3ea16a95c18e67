#!/usr/bin/env bats
# Sends and receives. FTRUN and MESSAGES_APP come from ctest; MESSAGES_SEED replays a run.

setup() {
    export TMPDIR=$BATS_TEST_TMPDIR
    seed=${MESSAGES_SEED:-$RANDOM}
}

# run_way RANKS STORY SURVIVORS OPTION...
run_way() {
    local ranks=$1 story=$2 survivors=$3
    shift 3
    run timeout -s KILL 60 "$FTRUN" -np "$ranks" "$@" "$MESSAGES_APP" "$story" "$seed" 3>&-
    echo "$* $story, seed $seed: exit $status: $output"
    [ "$(grep -c "messages_app: done" <<<"$output")" -eq "$survivors" ]
}

# run_app RANKS STORY SURVIVORS: with one copy, without, and by sockets
run_app() {
    run_way "$@"
    run_way "$@" --set collectives.direct_copies=off
    run_way "$@" --set collectives.algorithm=corrected --set transport.order=tcp
}

# over_nodes STORY: on two nodes of three ranks
over_nodes() {
    run timeout -s KILL 60 "$FTRUN" --engine local -np 2 "$FTRUN" --engine pmix -np 6 "$MESSAGES_APP" "$1" "$seed" 3>&-
    echo "$1, seed $seed: exit $status: $output"
    [ "$(grep -c "messages_app: done" <<<"$output")" -eq 6 ]
}

@test "messages of all sizes are exchanged by all pairs" {
    run_app 1 pairs 1
    run_app 4 pairs 4
}

@test "each size at which a message begins to go another way" {
    run_app 2 sizes 2
}

@test "messages of a rank come in their order" {
    run_app 4 order 4
}

@test "thousands are under way, and are received from the last to the first" {
    run_app 3 many 3
}

@test "a rank sends to itself, and wrong calls are refused" {
    run_app 1 self 1
    run_app 2 self 2
    run timeout -s KILL 60 "$MESSAGES_APP" self
    [[ $output == "messages_app: done" ]]
}

@test "sends are cancelled, and waits for them end" {
    run_app 2 cancelled 2
    run_app 3 cancelled 3
}

@test "communicators and collectives do not meet each other's messages" {
    run_app 3 groups 3
}

@test "over two nodes" {
    local story
    for story in pairs order many groups revoke cancelled; do
        over_nodes "$story"
    done
}

# bats test_tags=threads
@test "threads exchange messages, each in its communicator, while another one makes collectives" {
    run_app 3 threads 3
}

# Without the ring, the receiver looks at its next heartbeat, which is later than it waits.
# bats test_tags=threads
@test "a send beside a thread that drives rings its receiver at once" {
    run_way 2 driven 2 --set detector.heartbeat_period_ms=10000 --set detector.heartbeat_timeout_ms=60000
}

# bats test_tags=threads
@test "a large message comes while its sender computes" {
    run_app 2 overlap 2
}

# bats test_tags=threads
@test "a death ends what waits for the rank, and nothing else" {
    run_app 3 death 2
}

@test "a rank that dies is not waited for, and neither is one that stops" {
    run_app 2 awaited 1
    [[ $output == *waited* ]]
    run_way 2 stopped 1 --set detector.heartbeat_period_ms=20 --set detector.heartbeat_timeout_ms=200
}

@test "a rank dies while large messages are under way" {
    local point
    for point in 1 4 9 17; do
        FTCOLL_TEST_DIE=1@send:$point run_way 3 torn 2
        FTCOLL_TEST_DIE=1@send:$point run_way 3 torn 2 --set collectives.direct_copies=off
    done
}

# The ninth message of rank 1 is the sixth part of a large one.
@test "a rank dies in the middle of a message to it, and of one from it" {
    FTCOLL_TEST_DIE=1@send:9 run_way 3 cut 2 --set collectives.direct_copies=off
    FTCOLL_TEST_DIE=1@send:9 run_way 3 cut 2 --set collectives.direct_copies=off --set transport.order=tcp
}

# bats test_tags=threads
@test "a revoke ends what is under way" {
    run_app 4 revoke 4
}

@test "the last rank does not wait for others" {
    run_way 3 last 1
}

@test "ranks are killed at any moment while messages of all sizes are under way" {
    local first second
    RANDOM=$seed
    for _ in 1 2 3 4 5; do
        first=$((RANDOM % 5)) second=$((RANDOM % 5))
        run timeout -s KILL 60 "$FTRUN" -np 5 --kill "$first@0.$((RANDOM % 3))$((RANDOM % 10))" \
            --kill "$second@0.$((RANDOM % 3))$((RANDOM % 10))" "$MESSAGES_APP" torn "$seed" 3>&-
        echo "torn without $first and $second, seed $seed: exit $status: $output"
        # A rank that is killed after its last call has not failed, and its exit code counts.
        [ "$status" -eq 0 ] || [ "$status" -eq 137 ]
        [ "$(grep -c "messages_app: done" <<<"$output")" -ge 3 ]
    done
}
