# Functions that all tests of ftrun use. FTRUN, PMIX_PROBE and JOIN_PROBE come from ctest.
# shellcheck shell=bash disable=SC2034,SC2012,SC2010

# shellcheck source-path=SCRIPTDIR source=own_jobs.bash
source "${BASH_SOURCE[0]%/*}/own_jobs.bash"

setup() {
    export TMPDIR="$BATS_TEST_TMPDIR/tmp" XDG_CONFIG_HOME="$BATS_TEST_TMPDIR/config"
    mkdir -p "$TMPDIR" "$XDG_CONFIG_HOME"
    # A test that waits for a timeout sets one. For all other tests it is no failure if a busy
    # machine stands still for some seconds.
    printf "[detector]\nheartbeat_timeout_ms = 20000\n" >"$XDG_CONFIG_HOME/ftcoll.ini"
    # Settings in the environment of the test may not change it.
    local name
    for name in $(compgen -v FTCOLL_); do unset "$name"; done
    cd "$BATS_TEST_TMPDIR" || return 1
    started=()
}

teardown() {
    local pid
    if [ -z "$BATS_TEST_COMPLETED" ]; then tail -n 40 out err 2>/dev/null || true; fi
    for pid in "${started[@]}"; do
        if kill -0 "$pid" 2>/dev/null; then kill -9 "$pid" 2>/dev/null || true; fi
    done
}

# Runs ftrun in the background. Its pid goes to $pid, its output to out and err.
start() {
    : >out # here: the redirections below happen later, and an old one must not be taken for this one's
    : >err
    "$FTRUN" "$@" >out 2>err </dev/null 3>&- &
    pid=$!
    started+=("$pid")
}

# Waits for an ftrun in the background, and kills it after 30 s. Its exit code goes to $status.
finish() {
    status=0
    if ! wait_until "! kill -0 $pid 2>/dev/null"; then
        echo "ftrun $pid hangs:"
        cat out err
        ps -o pid,ppid,pgid,stat,wchan:24,args -p "$pid" --ppid "$pid"
        grep -E "^(State|Sig|Shd)" "/proc/$pid/status"
        cat /proc/"$pid"/task/*/wchan
        kill -9 "$pid"
    fi
    wait "$pid" || status=$?
}

# wait_until 'command': repeats the command until it succeeds, for at most 60 s.
wait_until() {
    local end=$((SECONDS + 60))
    until eval "$1"; do
        if [ "$SECONDS" -ge "$end" ]; then
            echo "waited in vain for: $1" >&2
            tail -n 40 out err >&2 2>/dev/null || true
            return 1
        fi
        sleep 0.02
    done
}

segments_of() { # PID of an ftrun
    ls /dev/shm | grep "^ftcoll-$(id -u)-$1\." || true
}

nothing_left() { # PID of an ftrun
    [ -z "$(segments_of "$1")" ] || { echo "segment left: $(segments_of "$1")"; return 1; }
    [ -z "$(ls -A "$TMPDIR")" ] || { echo "left in TMPDIR:"; ls -lR "$TMPDIR"; return 1; }
}

gone() { # PID...
    local one
    for one in "$@"; do
        if kill -0 "$one" 2>/dev/null && ! grep -q '^State:.Z' "/proc/$one/status" 2>/dev/null; then return 1; fi
    done
}
