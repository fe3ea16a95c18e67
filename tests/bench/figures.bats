#!/usr/bin/env bats
# Tests bench/figures: do the pictures in docs/figures show what the tables beside them say? FIGURES
# is the script, BUILD where ftcoll was built.

bats_require_minimum_version 1.5.0

setup() {
    work=$(mktemp -d)
    export TMPDIR=$work/tmp
    mkdir "$work/tmp"
    root=${FIGURES%/bench/figures}
}

teardown() {
    rm -rf "$work"
}

figures() {
    run --separate-stderr timeout -s KILL 100 "$FIGURES" --build "$BUILD" "$@"
}

needs_gnuplot() {
    command -v gnuplot >/dev/null || skip "gnuplot is not installed"
}

same_curves() { # SVG SVG
    awk -f "$root/bench/figures.awk" "$1" "$2"
}

@test "wrong use ends with 2 and says what is wrong" {
    local words
    for words in "--jobs x" "--only tea" "--frobnicate" "tea" "--check --out $work"; do
        # shellcheck disable=SC2086 # an option and its value
        figures $words
        [ "$status" -eq 2 ]
        [ -z "$output" ]
        # shellcheck disable=SC2154 # stderr is of bats
        [[ "$stderr" == *"figures"* ]]
    done
}

@test "every picture shows its table, and every table and picture has one" {
    needs_gnuplot
    local file
    figures --check
    [ "$status" -eq 0 ]
    for file in "$root"/docs/figures/*.svg; do
        [[ "$output" == *"${file##*/}: as its table"* ]]
    done
    for file in "$root"/docs/figures/*.csv; do
        "$FIGURES" --help | grep -qF "$(basename "$file" .csv)"
    done
    [ -z "$(ls -A "$TMPDIR")" ]
}

@test "a point that lies elsewhere, or a curve that is missing, is found" {
    local picture=$root/docs/figures/gossip-accuracy.svg
    same_curves "$picture" "$picture"
    sed 's/L128.96,[0-9.]* L/L128.96,100 L/' "$picture" >"$work/moved.svg"
    run ! cmp -s "$picture" "$work/moved.svg"
    run ! same_curves "$picture" "$work/moved.svg"
    sed 's/gnuplot_plot_4/other/' "$picture" >"$work/fewer.svg"
    run ! same_curves "$picture" "$work/fewer.svg"
    : >"$work/empty.svg"
    run ! same_curves "$picture" "$work/empty.svg"
}

@test "other margins and fonts are no difference" {
    local picture=$root/docs/figures/gossip-accuracy.svg
    awk '{
        rest = $0
        line = ""
        while (match(rest, /[ML][0-9.]+,[0-9.]+/)) {
            split(substr(rest, RSTART + 1, RLENGTH - 1), xy, ",")
            line = line substr(rest, 1, RSTART) (xy[1] * 1.1 + 7) "," (xy[2] * 0.9 + 3)
            rest = substr(rest, RSTART + RLENGTH)
        }
        print line rest
    }' "$picture" >"$work/wider.svg"
    run ! cmp -s "$picture" "$work/wider.svg"
    same_curves "$picture" "$work/wider.svg"
}

@test "a table is made again, byte for byte, with its picture" {
    needs_gnuplot
    figures --only gossip-accuracy --out "$work/out"
    [ "$status" -eq 0 ]
    cmp "$work/out/gossip-accuracy.csv" "$root/docs/figures/gossip-accuracy.csv"
    same_curves "$work/out/gossip-accuracy.svg" "$root/docs/figures/gossip-accuracy.svg"
    [ "$(find "$work/out" -type f | wc -l)" -eq 2 ]
    [ -z "$(ls -A "$TMPDIR")" ]
}
