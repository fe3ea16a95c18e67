#!/usr/bin/env bats
# Tests bench/tolerance on a fake ftrun and a fake cmake that this file makes. TOLERANCE is the
# script.

bats_require_minimum_version 1.5.0

setup() {
    work=$(mktemp -d)
    export TMPDIR=$work/tmp FTRUN=$work/ftrun PATH=$work/bin:$PATH
    mkdir "$work/tmp" "$work/bin"
    program "$work/bin/cmake" 'exit 0'
}

teardown() {
    rm -rf "$work"
}

program() { # PATH TEXT
    printf '#!/bin/bash\n%s\n' "$2" >"$1"
    chmod +x "$1"
}

tolerance() {
    run --separate-stderr timeout -s KILL 60 "$TOLERANCE" --build "$work/build" "$@"
}

@test "wrong use ends with 2 and says what is wrong" {
    # shellcheck disable=SC2154 # stderr is of bats
    for words in "--np 2,x" "--rounds x" "--rounds 0" "--seconds x" "--seconds 0" "tea" "--frobnicate"; do
        # shellcheck disable=SC2086 # an option and its value
        tolerance $words
        [ "$status" -eq 2 ]
        [ -z "$output" ]
        [[ "$stderr" == *"tolerance: "*"${words##*[ ,-]}"* ]]
    done
}

@test "medians, and the median and range of the ratios of the rounds" {
    # The rounds take 3, 4 and 16 us with the looks, and 2, 2 and 4 us without. The ratios are 1.5,
    # 2 and 4.
    program "$FTRUN" "
        echo >>'$work/runs'
        with=(0 3 4 16) without=(0 2 2 4) round=\$(((\$(wc -l <'$work/runs') + 1) / 2))
        figures=(\"\${with[@]}\")
        [[ \$LD_LIBRARY_PATH != *unchecked ]] || figures=(\"\${without[@]}\")
        echo ftcoll allreduce \$2 8 100 \${figures[round]} 9
        echo ftcoll barrier \$2 0 100 5 9"
    tolerance --np 4 --rounds 3
    [ "$status" -eq 0 ]
    [ "$(tr -s ' ' <<<"${lines[1]}")" = "allreduce 4 4.000 2.000 2.000 1.500..4.000" ]
    [ "$(tr -s ' ' <<<"${lines[2]}")" = "barrier 4 5.000 5.000 1.000 1.000..1.000" ]
}

@test "with --history the same library runs, with and without it" {
    program "$FTRUN" "
        [[ \$LD_LIBRARY_PATH != *unchecked ]] || exit 9
        us=6; [ \$FTCOLL_TRACE_HISTORY = on ] || us=5
        echo ftcoll allreduce \$2 8 100 \$us 9"
    tolerance --history --np 2 --rounds 2
    [ "$status" -eq 0 ]
    [ "$(tr -s ' ' <<<"${lines[1]}")" = "allreduce 2 6.000 5.000 1.200 1.200..1.200" ]
}

@test "a run that fails is told, and there is no table" {
    program "$FTRUN" 'echo no luck today >&2; exit 7'
    tolerance --np 2 --rounds 1
    [ "$status" -eq 1 ]
    [ -z "$output" ]
    [[ "$stderr" == *"no luck today"*"ended with code 7"* ]]
}

@test "an interrupted run leaves nothing behind" {
    program "$FTRUN" "echo \$\$ >'$work/pid.new'; mv '$work/pid.new' '$work/pid'; exec sleep 60"
    "$TOLERANCE" --build "$work/build" 3>&- &
    local script=$! end=$((SECONDS + 20))
    until [ -s "$work/pid" ]; do
        [ "$SECONDS" -lt "$end" ]
        sleep 0.1
    done
    kill -TERM "$script"
    wait "$script" || [ $? -eq 143 ]
    end=$((SECONDS + 20))
    while kill -0 "$(cat "$work/pid")" 2>/dev/null; do # the program is killed, but not yet gone
        [ "$SECONDS" -lt "$end" ]
        sleep 0.1
    done
    [ -z "$(ls -A "$work/tmp")" ]
}
