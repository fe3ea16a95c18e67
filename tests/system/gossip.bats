#!/usr/bin/env bats
# Gossip aggregation in real processes: results must be right, with the same bits at every rank,
# when ranks die, messages get lost or bits flip. gossip_app checks every result. Here the agreement
# that ends an aggregation runs on the board; in the storms and the flips it runs by messages, too.
# shellcheck disable=SC2153 # GOSSIP_APP and STATUS come from ctest

setup() {
    report=$BATS_TEST_TMPDIR/report.json
    json=$BATS_TEST_TMPDIR/status.json
    export FTCOLL_COLLECTIVES_ALGORITHM=board
}

# gossip NP [ftrun's options --] gossip_app's arguments: leaves in $output what gossip_app prints.
gossip() {
    local np=$1 options=()
    shift
    while [[ $1 == -* && $1 != -- ]]; do
        options+=("$1" "$2")
        shift 2
    done
    if [ "$1" = -- ]; then shift; fi
    run timeout -s KILL 300 "$FTRUN" -np "$np" --report "$report" "${options[@]}" "$GOSSIP_APP" "$@"
    echo "$output"
    [ "$status" -eq 0 ]
}

@test "the result is within the accuracy at every size" {
    local np
    for np in 1 2 3 8 16; do
        gossip "$np" 5 3 op=avg
        [[ $output == *"gossip: 5 converged, 0 not, of $np ranks"* ]]
        gossip "$np" 2 40 op=sum accuracy=1e-6
        [[ $output == *"gossip: 2 converged, 0 not, of $np ranks"* ]]
    done
}

# bats test_tags=optimised
@test "every algorithm in every neighbourhood, or an error that says why not" {
    local algorithm neighbourhood
    for algorithm in push-sum push-flow push-cancel-flow pflc pfcc; do
        for neighbourhood in full hypercube torus directed-hypercube; do
            case $algorithm/$neighbourhood in
            push-cancel-flow/directed-hypercube | pfcc/directed-hypercube)
                run timeout -s KILL 60 "$FTRUN" -np 8 "$GOSSIP_APP" 1 1 "algorithm=$algorithm" "neighbourhood=$neighbourhood"
                echo "$output"
                [ "$status" -eq 99 ]
                [[ $output == *"$algorithm needs answers, which the links of a directed hypercube do not carry: take hypercube"* ]]
                ;;
            push-flow/directed-hypercube | pflc/directed-hypercube)
                # Without turns a flow is pushed on while its receiver sleeps. This may leave
                # nothing but rounding errors, and then there is no result.
                gossip 8 3 3 "algorithm=$algorithm" "neighbourhood=$neighbourhood"
                [[ $output =~ "gossip: "([0-3])" converged, "([0-3])" not, of 8 ranks" ]]
                [ $((BASH_REMATCH[1] + BASH_REMATCH[2])) -eq 3 ]
                ;;
            *)
                gossip 8 3 3 "algorithm=$algorithm" "neighbourhood=$neighbourhood"
                [[ $output == *"3 converged, 0 not, of 8 ranks"* && $output == *"by $algorithm:"* ]]
                ;;
            esac
        done
    done
}

# bats test_tags=optimised
@test "accuracies from coarse to fine" {
    local accuracy
    for accuracy in 1e-2 1e-6 1e-9 1e-12; do
        gossip 8 3 5 "accuracy=$accuracy"
        [[ $output == *"3 converged, 0 not"* ]]
    done
}

@test "after deaths in the middle of it the result is that of the survivors" {
    local algorithm
    for algorithm in push-flow pflc pfcc; do
        FTCOLL_TEST_DIE=3@send:40,6@send:90 gossip 8 5 3 "algorithm=$algorithm"
        [[ $output == *"gossip: 5 converged, 0 not, of 6 ranks"* ]]
        [ "$(jq '[.ranks[] | select(.failed)] | length' "$report")" -eq 2 ]
    done
    # Some ranks learn of the death late.
    FTCOLL_TEST_DEAF=0@100,5@300 FTCOLL_TEST_DIE=3@send:40 gossip 8 3 3
    [[ $output == *"gossip: 3 converged, 0 not, of 7 ranks"* ]]
}

@test "the report after a death is that of the aggregation, also if later operations do not use it" {
    FTCOLL_TEST_DIE=3@send:40 gossip 8 --set failure_info.share=off -- 5 3
    [[ $output == *"gossip: 5 converged, 0 not, of 7 ranks"* ]]
}

