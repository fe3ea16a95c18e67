#!/usr/bin/env bats
# Tests bench/draw-trace, which makes a picture of what ftrun --trace has written. DRAW is the
# script, FTRUN and BUILD are what it is tried with.

bats_require_minimum_version 1.5.0

setup() {
    work=$(mktemp -d)
    export TMPDIR=$work
    root=${DRAW%/bench/draw-trace}
}

teardown() {
    rm -rf "$work"
}

has() { # TEXT
    grep -qF -- "$1" "$work/svg" || {
        cat "$work/svg"
        return 1
    }
}

operation() { # RANK TS DUR NAME [MORE ARGUMENTS]
    printf '{"ts":%s,"ph":"X","pid":%s,"tid":0,"name":"%s","dur":%s,"cat":"operation","args":{"number":1%s}},\n' "$2" "$1" "$4" "$3" "${5-}"
}

instant() { # RANK TS NAME
    printf '{"ts":%s,"ph":"i","pid":%s,"tid":0,"name":"%s","s":"t","cat":"%s","args":{}},\n' "$2" "$1" "$3" "$3"
}

@test "wrong use ends with 2 and says what is wrong" {
    local words
    for words in "" "a b" "--from x trace" "--to -1 trace" "--frobnicate trace"; do
        # shellcheck disable=SC2086 # an option and its value
        run --separate-stderr "$DRAW" $words
        [ "$status" -eq 2 ]
        # shellcheck disable=SC2154 # stderr is of bats
        [[ "$stderr" == *"draw-trace"* ]]
    done
    run --separate-stderr "$DRAW" "$work/none"
    [ "$status" -eq 1 ]
    echo '{"traceEvents":[' >"$work/trace"
    run --separate-stderr "$DRAW" "$work/trace"
    [ "$status" -eq 1 ]
    [[ "$stderr" == *"nothing to draw"* ]]
}

@test "operations are bars of their kind, waiting is lighter, deaths and notices are marks" {
    { # 1 us is a pixel
        operation 0 0 400 allreduce ',"waited_for":1,"waited_since_us":100.0'
        operation 1 100 300 ibarrier
        instant 0 250 notice
        instant 1 200 death
    } >"$work/trace"
    "$DRAW" --from 0 --to 0.81 --width 900 --title "a < b & c" --out "$work/svg" "$work/trace"
    xmllint --noout "$work/svg"
    has "<title>a &lt; b &amp; c</title>"
    has '>rank 0</text>'
    has '>rank 1</text>'
    has '<rect class="k1" x="62.0" y="37.0" width="100.0" height="20.0"/>'
    has '<rect class="k1 w" x="162.0" y="37.0" width="300.0" height="20.0"/>'
    has '<rect class="k2" x="162.0" y="63.0" width="300.0" height="20.0"/>'
    has '<path class="x" d="M256.0 67.0l12 12m0 -12l-12 12"/>'
    has '<path class="n" d="M312.0 34.0v26"/>'
    has '>barrier</text>'
    has '>0.8 ms</text>'
    run ! grep -q "<script" "$work/svg"
}

@test "operations that overlap share the height of their row, in any order of the file" {
    {
        operation 0 100 100 iallreduce
        operation 0 0 150 iallreduce
        operation 0 200 100 iallreduce # the first line is free by then
        operation 0 5000 100 bcast     # outside of the picture
    } >"$work/trace"
    "$DRAW" --from 0 --to 0.81 --out "$work/svg" "$work/trace"
    has '<rect class="k1" x="62.0" y="37.0" width="150.0" height="9.0"/>'
    has '<rect class="k1" x="162.0" y="47.0" width="100.0" height="9.0"/>'
    has '<rect class="k1" x="262.0" y="37.0" width="100.0" height="9.0"/>'
    run ! grep -q bcast "$work/svg"
}

@test "a job of which a rank is killed has a picture" {
    "$FTRUN" -np 4 -f 1 --kill 2@0.3 --trace "$work/trace" "$BUILD/bench/loop_app" pace 1 >"$work/out" 2>&1
    "$DRAW" --out "$work/svg" "$work/trace"
    xmllint --noout "$work/svg"
    has '>rank 3</text>'
    has '>allreduce</text>'
    [ "$(grep -c 'class="x" d="M[0-9]' "$work/svg")" -eq 2 ] # and the sample in the legend
    [ "$(grep -c 'class="n" d="M[0-9.]* [0-9]' "$work/svg")" -ge 3 ]
}

@test "the picture of the documents is well-formed, and has a death" {
    xmllint --noout "$root/docs/images/trace.svg"
    grep -qF 'class="x"' "$root/docs/images/trace.svg"
    grep -qF '](images/trace.svg)' "$root/docs/tracing.md"
}
