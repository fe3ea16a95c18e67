#!/usr/bin/env bats
# The examples, with and without failures. FTRUN, EXAMPLES (a folder) and DENSE (dense_solve) name
# the programs.
# shellcheck disable=SC2030,SC2031 # bats runs each test in a subshell of its own

# shellcheck source-path=SCRIPTDIR source=kills.bash
source "$BATS_TEST_DIRNAME/kills.bash"

# Some releases of wc leave out words that have no printable byte.
words_of() { # FILE...
    cat "$@" | LC_ALL=C tr -s '[:space:]' '\n' | LC_ALL=C grep -avc '^$'
}

setup() {
    work=$(mktemp -d)
    seed_kills
    # The input has words at every distance from shard borders, very long words, odd bytes, and a
    # file that ends inside a word.
    seq -s ' ' 1 3000 >"$work/numbers"
    printf 'no newline at the end of this word' >"$work/open"
    printf 'goes on here\n\001\002 \303\251 a\001b\t\v\f\rlast ' >"$work/odd"
    head -c 5000 /dev/zero | tr '\0' x >"$work/long"
    : >"$work/empty"
    texts=("$work/numbers" "$work/open" "$work/odd" "$work/long" "$work/empty" "$work/numbers")
    words=$(words_of "${texts[@]}")
}

teardown() {
    rm -rf "$work"
}

# A line of the output is TEXT. Two such lines are right, too: the first rank that wrote the line
# may have died after it.
has_line() {
    grep -qxF -- "$1" <<<"$output"
}

# At least one total is printed, and every printed total is right.
counted() {
    [ "$(grep ' words$' <<<"$output" | sort -u)" = "$words words" ]
}

@test "wordcount counts every word, with any number of ranks and shards" {
    for np in 1 4 8; do
        launch -np "$np" -f $((np > 1)) "$EXAMPLES/wordcount" "${texts[@]}"
        [ "$status" -eq 0 ]
        counted
        has_line "failed ranks: none"
    done
    for shards in 1 2 3 7 64 1000 20000; do
        launch -np 3 -f 1 "$EXAMPLES/wordcount" --shards "$shards" "${texts[@]}"
        counted
    done
}

@test "wordcount without ftrun is a job of one rank" {
    run "$EXAMPLES/wordcount" "${texts[@]}"
    [ "$status" -eq 0 ]
    counted
}

@test "the histogram's lengths add up to all words" {
    launch -np 4 -f 1 "$EXAMPLES/wordcount" --histogram "${texts[@]}"
    counted
    [ "$(awk '/ bytes: / { all += $NF } END { print all }' <<<"$output")" = "$words" ]
    local single
    single=$(cat "${texts[@]}" | LC_ALL=C tr -s '[:space:]' '\n' | LC_ALL=C awk 'length == 1' | wc -l)
    has_line "   1 bytes: $single"
}

