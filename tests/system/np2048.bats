#!/usr/bin/env bats
# The widest job that this machine is asked for: 2,048 ranks on one node, of which two die. The story
# prints how long the start takes and how much memory the job needs. It wants 4 GiB.
# shellcheck disable=SC2154 # set by ctest

setup() {
    export TMPDIR="$BATS_TEST_TMPDIR"
    local name
    for name in $(compgen -v FTCOLL_); do unset "$name"; done
}

teardown() {
    if [ -n "${pid:-}" ]; then kill -KILL "$pid" 2>/dev/null || true; fi
}

# The mean proportional set size of some ranks, in KiB, and how many KiB of the segment exist.
memory() {
    local of_rank segment
    of_rank=$(pgrep -P "$pid" | awk 'NR % 32 == 0 { print "/proc/" $1 "/smaps_rollup" }' | xargs -r cat 2>/dev/null |
        awk '$1 == "Pss:" { sum += $2; ranks++ } END { print (ranks > 0 ? int(sum / ranks) : 0) }')
    segment=$(find /dev/shm -maxdepth 1 -name "ftcoll-$(id -u)-$pid.*" -printf "%k\n" 2>/dev/null | awk '{ sum += $1 } END { print sum + 0 }')
    echo "$of_rank $segment"
}

@test "2048 ranks, -f 1, two of them die: every survivor has every result right" {
    local now peak=(0 0)
    "$FTRUN" -np 2048 -f 1 --timeout 250 --kill 700@2 --kill 2047@4 --report "$TMPDIR/report.json" "$WIDE_APP" 8 >"$TMPDIR/out" 3>&- &
    pid=$!
    while kill -0 "$pid" 2>/dev/null; do
        read -ra now < <(memory)
        if [ "${now[0]}" -gt "${peak[0]}" ]; then peak[0]=${now[0]}; fi
        if [ "${now[1]}" -gt "${peak[1]}" ]; then peak[1]=${now[1]}; fi
        sleep 0.5
    done
    wait "$pid"
    echo "# memory of a rank ${peak[0]} KiB, of the segment ${peak[1]} KiB" >&3
    jq -r '.startup | "# spawned after \(.spawned_ms) ms, joined after \(.joined_ms) ms, first result after \(.first_result_ms) ms"' \
        "$TMPDIR/report.json" >&3
    jq -e '.failures == 2 and .exit_code == 0' "$TMPDIR/report.json"
    [ "$(grep -c '^checked ' "$TMPDIR/out")" -eq 2046 ]
    [ "${peak[0]}" -gt 0 ] && [ "${peak[0]}" -lt 8192 ]
}
