#!/usr/bin/env bats
# The validate calls while ranks really die, with every scheme.
# shellcheck disable=SC2154 # set by ctest

setup() {
    export TMPDIR="$BATS_TEST_TMPDIR"
    local name
    for name in $(compgen -v FTCOLL_); do unset "$name"; done
    if [ -n "${ALGORITHM:-}" ]; then export FTCOLL_COLLECTIVES_ALGORITHM=$ALGORITHM; fi
}

@test "a death between count and fetch changes nothing; new is new once; G is the same everywhere" {
    for scheme in list count bit; do
        for share in piggyback off; do
            for f in 0 2; do
                echo "$scheme $share f $f"
                timeout -s KILL 60 "$FTRUN" -np 7 -f "$f" --set failure_info.scheme="$scheme" \
                    --set failure_info.share="$share" "$VALIDATE_APP"
            done
        done
    done
}
