#!/usr/bin/env bats
# Tests ftcoll-sim nodes. SIM is the program, MUTANT the same program over leases with a fault.

bats_require_minimum_version 1.5.0

@test "runs of several nodes keep every promise, and say what happened" {
    run --separate-stderr "$SIM" nodes --runs 500 --seed 3
    [ "$status" -eq 0 ]
    [[ ${lines[0]} == "500 of 500 runs from seed 3, "*" events" ]]
    [[ "$output" =~ [1-9][0-9]*\ leaders\ were\ elected ]]
    [[ "$output" =~ [1-9][0-9]*\ nodes\ declared\ failed ]]
    [[ "$output" =~ [1-9][0-9]*\ operations\ decided ]]
    [[ ${lines[-1]} == "no promise was broken" ]]
}

@test "the same seed tells the same story" {
    story() {
        "$SIM" nodes --trace "$@" 2>/dev/null | grep -v runs/s
    }
    story --seed 8 >"$BATS_TEST_TMPDIR/one"
    story --seed 8 | cmp - "$BATS_TEST_TMPDIR/one"
    ! story --seed 9 | cmp -s - "$BATS_TEST_TMPDIR/one"
    grep -q "agent 0 leads" "$BATS_TEST_TMPDIR/one"
    grep -q "rank 0   delivers operation 0: status 0" "$BATS_TEST_TMPDIR/one"
}

@test "--nodes is not drawn" {
    run --separate-stderr "$SIM" nodes --nodes 4 --runs 100
    [ "$status" -eq 0 ]
    [[ ${lines[1]} == "  400 nodes, "* ]]
}

@test "a broken promise ends it, and its line repeats it" {
    local broken program fault told again
    for broken in mutant unchecked; do
        program=$SIM fault=(--fault unchecked)
        [ $broken != mutant ] || { program=$MUTANT fault=(); }
        run --separate-stderr "$program" nodes "${fault[@]}" --nodes 2-5 --runs 30000
        [ "$status" -eq 3 ]
        [[ ${lines[0]} == "seed "*" breaks a promise: "* ]]
        told=${lines[0]}
        read -ra again <<<"$(sed -n 's/^the whole run: ftcoll-sim //p' <<<"$output")"
        run --separate-stderr "$program" "${again[@]}"
        [ "$status" -eq 3 ]
        [[ "$output" == *"$told"* ]]
    done
}

@test "wrong use has one line with cause and remedy" {
    refused() {
        run --separate-stderr "$SIM" nodes "$@"
        [ "$status" -eq 2 ]
        [ "${#stderr_lines[@]}" -eq 1 ]
    }
    refused --nodes 1
    refused --nodes 13
    [[ $stderr == *"2 to 12"* ]]
    refused --nodes 5-3
    refused --runs 0
    refused --fault sloth
    refused barrier
    [[ $stderr == *"leave them out"* ]]
    refused -n 4
    refused --scheme bit
    [[ $stderr == *"leave it out"* ]]
}

@test "notices reach 16,384 nodes in logarithmic time, and no node sends many messages" {
    run --separate-stderr "$SIM" nodes --spread 16384
    [ "$status" -eq 0 ]
    [ "${lines[0]}" = nodes,dead,runs,notice_ns,flat_ns,busiest,limit,flat_busiest,missed ]
    # A message takes 15.7 us in this model. Between two sends of a node lie 1.8 us.
    tail -n +2 <<<"$output" | awk -F, '
        { for (log2 = 0; 2 ^ log2 < $1;) log2++ }
        $6 > $7 || $7 != 4 * log2 || ($2 == 0 && ($4 > log2 * (15700 + 1900) || $9 > 0)) { print; bad = 1 }
        END { exit bad || $1 != 16384 || $2 != 163 }'
    "$SIM" nodes --spread 16384 | cmp - <(echo "$output")
    run --separate-stderr "$SIM" nodes --spread 1
    [ "$status" -eq 2 ]
}

@test "beats and greetings cost no agent more where there are more nodes" {
    run --separate-stderr "$SIM" nodes --beats 1024
    [ "$status" -eq 0 ]
    [ "${lines[0]}" = nodes,busiest_per_s,mean_per_s,paused_per_s,declared_ns,lost,rack_per_s,rack_lost ]
    # In each period of 0.25 s an agent has a parent and four children, and sends a beat or an echo to
    # each and takes one. In each round of 0.5 s it greets eight others, and eight greet it.
    # In the T = 5 s from the beginning of a pause of the leader each other node asks it for beats twice at most. All live nodes
    # outlive a quarter that dies at once with the leader.
    tail -n +2 <<<"$output" | awk -F, '
        $2 > 4 * 10 + 2 * 16 || $4 > $2 + 2 * $1 / 5 || $5 < 4e9 || $5 > 5.5e9 || $6 != 0 || $8 != 0 { print; bad = 1 }
        END { exit bad || $1 != 1024 || NR != 5 }'
    run --separate-stderr "$SIM" nodes --beats 3
    [ "$status" -eq 2 ]
}
