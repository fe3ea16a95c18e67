#!/usr/bin/env bats
# A rank damages its own data in the node segment, and lives on. FTRUN and DAMAGE_APP come from
# ctest.
# shellcheck disable=SC2154 # bats sets variables

load ../launcher/helper

# harm WHAT: runs four ranks; rank 1 damages its post.
harm() {
    run timeout 60 "$FTRUN" -np 4 -f 1 --max-failures 1 "$DAMAGE_APP" "$1" "$PWD/damaged.$1"
    echo "$1: $output"
    [ "$status" -eq 0 ]
    [ "$(grep -c "^rank .: broadcast .*, sum 3$" <<<"$output")" -eq 3 ]
    [ "$(grep -o "broadcast .*" <<<"$output" | sort -u | wc -l)" -eq 1 ]
}

@test "a damaged post has its owner fenced, and the others go on" {
    local what
    for what in mark signature size offset sequence; do
        harm "$what"
        grep -q "rank 1 failed: sent damaged data, killed" <<<"$output"
    done
}

@test "a rank whose own mark was damaged leaves, and the others go on" {
    local what
    for what in cleared cleared-gossip; do
        harm "$what"
        grep -q "rank 1 failed: exited with code 117" <<<"$output"
    done
}

@test "a rank takes the number of its own calls from nowhere but its own memory" {
    run timeout 60 "$FTRUN" -np 4 "$DAMAGE_APP" called "$PWD/damaged.called"
    echo "$output"
    [ "$status" -eq 0 ]
    [ "$(grep -c "^rank .: sum 4$" <<<"$output")" -eq 4 ]
}
