# Shared by the tests that run multicast_probe. PROBE comes from ctest.
# shellcheck shell=bash disable=SC2154

probe_setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    group=$("$PROBE" group)
    started=()
}

probe_teardown() {
    local pid
    for pid in "${started[@]}"; do
        if kill -0 "$pid" 2>/dev/null; then kill -9 "$pid" 2>/dev/null || true; fi
    done
}

# Starts a receiver and waits until it has joined. Its output is in receiver.RANK. PREFIX is an
# array of words before the program.
receive() { # RANK OPTION...
    local rank=$1
    shift
    : >"receiver.$rank"
    "${prefix[@]}" timeout -s KILL 100 "$PROBE" receive --group "$group" --rank "$rank" "$@" \
        >"receiver.$rank" 2>"errors.$rank" <"${input:-/dev/null}" 3>&- &
    started+=($!)
    wait_until "grep -q '^ready' receiver.$rank || ! kill -0 $! 2>/dev/null"
    grep -q '^ready' "receiver.$rank" || { cat "errors.$rank"; return 1; }
}

send() { # OPTION...: the file sender gets what it counted
    "${prefix[@]}" timeout -s KILL 100 "$PROBE" send --group "$group" --rank 0 "$@" >sender
}

# All receivers must end by themselves.
finish() {
    local pid
    for pid in "${started[@]}"; do wait "$pid" || { cat errors.*; return 1; }; done
    head -n 100 sender receiver.* >&2
}

counted() { # RANK JQ-FILTER
    tail -n 1 "receiver.$1" | jq -e "$2" >/dev/null || { echo "rank $1: not $2" >&2; return 1; }
}

# wait_until 'command': tries until it succeeds, at most 60 s.
wait_until() {
    local end=$((SECONDS + 60))
    until eval "$1"; do
        if [ "$SECONDS" -ge "$end" ]; then
            echo "waited in vain for: $1" >&2
            return 1
        fi
        sleep 0.02
    done
}