@test "wordcount counts the licences of the system" {
    [ -d /usr/share/common-licenses ] || skip "no /usr/share/common-licenses"
    words=$(words_of /usr/share/common-licenses/*)
    launch -np 4 -f 1 "$EXAMPLES/wordcount" /usr/share/common-licenses/*
    counted
}

@test "wordcount is exact whoever dies" {
    for round in 1 2 3 4; do
        kills $((round * 2 - 1)) 8 400
        launch -np 8 -f 2 "${kill[@]}" "$EXAMPLES/wordcount" --slow 60 --shards 64 "${texts[@]}"
        [ "$status" -eq 0 ]
        counted
        [[ "$output" == *"killed by --kill"* ]]
    done
}

@test "wordcount is exact with every failure-information scheme and view policy" {
    for setting in scheme=list scheme=count scheme=bit share=off; do
        kills 3 6 400
        launch -np 6 -f 1 --set "failure_info.$setting" "${kill[@]}" "$EXAMPLES/wordcount" \
            --slow 50 --shards 48 "${texts[@]}"
        [ "$status" -eq 0 ]
        counted
    done
}

@test "the printer's death does not lose the result" {
    launch -np 4 -f 1 --kill 0@0.2 "$EXAMPLES/wordcount" --slow 80 --shards 16 "${texts[@]}"
    [ "$status" -eq 0 ]
    counted
    has_line "failed ranks: 0"
}

@test "files that cannot be read end wordcount with an error, not with a wait" {
    for path in "$work/nothing" "$work"; do
        launch -np 3 -f 1 "$EXAMPLES/wordcount" "${texts[0]}" "$path"
        [ "$status" -ne 0 ]
        [ "$status" -ne 137 ] # timeout has not killed it
        [[ "$output" == *"$path"* ]]
    done
}

@test "cg agrees with a dense solve" {
    "$EXAMPLES/poisson" 12 >"$work/matrix"
    for np in 1 3 8; do
        launch -np "$np" -f $((np > 1)) "$EXAMPLES/cg" --print --tolerance 1e-10 "$work/matrix"
        [ "$status" -eq 0 ]
        "$DENSE" "$work/matrix" <<<"$output"
    done
}

@test "cg takes a general matrix, comments, blank lines and more ranks than rows" {
    printf '%%%%MatrixMarket matrix coordinate real general\n%% remark\n\n3 3 7\n1 1 4\n1 2 1\n2 1 1\n2 2 3\n%% more
2 3 -1e0\n3 2 -1\n\n3 3 2.5\n' >"$work/matrix"
    launch -np 6 -f 1 "$EXAMPLES/cg" --print "$work/matrix"
    [ "$status" -eq 0 ]
    "$DENSE" "$work/matrix" <<<"$output"
}

@test "cg converges to the same solution whoever dies" {
    "$EXAMPLES/poisson" 12 >"$work/matrix"
    for round in 1 2 3; do
        kills $((round * 2)) 8 300
        launch -np 8 -f 2 "${kill[@]}" "$EXAMPLES/cg" --slow 20 --print --tolerance 1e-10 "$work/matrix"
        [ "$status" -eq 0 ]
        # The line is there twice only if the first rank that printed it died after it.
        awk '/ iterations,/ {text = ""} {text = text $0 "\n"} END {printf "%s", text}' \
            <<<"$output" >"$work/last"
        "$DENSE" "$work/matrix" <"$work/last"
    done
}

@test "cg says so when it does not converge" {
    "$EXAMPLES/poisson" 30 >"$work/matrix"
    launch -np 2 -f 1 "$EXAMPLES/cg" --max 3 "$work/matrix"
    [ "$status" -ne 0 ]
    [[ "$output" == *"not converged"* ]]
    printf '%%%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 1 -1\n2 2 -2\n' >"$work/matrix"
    launch -np 2 -f 1 "$EXAMPLES/cg" "$work/matrix"
    [ "$status" -ne 0 ]
    [[ "$output" == *"not positive definite"* ]]
}

# refused LINE TEXT BODY: cg rejects a file with that body. It names the line and says TEXT.
refused() {
    printf %b "${3//%%/%}" >"$work/matrix"
    run "$EXAMPLES/cg" "$work/matrix"
    echo "exit $status: $output"
    [ "$status" -eq 1 ]
    [[ "$output" == *"matrix:$1: "*"$2"* ]]
}

@test "malformed matrix files are refused with file and line" {
    local head='%%%%MatrixMarket matrix coordinate real symmetric\n'
    refused 0 "empty" ''
    refused 1 "header" 'hello\n'
    refused 1 "array" '%%%%MatrixMarket matrix array real general\n1 1\n1\n'
    refused 1 "complex" '%%%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 0\n'
    refused 1 "skew" '%%%%MatrixMarket matrix coordinate real skew-symmetric\n1 1 1\n1 1 1\n'
    refused 1 "size line" "$head"
    refused 2 "size line" "${head}2 2\n1 1 1\n"
    refused 2 "size line" "${head}0 0 0\n"
    refused 2 "size line" "${head}-1 -1 1\n1 1 1\n"
    refused 2 "size line" "${head}99999999999999999999 1 1\n1 1 1\n"
    refused 2 "square" "${head}2 3 2\n1 1 1\n2 2 1\n"
    refused 2 "room" "${head}2 2 123456789012\n1 1 1\n2 2 1\n"
    refused 2 "empty" "${head}2000000000 2000000000 1\n1 1 1\n"
    refused 3 "ends before" "${head}2 2 2\n1 1 1\n"
    refused 4 "not an entry" "${head}2 2 2\n1 1 1\n3 2 1\n"
    refused 3 "not an entry" "${head}2 2 2\n0 1 1\n2 2 1\n"
    refused 3 "not an entry" "${head}2 2 2\n1 1\n2 2 1\n"
    refused 3 "finite" "${head}2 2 2\n1 1 nan\n2 2 1\n"
    refused 3 "finite" "${head}2 2 2\n1 1 1e999\n2 2 1\n"
    refused 3 "one finite" "${head}2 2 2\n1 1 1 1\n2 2 1\n"
    refused 3 "above the diagonal" "${head}2 2 2\n1 2 1\n2 2 1\n"
    refused 5 "twice" "${head}2 2 3\n1 1 1\n2 2 1\n1 1 1\n"
    refused 5 "more entries" "${head}2 2 2\n1 1 1\n2 2 1\n2 1 1\n"
    refused 4 "not symmetric" '%%%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 1\n1 2 5\n2 2 1\n'
    refused 3 "longer" "${head}1 1 1\n1 1 $(head -c 2000 /dev/zero | tr '\0' 1)\n"
}

@test "poisson refuses what is no size" {
    for wrong in 0 -1 x 3x 10001 ""; do
        run "$EXAMPLES/poisson" "$wrong"
        [ "$status" -eq 2 ]
    done
    run bash -c '"$1" 100 >/dev/full' _ "$EXAMPLES/poisson"
    [ "$status" -eq 1 ]
}

@test "allreduce_loop checks its sums while ranks die" {
    for round in 1 2 3; do
        kills 3 8 400
        launch -np 8 -f 2 "${kill[@]}" "$EXAMPLES/allreduce_loop" 300 2
        [ "$status" -eq 0 ]
        [ "$(grep -c '^rank .* failed$' <<<"$output")" -ge 5 ]
    done
}

# fitted NP: in $output every survivor has the same line, near y = 3 x + 2, from the points of at
# most NP ranks.
fitted() {
    local lines
    lines=$(sed -n 's/^rank [0-9]*: //p' <<<"$output" | sort -u)
    [ "$(wc -l <<<"$lines")" -eq 1 ]
    awk -v np="$1" -v text="$lines" 'BEGIN {
        split(text, word, " ")
        ok = word[5] > 2.9 && word[5] < 3.1 && word[8] > 1.9 && word[8] < 2.1         # by gossip
        ok = ok && word[12] > 2.9 && word[12] < 3.1 && word[15] > 1.9 && word[15] < 2.1 # exact
        exit !(ok && word[18] >= 1 && word[18] <= np)
    }'
}

@test "average fits the same line at every survivor, whoever dies" {
    for np in 1 3 8; do
        launch -np "$np" -f $((np > 1)) "$EXAMPLES/average"
        [ "$status" -eq 0 ]
        [ "$(grep -c '^rank .* points of '"$np"' ranks$' <<<"$output")" -eq "$np" ]
        fitted "$np"
    done
    for round in 1 2 3; do
        kills $((round * 2)) 8 200
        launch -np 8 -f 2 "${kill[@]}" "$EXAMPLES/average" 40 10
        [ "$status" -eq 0 ]
        [[ "$output" == *"killed by --kill"* ]]
        fitted 8
    done
}
