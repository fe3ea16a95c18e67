#!/usr/bin/env bats
# Plain reduces by messages after separate failures (docs/design/agreement.md, rule 9). FTRUN,
# STATUS and REDUCE_APP come from ctest.
# shellcheck disable=SC2154 # bats and ctest set variables

setup() {
    cd "$BATS_TEST_TMPDIR" || exit
}

teardown() {
    [ -z "$pid" ] || kill -KILL "$pid" 2>/dev/null || true
}

# look FILTER: asks for --json of the job until jq's FILTER holds, at most 30 s.
look() {
    local end=$((SECONDS + 30)) job
    until job=$(find /dev/shm -maxdepth 1 -name "ftcoll-$(id -u)-$pid.*" | sed 's/.*-//') && [ -n "$job" ] &&
        "$STATUS" --json "$job" >json; jq -ne "input.jobs[0] | $1" json >/dev/null; do
        [ "$SECONDS" -lt "$end" ] || { echo "in vain: $1"; cat json; return 1; }
        sleep 0.05
    done
}

@test "each of three ranks dies after the one before was settled: no reduce fails with f = 1" {
    "$FTRUN" -np 6 -f 1 --set collectives.algorithm=corrected "$REDUCE_APP" last >out 2>err 3>&- &
    pid=$!
    look '[.ranks[].returned] | min > 20'
    for rank in 1 2 3; do
        kill -KILL "$(jq ".jobs[0].ranks[$rank].pid" json)"
        look ".ranks[0].agreed | length == $rank"
    done
    # They stand still meanwhile, so that none is past the round that is named to all.
    survivors=$(jq ".jobs[0].ranks[0, 4, 5].pid" json)
    # shellcheck disable=SC2086 # words
    kill -STOP $survivors
    look ".ranks[0].called > 0"
    echo $(($(jq "[.jobs[0].ranks[].called] | max" json) + 50)) >last.new
    mv last.new last
    # shellcheck disable=SC2086 # words
    kill -CONT $survivors
    wait "$pid"
    pid=
    cat out err
    grep -q "^0 reduces failed, the last sum is 3$" out
}
