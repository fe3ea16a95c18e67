#!/usr/bin/env bats
# Tests bench/record-watch, which makes a picture of a job of which a rank is killed. RECORD is the
# script, BUILD where ftcoll was built.

bats_require_minimum_version 1.5.0

setup() {
    work=$(mktemp -d)
    export TMPDIR=$work/tmp
    mkdir "$work/tmp"
    root=${RECORD%/bench/record-watch}
    escape=$'\033'
}

teardown() {
    [ -z "${beside-}" ] || kill "$beside" 2>/dev/null || true
    rm -rf "$work"
}

picture() { # the picture is made of the frames in $work/frames
    awk -f "$root/bench/record-watch.awk" -v columns=80 -v rows=4 -v title="<title> & more" "$work/frames" >"$work/svg"
}

well_formed() { # FILE
    xmllint --noout "$1"
    run ! grep -q "<script" "$1"
    [ "$(wc -c <"$1")" -le 204800 ]
}

has() { # FILE TEXT
    grep -qF -- "$2" "$1" || {
        cat "$1"
        return 1
    }
}

@test "wrong use ends with 2 and says what is wrong" {
    local words
    for words in "--np x" "--np 1" "--seconds 99" "--columns 20" "--rows 9" "--kill 3" "--kill x@1" "tea" "--frobnicate"; do
        # shellcheck disable=SC2086 # an option and its value
        run --separate-stderr "$RECORD" --build "$BUILD" $words
        [ "$status" -eq 2 ]
        # shellcheck disable=SC2154 # stderr is of bats
        [[ "$stderr" == *"record-watch"*"${words##* }"* ]]
    done
}

@test "screens become frames, each with its part of the time" {
    printf '%s\n' "FRAME 1000" "first" "FRAME 2000" "second" "3     failed  17" "END 5000" >"$work/frames"
    picture
    well_formed "$work/svg"
    has "$work/svg" "@keyframes k1{0%{visibility:visible}25.00%{visibility:hidden}"
    has "$work/svg" "@keyframes k2{0%{visibility:hidden}25.00%{visibility:visible}100%{visibility:visible}}"
    has "$work/svg" "#f2{visibility:visible}" # without animation the last frame is visible
    has "$work/svg" 'class="x">3     failed  17</text>'
}

@test "what XML would take for its own is quoted, attributes become classes" {
    printf '%s\n' "FRAME 0" "a < b && c > d" "${escape}[1;31mred${escape}[0m plain ${escape}[4munder${escape}[24m${escape}[38;5;200mx" \
        "END 1000" >"$work/frames"
    picture
    well_formed "$work/svg"
    has "$work/svg" "<title>&lt;title&gt; &amp; more</title>"
    has "$work/svg" ">a &lt; b &amp;&amp; c &gt; d</text>"
    has "$work/svg" '<tspan class="b c1">red</tspan> plain <tspan class="u">under</tspan>x</text>'
}

@test "without a frame there is no picture" {
    : >"$work/frames"
    run ! picture
}

@test "a rank that is killed is seen to fail, and nothing is left behind" {
    command -v tmux >/dev/null || skip "tmux is not installed"
    # A job beside it has a failed rank.
    "$BUILD/launcher/ftrun" -np 2 -f 1 --kill 1@0.1 "$BUILD/bench/loop_app" pace 30 >"$work/beside" 2>&1 &
    beside=$!
    timeout 20 sh -c "until grep -q 'rank 1 failed' '$work/beside'; do sleep 0.05; done"
    run --separate-stderr timeout -s KILL 100 "$RECORD" --build "$BUILD" --np 4 --kill 2@4 --seconds 8 --out "$work/watch.svg"
    kill "$beside"
    wait "$beside" || true
    [ "$status" -eq 0 ] || {
        echo "$stderr"
        return 1
    }
    well_formed "$work/watch.svg"
    grep -qE '>2 +failed ' "$work/watch.svg"
    grep -qE 'failed 0' "$work/watch.svg" # the rank lived at first
    [ -z "$(ls -A "$TMPDIR")" ]
}

@test "the picture of the README is well-formed and shows failed ranks" {
    well_formed "$root/docs/images/status-watch.svg"
    grep -qE '>3 +failed ' "$root/docs/images/status-watch.svg"
    grep -qF docs/images/status-watch.svg "$root/README.md"
}