@test "a rank killed at some moment, with failure information that does not name it at once" {
    local scheme
    for scheme in list count bit; do
        gossip 8 --kill 5@0.05 --set "failure_info.scheme=$scheme" -- 400 1 accuracy=1e-6
        [[ $output == *"gossip: 400 converged, 0 not, of 7 ranks"* ]]
    done
}

@test "deaths that part the survivors leave the result of all of them" {
    local algorithm neighbourhood
    for neighbourhood in hypercube torus; do
        for algorithm in push-flow pflc pfcc; do
            # Rank 0 stood between 1 and 2.
            FTCOLL_TEST_DIE=0@send:20 gossip 3 4 3 "algorithm=$algorithm" "neighbourhood=$neighbourhood"
            [[ $output == *"gossip: 4 converged, 0 not, of 2 ranks"* ]]
            # Rank 0 is alone.
            FTCOLL_TEST_DIE=1@send:20,2@send:25,4@send:30 gossip 8 4 3 "algorithm=$algorithm" "neighbourhood=$neighbourhood"
            [[ $output == *"gossip: 4 converged, 0 not, of 5 ranks"* ]]
        done
    done
}

@test "a directed hypercube that a rank dies in ends at once, without a result" {
    FTCOLL_TEST_DIE=0@send:20 gossip 4 --set failure_info.share=off -- 2 3 algorithm=push-flow neighbourhood=directed-hypercube
    [[ $output == *"gossip: 0 converged, 2 not, of 3 ranks"* ]]
}

@test "what does not survive a death says so to all" {
    local algorithm
    for algorithm in push-sum push-cancel-flow; do
        FTCOLL_TEST_DIE=3@send:20 gossip 8 4 3 "algorithm=$algorithm"
        [[ $output == *"gossip: 3 converged, 1 not, of 7 ranks"* ]]
    done
}

@test "all but one or two die" {
    FTCOLL_TEST_DIE=0@send:30,2@send:50,3@send:70 gossip 4 6 2
    [[ $output == *"gossip: 6 converged, 0 not, of 1 ranks"* ]]
}

# bats test_tags=optimised
@test "flips of every variable heal with pfcc, and with pflc" {
    local variable algorithm bit bits="1 51 55 62 63"
    for algorithm in pfcc pflc; do
        for variable in input flow weight checksum estimate message; do
            for bit in $bits; do
                gossip 8 --set "drill.flip=2:$variable:$bit@0/9" --set log.level=info -- 1 3 "algorithm=$algorithm"
                [[ $output == *"gossip: 1 converged, 0 not, of 8 ranks"* ]]
                [[ $output == *"drill: bit $bit of $variable.0 turned over"* ]]
            done
        done
    done
}

# Prints the numbers of the ranks that failed, by the report.
victims() {
    jq -c '[.ranks[] | select(.failed) | .rank]' "$report"
}

# Each attempt has two agreements. An allreduce of fewer words follows.
@test "a bit flipped in the agreement that ends an operation costs its rank, in a later one too" {
    local bit operation variable flips
    for bit in 3 55; do
        gossip 8 --set "drill.flip=0:message.8:$bit@1/1" -- 2 1
        [[ $output == *"gossip: 2 converged, 0 not, of 7 ranks"* && $(victims) == "[0]" ]]
    done
    flips=$(printf ',0:message.8:55@%d/1' 3 4 5 6 7)
    gossip 8 --set "drill.flip=${flips#,}" -- 4 1
    [[ $output == *"gossip: 4 converged, 0 not, of 7 ranks"* && $(victims) == "[0]" ]]
    for variable in input partial decision; do
        gossip 8 --set reduce.doubling=0 --set "drill.flip=0:$variable.8:55@1/0" -- 2 1
        [[ $output == *"gossip: 2 converged, 0 not, of 7 ranks"* && $(victims) == "[0]" ]]
        [ "$(jq '.ranks[0].code' "$report")" -eq 117 ]
    done
    for operation in 0 1; do # the barrier has only a head
        gossip 8 --set "drill.flip=0:head.1:7@$operation/0" -- 2 1
        [[ $output == *"gossip: 2 converged, 0 not, of 7 ranks"* && $(victims) == "[0]" ]]
    done
}

