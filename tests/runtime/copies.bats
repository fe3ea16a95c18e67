#!/usr/bin/env bats
# Copies between the memories of two ranks.

copies() { # RANKS THROUGH, OPTIONS OF FTRUN..., -- ARGUMENTS OF THE PROGRAM...
    local through=$1 options=()
    shift
    while [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    shift
    run timeout -s KILL 60 "$FTRUN" -np 2 "${options[@]}" "$COPIES_APP" "$@"
    echo "$output"
    [ "$status" -eq 0 ]
    [ "$(grep -c "is through" <<<"$output")" -eq "$through" ]
}

@test "reductions are right where ranks copy between their memories" {
    copies 2 --set log.level=debug --
    [ "$(grep -c "straight to and from rank" <<<"$output")" -eq 2 ]
    [[ $output != *"cannot copy"* ]] || skip "the kernel refuses it here"
    [ "$(grep -c "the last call by pair" <<<"$output")" -eq 2 ]
}

@test "they are right where the settings forbid it" {
    copies 2 --set collectives.direct_copies=off --set log.level=info --
    [ "$(grep -c "no copies .* collectives.direct_copies is off" <<<"$output")" -eq 2 ]
    [ "$(grep -c "the last call by board" <<<"$output")" -eq 2 ]
}

@test "they are right where the kernel refuses it to one rank" {
    for rank in 0 1; do
        copies 2 --set log.level=info -- $rank
        [ "$(grep -c "cannot copy .* Operation not permitted" <<<"$output")" -ge 1 ]
    done
}

@test "the survivor's results are its own once the other one is dead, wherever it died" {
    for post in 1 2 3 4 5 9 10 25 26 47 48 49; do
        FTCOLL_TEST_DIE=0@send:$post copies 1 -f 1 --
        FTCOLL_TEST_DIE=1@send:$post copies 1 -f 1 --
    done
}
