#!/usr/bin/env bats
# A communicator of some ranks of the job, beside the world. FTRUN and PART_APP come from ctest.

setup() {
    export TMPDIR=$BATS_TEST_TMPDIR
}

# run_part RANKS 'options of ftrun' WAY: the survivors of half a second of operations in turns, and
# of as long in threads
run_part() {
    local strands
    for strands in turns threads; do
        # shellcheck disable=SC2086 # options
        run timeout -s KILL 60 "$FTRUN" -np "$1" -f 1 $2 "$PART_APP" "$3" "$strands" 0.6 3>&-
        echo "$strands: exit $status: $output"
        [ "$status" -eq 0 ]
        survivors=$(grep -c "part_app: [1-9][0-9]* operations" <<<"$output")
        [ "$survivors" -eq "$4" ]
    done
    [ -z "$(find /dev/shm -name "ftcoll-*.4d000001.*" 2>/dev/null)" ]
}

@test "ranks of a part combine, spread and reduce by messages" {
    run_part 7 "--set collectives.algorithm=corrected" messages 7
}

@test "ranks of a part have a board of their own" {
    run_part 7 "" board 7
}

@test "a part goes by messages beside a world with a board" {
    run_part 6 "" messages 6
}

@test "members of a part die, on the board" {
    run_part 8 "--kill 3@0.2 --kill 1@0.4" board 6
}

@test "members of a part die, by messages" {
    run_part 8 "--set collectives.algorithm=corrected --kill 7@0.2 --kill 5@0.4" messages 6
}

@test "a member has died before the others open the part" {
    run_part 8 "--set collectives.algorithm=corrected --kill 7@0.1" late 7
}

@test "large values of a part go round its own ring" {
    run_part 8 "--set collectives.algorithm=corrected --set collectives.large=ring --set collectives.large_at=1000 --kill 3@0.3" messages 7
}

@test "a rank dies that is in the world alone" {
    run_part 8 "--kill 2@0.3" board 7
    run_part 8 "--set collectives.algorithm=corrected --kill 2@0.3" messages 7
}