# Sanitizers see damaged heads in the fuzzers of messages.
# bats test_tags=optimised
@test "a bit flipped in the head of a message of gossip costs nothing, or without turns its rank" {
    local place
    # From the version to the number of the letter.
    for place in 0:1 0:8 0:17 0:33 1:0 1:33 2:0 2:60 3:5 4:3 5:9 6:0 6:33 7:1; do
        gossip 8 --set "drill.flip=2:head.${place%:*}:${place#*:}@0/12" --set log.level=info -- 2 3
        [[ $output == *"gossip: 2 converged, 0 not, of 8 ranks"* && $(victims) == "[]" ]]
        [[ $output == *"is damaged: dropped"* ]]
    done
    [ "$(jq '[.ranks[].counters.dropped] | add' "$report")" -ge 1 ]
    for place in 0:1 0:8 0:33 1:0; do # arrives before the receiver has called
        gossip 2 --set "drill.flip=0:head.${place%:*}:${place#*:}@0/6" --set log.level=info -- 2 3 late=1 pause=200
        [[ $output == *"gossip: 2 converged, 0 not, of 2 ranks"* && $(victims) == "[]" ]]
        [[ $output == *"is damaged: dropped"* ]]
    done
    # The operation may end without a result, as after any death.
    gossip 8 --set drill.flip=2:head.1:0@0/12 -- 1 3 turns=-1
    [[ $output == *" of 7 ranks"* && $(victims) == "[2]" ]]
}

@test "an initial value that was flipped is repaired" {
    gossip 8 --set drill.flip=0:input.2:60@0/12 -- 1 3
    [[ $output == *" 1 repairs"* ]]
}

@test "weights: the mean of the living counts them, and ranks of weight 0 listen" {
    local algorithm
    for algorithm in push-sum push-flow push-cancel-flow pflc pfcc; do
        gossip 8 3 3 op=avg weights=4 "algorithm=$algorithm"
        [[ $output == *"gossip: 3 converged, 0 not, of 8 ranks"* ]]
    done
    gossip 1 2 3 op=avg weights=1 why=1
    [[ $output == *"the weights of all survivors are 0"* && $output == *"gossip: 0 converged, 2 not, of 1 ranks"* ]]
    run "$GOSSIP_APP" 2 3 op=avg weights=1 why=1 # without ftrun
    [[ $output == *"the weight of the only rank is 0"* && $output == *"gossip: 0 converged, 2 not, of 1 ranks"* ]]
    gossip 8 2 3 op=avg weights=1 why=1
    [[ $output == *"gossip: 0 converged, 2 not, of 8 ranks"* ]]
    [ "$(grep -c "the weights of all survivors are 0" <<<"$output")" -eq 16 ]
    # Without rank 0, ranks 1 and 2 begin anew.
    FTCOLL_TEST_DIE=0@send:20 gossip 3 4 3 op=avg weights=3
    [[ $output == *"gossip: 4 converged, 0 not, of 2 ranks"* ]]
    FTCOLL_TEST_DIE=3@send:40,6@send:90 gossip 8 5 3 op=avg weights=4
    [[ $output == *"gossip: 5 converged, 0 not, of 6 ranks"* ]]
    # All of the weight dies.
    FTCOLL_TEST_DIE=1@send:20 gossip 3 4 3 op=avg weights=2 why=1
    [[ $output == *"the weights of all survivors are 0"* && $output =~ "gossip: "[0-3]" converged, "[1-4]" not, of 2 ranks" ]]
}

@test "the report says when a result is coarser than the accuracy" {
    # The average is some 1e3, so the accuracy asks for less than 1e-9.
    gossip 8 1 2 op=avg accuracy=1e-12 cancel=1
    [[ $output =~ "gossip: 1 converged, 0 not, of 8 ranks; error "[^,]*", bound 3.6e-08;" ]]
    gossip 8 1 2 op=avg accuracy=1e-9 cancel=1 # coarse enough
    [[ $output =~ "gossip: 1 converged, 0 not, of 8 ranks; error "[^,]*", bound 7.4e-07;" ]]
}

@test "tau: a flip below it is none" {
    local flips=0:flow:51@5,0:flow:51@9,0:flow:51@13,0:flow:51@17
    for _ in 1 2 3 4 5; do # on a busy machine rank 0 may take few steps of its own, and meets no flip
        gossip 4 --set "drill.flip=$flips" -- 1 1 op=avg
        [[ $output == *" 0 corrupt"* ]] || break
    done
    [[ $output == *"gossip: 1 converged, 0 not"* && $output != *" 0 corrupt"* ]]
    gossip 4 --set "drill.flip=$flips" --set gossip.tau=1e6 -- 1 1 op=avg
    [[ $output == *"gossip: 1 converged, 0 not"*" 0 corrupt"* ]]
}

# bats test_tags=optimised
@test "a fifth of the messages lost, 64 ranks" {
    gossip 64 --set drill.message_loss=20 -- 3 2 accuracy=1e-6
    [[ $output == *"gossip: 3 converged, 0 not, of 64 ranks"* ]]
}

