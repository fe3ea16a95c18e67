#!/usr/bin/env bats
# Examples that go on with what dead ranks leave: heat and train. FTRUN and EXAMPLES (a folder) come
# from ctest.
# shellcheck disable=SC2154 # of the helpers

# shellcheck source-path=SCRIPTDIR source=kills.bash
source "$BATS_TEST_DIRNAME/kills.bash"

setup() {
    seed_kills
    cd "$BATS_TEST_TMPDIR" || return 1
}

# All survivors print the same, and there are COUNT of them. Their text goes to $said.
agreed() {
    [ "$(grep -c '^rank ' <<<"$output")" -eq "$1" ]
    said=$(sed -n 's/^rank [0-9]*: //p' <<<"$output" | sort -u)
    [ "$(wc -l <<<"$said")" -eq 1 ]
}

# $said has an error below 1e-8.
warm() {
    awk -v text="$said" 'BEGIN { n = split(text, word, " "); exit !(word[n] > 0 && word[n] < 1e-8) }'
}

@test "heat: the temperatures are right with any number of ranks" {
    run "$EXAMPLES/heat"
    agreed 1
    warm
    for np in 3 8; do
        launch -np "$np" -f 1 "$EXAMPLES/heat"
        [ "$status" -eq 0 ]
        agreed "$np"
        warm
        [[ $said == *"shared out anew 0 times, 0 rows lost"* ]]
    done
    launch -np 5 "$EXAMPLES/heat" 5 # one row for each rank
    agreed 5
    warm
}

@test "heat: survivors take over the rows of the dead, and come to the same temperatures" {
    for round in 1 2 3; do
        kills $((round * 2)) 8 500
        launch -np 8 -f 2 "${kill[@]}" "$EXAMPLES/heat" 24 1
        [ "$status" -eq 0 ]
        agreed $((8 - round * 2))
        warm
        [[ $said != *"shared out anew 0 times"* ]]
    done
}

@test "heat: whatever failures are told by" {
    for setting in scheme=count scheme=bit share=off; do
        kills 3 6 500
        launch -np 6 -f 1 --set "failure_info.$setting" --set collectives.algorithm=corrected "${kill[@]}" \
            "$EXAMPLES/heat" 16 2
        [ "$status" -eq 0 ]
        agreed 3
        warm
    done
}

@test "heat: fewer rows than ranks are refused" {
    launch -np 4 "$EXAMPLES/heat" 3
    [ "$status" -eq 2 ]
    [[ $output == *"no plate of 3 x 3"* ]]
}

# history FILE STEPS: the file is complete and in order, and the loss has fallen to a quarter at
# least. The dead ranks go to $died.
history() {
    awk -F , -v steps="$2" 'NR == 1 { good = $0 == "step,loss,right,ranks,died"; next }
        NF != 5 || $1 != NR - 1 || $2 <= 0 || $3 < 0 || $3 > 1 || (ranks != "" && $4 > ranks) { good = 0 }
        { if (first == "") first = $2; last = $2; ranks = $4 }
        END { exit !(good && NR == steps + 1 && last < first / 4) }' "$1"
    died=$(tail -n +2 "$1" | cut -d , -f 5 | tr ' ' '\n' | grep . | sort -n | paste -sd ' ')
}

@test "train: the loss falls, with the points of all ranks" {
    for np in 1 4; do
        launch -np "$np" "$EXAMPLES/train" loss.csv 200
        [ "$status" -eq 0 ]
        agreed "$np"
        history loss.csv 200
        [ "$died" = "" ]
        [[ $said == *"points of $np ranks" ]]
    done
}

@test "train: survivors go on with their points to the same weights, and say who died when" {
    for round in 1 2 3; do
        kills $((round * 2)) 8 500
        launch -np 8 -f 2 "${kill[@]}" "$EXAMPLES/train" loss.csv 300 3
        [ "$status" -eq 0 ]
        agreed $((8 - round * 2))
        [[ $said == *"points of $((8 - round * 2)) ranks" ]]
        history loss.csv 300
        [ "$died" = "$(printf '%s\n' "${kill[@]}" | sed -n 's/@.*//p' | sort -n | paste -sd ' ')" ]
    done
}

@test "train: the picture has the curve and the deaths" {
    command -v gnuplot >/dev/null || skip "no gnuplot"
    launch -np 4 --kill 0@0.2 "$EXAMPLES/train" loss.csv 200 3
    gnuplot -e "csv='loss.csv'" "$SOURCE/examples/train.gnuplot" >loss.svg
    grep -q '</svg>' loss.svg
    grep -q 'rank 0 dies' loss.svg
    launch -np 2 "$EXAMPLES/train" loss.csv 20 # nobody died
    gnuplot -e "csv='loss.csv'" "$SOURCE/examples/train.gnuplot" >loss.svg
    grep -q '</svg>' loss.svg
}

@test "train: a file that cannot be written is an error" {
    launch -np 3 "$EXAMPLES/train" no/such/folder 3
    [ "$status" -eq 1 ]
    [[ $output == *"no/such/folder"* ]]
}
