# Functions that all tests of ftcoll-status use. fake_job fills their segments. STATUS_TOOL and
# FAKE_JOB name the two programs. They do not begin with FTCOLL_, because such names belong to the
# configuration.
# shellcheck shell=bash disable=SC2034,SC2154

setup() {
    work=$(mktemp -d)
    jobs=0
}

# A test file that has its own teardown() calls this in it.
stop_jobs() {
    local i pid
    for ((i = 1; i <= jobs; i++)); do # all first: later jobs have inherited earlier ones' ends
        close_job "$i"
    done
    for ((i = 1; i <= jobs; i++)); do
        pid="pid_$i"
        wait "${!pid}" || true
    done
    rm -rf "$work"
}

teardown() {
    stop_jobs
}

# start NP F [COMMAND]: starts a fake job and puts its name into $job.
start() {
    jobs=$((jobs + 1))
    mkfifo "$work/in.$jobs"
    : >"$work/out.$jobs" # must exist before the first look
    "$FAKE_JOB" "$@" <"$work/in.$jobs" >"$work/out.$jobs" 3>&- &
    printf -v "pid_$jobs" %s $!
    exec {fd}>"$work/in.$jobs"
    printf -v "in_$jobs" %s "$fd"
    until_lines 1
    job=$(head -n 1 "$work/out.$jobs")
}

close_job() {
    # an empty name: it is closed already
    local name="in_$1"
    local fd=${!name}
    exec {fd}>&-
    printf -v "in_$1" %s ""
}

until_lines() {
    local deadline=$((SECONDS + 20))
    while [ "$(wc -l <"$work/out.$jobs")" -lt "$1" ]; do
        [ "$SECONDS" -lt "$deadline" ] || return 1
        sleep 0.01
    done
}

# tell LINE...: gives the newest job these commands, and waits until it has carried them out.
tell() {
    local before line name="in_$jobs"
    before=$(wc -l <"$work/out.$jobs")
    for line in "$@"; do
        echo "$line" >&"${!name}"
    done
    until_lines $((before + $#))
}

# has TEXT: succeeds if a line of the output contains the text. Several blanks count as one.
has() {
    tr -s ' ' <<<"$output" | grep -qF -- "$1" || {
        printf 'missing: %s\nin:\n%s\n' "$1" "$output"
        return 1
    }
}

lacks() {
    ! grep -qF -- "$1" <<<"$output"
}