# bats test_tags=optimised
@test "half of the messages lost" {
    gossip 8 --set drill.message_loss=50 -- 3 2 accuracy=1e-9
    [[ $output == *"gossip: 3 converged, 0 not, of 8 ranks"* ]]
}

@test "ten aggregations and allreduces in turns, with a late rank" {
    gossip 8 10 3 mix=1
    [[ $output == *"gossip: 10 converged, 0 not, of 8 ranks"* ]]
    gossip 8 10 3 mix=1 late=2
    [[ $output == *"gossip: 10 converged, 0 not, of 8 ranks"* ]]
}

@test "no result is no hang: too few messages, an input that is not a number" {
    gossip 8 2 3 accuracy=1e-12 messages=10
    [[ $output == *"gossip: 0 converged, 2 not, of 8 ranks"* ]]
    gossip 8 2 3 nan=3
    [[ $output == *"gossip: 0 converged, 2 not, of 8 ranks"* ]]
}

# bats test_tags=optimised
@test "no result is no hang: the time is up, and every rank says so" {
    gossip 4 --set drill.message_loss=97 --set gossip.patience_us=100 --set gossip.most_messages=0 \
        --set gossip.most_seconds=1 -- 1 3 accuracy=1e-12 why=1
    [[ $output == *"gossip: 0 converged, 1 not, of 4 ranks"* ]]
    [ "$(grep -c "a rank has gossiped for as long as it may: take .* or a greater gossip.most_seconds" <<<"$output")" -eq 4 ]
}

# bats test_tags=optimised
@test "a rank that comes late to the call uses up nobody's time" {
    gossip 4 --set gossip.most_seconds=4 -- 1 3 late=2 pause=6000
    [[ $output == *"gossip: 1 converged, 0 not, of 4 ranks"* ]]
}

@test "where nothing converges ftcoll-status says since when, and who waits for whom" {
    local end=$((SECONDS + 60)) pid
    "$FTRUN" -np 4 --set drill.message_loss=97 --set gossip.patience_us=100 --set gossip.most_messages=0 \
        "$GOSSIP_APP" 1 3 accuracy=1e-12 >/dev/null 2>&1 3>&- &
    pid=$!
    # Shows the ranks that had not settled at that moment. A settled rank waits for the agreement.
    shows_who_waits() {
        "$STATUS" --json "$pid" >"$json" 2>/dev/null && jq -ne 'input.jobs[0].ranks | any(.[].activity;
            .operation == "gossip" and .unsettled_ns > 1e8 and .waits_for_rank != null and .waits >= 1)' "$json" >/dev/null &&
            COLUMNS=200 run "$STATUS" -n "$pid" && [[ $output == *"unsettled "* ]]
    }
    until shows_who_waits; do
        [ "$SECONDS" -lt "$end" ] || { cat "$json"; kill "$pid"; return 1; }
        sleep 0.05
    done
    kill "$pid"
    wait "$pid" || true
}

@test "a rank that always has messages shows in ftcoll-status that it gossips" {
    local end=$((SECONDS + 60)) pid
    "$FTRUN" -np 16 --set gossip.most_messages=0 --set collectives.algorithm=corrected "$GOSSIP_APP" 1 300 \
        algorithm=pflc neighbourhood=directed-hypercube accuracy=1e-300 >/dev/null 2>&1 3>&- &
    pid=$!
    shows_gossip() {
        "$STATUS" --json "$pid" >"$json" 2>/dev/null &&
            jq -ne 'input.jobs[0].ranks | all(.[].activity; .operation == "gossip")' "$json" >/dev/null
    }
    until shows_gossip; do
        [ "$SECONDS" -lt "$end" ] || { cat "$json"; kill "$pid"; return 1; }
        sleep 0.05
    done
    kill "$pid"
    wait "$pid" || true
}

@test "ranks that gossip about different things, or not at all, end the job" {
    run timeout -s KILL 60 "$FTRUN" -np 2 "$GOSSIP_APP" 1 1 other=1
    echo "$output"
    [ "$status" -eq 116 ]
    [[ $output == *"gossips about"* ]]
    run timeout -s KILL 60 "$FTRUN" -np 4 "$GOSSIP_APP" 1 1 barrier=2
    echo "$output"
    [ "$status" -eq 116 ]
    [[ $output == *gossip* && $output == *barrier* ]]
}

@test "messages of gossip are counted, and large values go through" {
    gossip 4 2 20000 accuracy=1e-6
    [[ $output == *"gossip: 2 converged, 0 not, of 4 ranks"* ]]
    [ "$(jq '.ranks[1].counters.sent.GOSSIP' "$report")" -ge 10 ]
}
