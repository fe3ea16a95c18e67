# A job of four ranks in a loop, whose segment a story looks at. Shared by status.bats and
# history.bats. FTRUN, LOOP_APP and ALGORITHM come from ctest. The user's ftcoll.ini has the text
# $ini.
# shellcheck shell=bash disable=SC2016,SC2153,SC2154 # commands for ranks

setup() {
    export TMPDIR="$BATS_TEST_TMPDIR/tmp" XDG_CONFIG_HOME="$BATS_TEST_TMPDIR/config"
    mkdir -p "$TMPDIR" "$XDG_CONFIG_HOME"
    printf "%s" "${ini:-}" >"$XDG_CONFIG_HOME/ftcoll.ini"
    local name
    for name in $(compgen -v FTCOLL_); do unset "$name"; done
    export FTCOLL_COLLECTIVES_ALGORITHM=${ALGORITHM:-auto}
    cd "$BATS_TEST_TMPDIR" || return 1
}

teardown() {
    if [ -z "$BATS_TEST_COMPLETED" ]; then tail -n 40 out err json 2>/dev/null || true; fi
    if [ -n "${pid:-}" ]; then
        kill "$pid" 2>/dev/null || true
        wait "$pid" || true
    fi
}

# Starts four ranks that call an allreduce each millisecond. If WHAT is not "pace", rank 2 leaves
# the loop before operation 20.
start() { # WHAT [ftrun options]
    local what=$1
    shift
    "$FTRUN" -np 4 "$@" sh -c 'what=pace; if [ "$FTCOLL_RANK" = 2 ]; then what=$1; fi; exec "$LOOP_APP" $what 100' _ "$what" \
        >out 2>err </dev/null 3>&- &
    pid=$!
}

# Sets job to the name of the job's segment. Fails as long as there is none.
find_job() {
    job=$(find /dev/shm -maxdepth 1 -name "ftcoll-$(id -u)-$pid.*" | sed 's/.*-//')
    [ -n "$job" ]
}

# look_with ASK FILTER: calls ASK, which writes the file json, until jq's FILTER holds of the job, at
# most 30 s.
look_with() {
    local end=$((SECONDS + 30))
    until find_job && "$1" && jq -ne "input.jobs[0] | $2" json >/dev/null; do
        [ "$SECONDS" -lt "$end" ] || { echo "in vain: $2"; return 1; }
        sleep 0.05
    done
}
