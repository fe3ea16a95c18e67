# shellcheck shell=bash disable=SC2034,SC2154
# Kills are random. The seed is printed when a test fails, and FTC_TEST_SEED repeats the kills.
seed_kills() {
    seed=${FTC_TEST_SEED:-$((RANDOM * 32768 + RANDOM))}
    echo "FTC_TEST_SEED=$seed"
    RANDOM=$seed
}

# launch ARGUMENTS...: runs ftrun with these arguments.
launch() {
    echo "ftrun $*"
    run timeout -s KILL 120 "$FTRUN" "$@"
    echo "exit $status: $output"
}

# kills COUNT NP MS: fills the array `kill` with options that kill COUNT different ranks of NP
# within MS milliseconds.
kills() {
    local ranks rank
    # shuf would not take its randomness from $seed.
    mapfile -t ranks < <(for ((rank = 0; rank < $2; rank++)); do echo "$RANDOM $rank"; done |
        sort -n | cut -d ' ' -f 2)
    kill=()
    for ((i = 0; i < $1; i++)); do
        kill+=(--kill "${ranks[i]}@$(printf '0.%03d' $((RANDOM % $3)))")
    done
}
