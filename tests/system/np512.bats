#!/usr/bin/env bats
# Wide jobs: 512 ranks, 20 of which die. FTC_TEST_SEED replays a choice of victims.
# shellcheck disable=SC2154 # set by ctest

setup() {
    export TMPDIR="$BATS_TEST_TMPDIR"
    local name
    for name in $(compgen -v FTCOLL_); do unset "$name"; done
    if [ -n "${ALGORITHM:-}" ]; then export FTCOLL_COLLECTIVES_ALGORITHM=$ALGORITHM; fi
}

# Draws 20 different ranks, and times within the loop. ftrun counts the times from the start of the
# last rank.
drills() {
    local -A taken=()
    local rank
    RANDOM=$1
    while [ "${#taken[@]}" -lt 20 ]; do
        rank=$((RANDOM % 512))
        if [ -z "${taken[$rank]:-}" ]; then
            taken[$rank]=1
            echo "--kill $rank@$((RANDOM % 4)).$((RANDOM % 10))"
        fi
    done
}

@test "start-up of 2, 64 and 512 ranks: everyone joins and gets the first result" {
    for np in 2 64 512; do
        timeout -s KILL 120 "$FTRUN" -np "$np" -f 1 --report "$TMPDIR/report.json" "$WIDE_APP" 0.1 >"$TMPDIR/out"
        [ "$(grep -c '^checked ' "$TMPDIR/out")" -eq "$np" ]
        jq -r '.startup | "np \($np): spawned after \(.spawned_ms) ms, joined after \(.joined_ms) ms, " +
            "first result after \(.first_result_ms) ms"' --argjson np "$np" "$TMPDIR/report.json" >&3
        jq -e '.failures == 0 and .startup.first_result_ms > 0' "$TMPDIR/report.json"
    done
}

@test "512 ranks, -f 3, 20 of them die: every survivor has every result right" {
    seed=${FTC_TEST_SEED:-$((SRANDOM % 32768))}
    echo "seed $seed (FTC_TEST_SEED repeats it)" >&3
    # shellcheck disable=SC2046 # words are meant
    timeout -s KILL 240 "$FTRUN" -np 512 -f 3 $(drills "$seed") --report "$TMPDIR/report.json" "$WIDE_APP" 10 >"$TMPDIR/out"
    jq -r '[.ranks[] | select(.failed | not) | .counters] | "operations: \(map(.operations) | max), second rounds: " +
        "\(map(.rules.retry + .rules.rotate + .rules.poked) | add)"' "$TMPDIR/report.json" >&3
    jq -e '.failures == 20 and .exit_code == 0' "$TMPDIR/report.json"
    [ "$(grep -c '^checked ' "$TMPDIR/out")" -eq 492 ]
}
