#!/usr/bin/env bats
# Tests bench/skew. SKEW is the script, BUILD where ftcoll was built, FTRUN the launcher.
# shellcheck disable=SC2154 # stderr is of bats

bats_require_minimum_version 1.5.0

setup() {
    work=$(mktemp -d)
    export TMPDIR=$work/tmp
    mkdir "$work/tmp"
}

teardown() {
    rm -rf "$work"
}

skew() {
    run --separate-stderr timeout -s KILL 100 "$SKEW" --build "$BUILD" "$@"
}

@test "wrong use ends with 2 and says what is wrong" {
    for words in "--np x" "--np 1" "--sim-ranks 1" "--rounds 0" "--seconds x" "--compute 8,x" "tea" "--frobnicate"; do
        # shellcheck disable=SC2086 # an option and its value
        skew $words
        [ "$status" -eq 2 ]
        [ -z "$output" ]
        [[ "$stderr" == *"skew: "*"${words##*[ ,-]}"* ]]
    done
}

# Simulated times do not depend on the machine.
@test "simulated: where a round waits for all ranks, multicast takes less than the best tree" {
    skew --np 0 --compute 0,20 --rounds 3 --csv "$work/csv" --markdown "$work/md"
    [ "$status" -eq 0 ]
    [ "$(wc -l <"$work/csv")" -eq $((1 + 2 * 2 * 3 * 3)) ]
    [ "$(grep -c '^| bcast' "$work/md")" -eq 4 ]
    grep '^bcast-reduce' <<<"$output" | awk '!($6 < 0.9 && $5 < $4) { exit 1 } END { exit NR != 2 }'
    [ -z "$(ls -A "$TMPDIR")" ]
}

@test "in jobs, for a moment" {
    skew --sim-ranks 0 --np 3 --compute 10 --rounds 1 --seconds 0.01
    echo "$output $stderr"
    [ "$status" -eq 0 ]
    [ -z "$stderr" ]
    [[ ${lines[0]} == "3 ranks on "* ]]
    [ "$(grep -cE '^bcast(-reduce)? +10( +[0-9]+\.[0-9]){3} +[0-9.]+$' <<<"$output")" -eq 2 ]
}

@test "a run that fails is told" {
    FTRUN=/bin/false skew --sim-ranks 0 --rounds 1
    [ "$status" -eq 1 ]
    [[ $stderr == "skew: exit code 1 of: "* ]]
}
