#!/usr/bin/env bats
# Examples whose ranks are on a grid, with a communicator for each row and column: grid and matmul.
# FTRUN and EXAMPLES (a folder) come from ctest.
# shellcheck disable=SC2030,SC2031,SC2154 # each test is a subshell; of the helpers

# shellcheck source-path=SCRIPTDIR source=kills.bash
source "$BATS_TEST_DIRNAME/kills.bash"

setup() {
    seed_kills
    cd "$BATS_TEST_TMPDIR" || return 1
}

# right COUNT [BLOCKS]: COUNT survivors or more say that they have all blocks of the product together,
# and that all are right.
right() {
    [ "$(grep -c "^rank .*: ${2:-144} blocks, 0 wrong; " <<<"$output")" -ge "$1" ]
    [ "$(grep -c ' [1-9][0-9]* wrong; ' <<<"$output")" -eq 0 ]
}

# dies COUNT NP: fills the array `kill` with arguments of matmul by which COUNT ranks kill
# themselves at steps that follow from the seed.
dies() {
    local ranks rank
    mapfile -t ranks < <(for ((rank = 0; rank < $2; rank++)); do echo "$RANDOM $rank"; done |
        sort -n | cut -d ' ' -f 2 | head -n "$1")
    kill=(--seed "$RANDOM")
    for rank in "${ranks[@]}"; do kill+=(--kill "$rank"); done
}

@test "matmul: the product is right on each square grid" {
    run "$EXAMPLES/matmul"
    right 1
    for np in 4 9 16; do
        launch -np "$np" "$EXAMPLES/matmul"
        [ "$status" -eq 0 ]
        right "$np"
        [ "$(grep -c 'grids: 1,' <<<"$output")" -eq "$np" ]
    done
}

@test "matmul: blocks that no grid divides evenly" {
    for blocks in 1 2 7; do
        launch -np 9 "$EXAMPLES/matmul" "$blocks"
        [ "$status" -eq 0 ]
        right 9 $((blocks * blocks))
    done
}

@test "matmul: survivors compute what is missing, and keep what they have" {
    for round in 1 2 3 4 5; do
        for setting in collectives.algorithm=auto collectives.algorithm=corrected; do
            dies "$round" 9
            launch -np 9 --set "$setting" "$EXAMPLES/matmul" "${kill[@]}"
            [ "$status" -eq 0 ]
            right $((9 - round))
            [[ $output != *"grids: 1,"* ]]
        done
    done
}

@test "matmul: ranks that die from outside, at any moment" {
    for round in 1 2 3; do
        kills "$round" 9 300
        launch -np 9 "${kill[@]}" "$EXAMPLES/matmul" 48
        [ "$status" -eq 0 ]
        right $((9 - round)) 2304
    done
}

@test "matmul: a number of ranks that is no square is refused" {
    launch -np 6 "$EXAMPLES/matmul"
    [ "$status" -eq 1 ]
    [[ $output == *"no square"* ]]
}

@test "grid: the survivors form a grid again and again" {
    for setting in collectives.algorithm=auto collectives.algorithm=corrected; do
        launch -np 9 --set "$setting" --kill 4@0.2 --kill 0@0.4 --kill 8@0.4 --kill 1@0.6 --kill 7@0.8 --kill 2@1 \
            "$EXAMPLES/grid"
        [ "$status" -eq 0 ]
        [[ $output == *"rank 3: 1 x 1, the row has 0, the column 0"* ]]
    done
}
