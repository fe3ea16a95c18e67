#!/usr/bin/env bats
# Tests bench/gossip on a fake ftrun that this file makes, and once on the real one. GOSSIP is the
# script, BUILD where ftcoll was built, REAL_FTRUN the launcher.

bats_require_minimum_version 1.5.0

setup() {
    work=$(mktemp -d)
    export TMPDIR=$work/tmp FTRUN=$work/ftrun
    mkdir "$work/tmp"
}

teardown() {
    rm -rf "$work"
}

# Makes an ftrun that prints 10 us for doubling. For gossip at 1e-3 it prints 20, 70 and 30 us in
# the three rounds, and twice that at other accuracies. Also makes a build whose message takes 2 us,
# and 3 us in turns.
program() { # US, what voted takes
    cat >"$FTRUN" <<END
#!/bin/bash
[ "\$1" != --version ] || { echo ftrun 1.2.3; exit; }
printf '%s\n' "\$*" >>'$work/runs'
exact() { echo '{"tables": [{"rows": [{"median_us": '"\$1"'}]}]}'; }
case "\$*" in
*allreduce) exact 20 ;;
*doubling) exact 10 ;;
*rabenseifner) exact 15 ;;
*voted) exact $1 ;;
*pflc*) exit 3 ;;
*)
    us=(0 20 70 30)
    [[ "\$*" =~ gossip.algorithm=([a-z-]+)\ --set\ gossip.accuracy=([0-9e-]+) ]]
    us=\${us[\$(grep -c "algorithm=\${BASH_REMATCH[1]} .*accuracy=\${BASH_REMATCH[2]} " '$work/runs')]}
    [ "\${BASH_REMATCH[2]}" = 1e-3 ] || us=\$((2 * us))
    echo '{"tables": [{"rows": [{"median_us": '\$us', "gossip": {"messages": 44, "gossip_us": 15, "barrier_us": 1, "agreement_us": 4}}]}]}'
    ;;
esac
END
    mkdir -p "$work/build/cli" "$work/build/bench" "$work/build/runtime/baseline"
    touch "$work/build/runtime/baseline/libftcoll.so"
    ln -s /bin/true "$work/build/cli/ftcoll-perf"
    cat >"$work/build/bench/message_time" <<'END'
#!/bin/bash
us=2
[ "$4" = both ] || us=3
echo "message_time $4 $2 $1 $3 1000 $9.0000 $us.0000 9.0000"
END
    chmod +x "$FTRUN" "$work/build/bench/message_time"
    BUILD=$work/build
}

gossip() {
    run --separate-stderr timeout -s KILL 100 "$GOSSIP" --build "$BUILD" "$@"
}

@test "wrong use ends with 2 and says what is wrong" {
    # shellcheck disable=SC2154 # stderr is of bats
    for words in "--np x" "--np 0" "--size x" "--accuracies x" "--neighbourhood tree" "--by mail" "--bind tree" "--predict --by board" "--predict --np 514" "--rounds 0" "--samples 0" "tea" "--frobnicate"; do
        # shellcheck disable=SC2086 # an option and its value
        gossip $words
        [ "$status" -eq 2 ]
        [ -z "$output" ]
        [[ "$stderr" == *"gossip: "*"${words##*[ ,-]}"* ]]
    done
}

@test "medians of the rounds, beside the exact ones; what failed is named" {
    program 25
    gossip --np 4 --accuracies 1e-3,1e-9 --csv "$work/csv" --markdown "$work/md"
    [ "$status" -eq 1 ]
    [[ $output == *"4 ranks, by messages"*"allreduce 20.0 us (2.0x), doubling 10.0 us (1.0x), rabenseifner 15.0 us (1.5x), voted 25.0 us (2.5x)."* ]]
    [ "$(grep -c "30  3.0x/1.5x  44  25% *60  6.0x/3.0x  44  25%" <<<"$output")" -eq 4 ]
    [[ $output == *pflc*failed* && $stderr == *"exit code 3 of 4 ranks, pflc"* ]]
    [ "$(wc -l <"$work/csv")" -eq 55 ]
    grep -qF "| pfcc | 30  3.0x/1.5x  44  25% | 60  6.0x/3.0x  44  25% |" "$work/md"
    [ -z "$(ls "$work/tmp")" ]
}

@test "worth while is at most three times doubling; for pfcc at most voted, too" {
    program 25
    gossip --np 4 --accuracies 1e-3,1e-9 --markdown "$work/md"
    for text in "$output" "$(<"$work/md")"; do
        grep -qx -- "- 1e-3: push-sum, push-flow, push-cancel-flow" <<<"$text"
        grep -qx -- "- 1e-9: none" <<<"$text"
    done
    rm "$work/runs" "$work/build/cli/ftcoll-perf"
    program 30
    gossip --np 4 --accuracies 1e-3
    grep -qx -- "- 1e-3: push-sum, push-flow, push-cancel-flow, pfcc" <<<"$output"
}

@test "gossip goes by messages, on the board, or by both in turn; ranks are bound if asked for" {
    program 25
    gossip --np 4 --accuracies 1e-3 --rounds 1
    [ "$(grep -vc collectives.algorithm=corrected "$work/runs")" -eq 0 ]
    rm "$work/runs"
    gossip --np 4 --accuracies 1e-3 --rounds 1 --by board,messages
    [ "$(grep -vc collectives.algorithm=corrected "$work/runs")" -eq 9 ]
    [ "$(grep -c collectives.algorithm=corrected "$work/runs")" -eq 9 ]
    [[ $output == *"4 ranks, on the board"*"Worth while"*"4 ranks, by messages"*"Worth while"* ]]
    run ! grep -q -e --bind-to "$work/runs"
    gossip --np 4 --accuracies 1e-3 --rounds 1 --bind cores
    [ "$(grep -c -e "--bind-to core" "$work/runs")" -eq 9 ]
}

# The prediction has one message of a rank after the other, 44 of them, and two allreduces. Two
# ranks in turns also wait for the answer.
@test "predicted beside measured" {
    program 25
    gossip --np 4 --accuracies 1e-3 --predict --markdown "$work/md"
    [[ $output == *"doubling 4.0  2.50x, rabenseifner 8.0  1.88x, voted 12  2.08x."* ]]
    [[ $output == *"Measured / predicted, gossip: median 0.23, from 0.23 to 0.23."* ]]
    grep -qxF "| pfcc | 128  0.23x |" "$work/md"
    rm "$work/runs"
    gossip --np 2 --accuracies 1e-3 --predict --markdown "$work/md"
    grep -qxF "| push-sum | 128  0.23x |" "$work/md"
    grep -qxF "| pfcc | 304  0.10x |" "$work/md"
}

@test "the real one" {
    FTRUN=$REAL_FTRUN gossip --np 2 --accuracies 1e-3 --rounds 1 --samples 2 --predict
    [ "$status" -eq 0 ]
    [[ $output == *"2 ranks, by messages"*"pfcc "*"Worth while"*"Measured / predicted"* ]]
}
