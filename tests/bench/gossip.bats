#!/usr/bin/env bats
# bench/gossip, on an ftrun that is made up here, and once on the real one. GOSSIP is the script, BUILD where ftcoll was built, REAL_FTRUN
# the launcher.

bats_require_minimum_version 1.5.0

setup() {
    work=$(mktemp -d)
    export TMPDIR=$work/tmp FTRUN=$work/ftrun
    mkdir "$work/tmp"
}

teardown() {
    rm -rf "$work"
}

# An ftrun that says 10 us for allreduce and, for gossip, 20, 70 and 30 us in the three rounds.
program() {
    cat >"$FTRUN" <<END
#!/bin/bash
[ "\$1" != --version ] || { echo ftrun 1.2.3; exit; }
printf '%s\n' "\$*" >>'$work/runs'
case "\$*" in
*allreduce) echo '{"tables": [{"rows": [{"median_us": 10}]}]}' ;;
*pflc*) exit 3 ;;
*)
    us=(0 20 70 30)
    [[ "\$*" =~ gossip.algorithm=([a-z-]+)\ --set\ gossip.accuracy=([0-9e-]+) ]]
    us=\${us[\$(grep -c "algorithm=\${BASH_REMATCH[1]} .*accuracy=\${BASH_REMATCH[2]} " '$work/runs')]}
    echo '{"tables": [{"rows": [{"median_us": '\$us', "gossip": {"messages": 44, "gossip_us": 15, "barrier_us": 1, "agreement_us": 4}}]}]}'
    ;;
esac
END
    chmod +x "$FTRUN"
}

gossip() {
    run --separate-stderr timeout -s KILL 100 "$GOSSIP" --build "$BUILD" "$@"
}

@test "wrong use ends with 2 and says what is wrong" {
    # shellcheck disable=SC2154 # stderr is of bats
    for words in "--np x" "--np 0" "--size x" "--accuracies x" "--neighbourhood tree" "--rounds 0" "--samples 0" "tea" "--frobnicate"; do
        # shellcheck disable=SC2086 # an option and its value
        gossip $words
        [ "$status" -eq 2 ]
        [ -z "$output" ]
        [[ "$stderr" == *"gossip: "*"${words##*[ ,-]}"* ]]
    done
}

@test "medians of the rounds, beside allreduce; what failed is named" {
    program
    gossip --np 4 --accuracies 1e-3,1e-9 --csv "$work/csv" --markdown "$work/md"
    [ "$status" -eq 1 ]
    [[ $output == *"4 ranks; allreduce takes 10.0 us"* ]]
    [ "$(grep -c "30  3.0x  44  25%" <<<"$output")" -eq 4 ]
    [[ $output == *pflc*failed* && $stderr == *"exit code 3 of 4 ranks, pflc"* ]]
    [ "$(wc -l <"$work/csv")" -eq 34 ]
    grep -qF "| pfcc | 30  3.0x  44  25% | 30  3.0x  44  25% |" "$work/md"
    [ -z "$(ls "$work/tmp")" ]
}

@test "the real one" {
    FTRUN=$REAL_FTRUN gossip --np 2 --accuracies 1e-3 --rounds 1 --samples 2
    [ "$status" -eq 0 ]
    [[ $output == *"2 ranks; allreduce takes"* && $output == *"pfcc "* ]]
}
