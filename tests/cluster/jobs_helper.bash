# Shared by the jobs on the four hosts of a Slurm cluster, with four ranks on each. Hosts and links
# suffer faults meanwhile. Each file has a cluster of its own, so files can run side by side.
# CLUSTER, FTC_CLUSTER_RELAY, STATUS, LOOP and BUILD come from ctest.
# shellcheck shell=bash disable=SC2153,SC2154,SC2034,SC2016

load ../transport/multicast_helper

# The cluster of this file. Its name has 16 characters at most.
cluster_of_file() {
    export FTC_CLUSTER_NAME=${BATS_TEST_FILENAME##*/}
    FTC_CLUSTER_NAME=${FTC_CLUSTER_NAME%.bats}$BATS_ROOT_PID
}

setup_file() {
    "$CLUSTER" check || return 0
    cluster_of_file
    local cgroups=() # with cgroups, as on most clusters, if the machine can
    [ ! -w /sys/fs/cgroup/freezer/release_agent ] || cgroups=(--cgroups)
    up --hosts 4 --slurmd-timeout 5 "${cgroups[@]}"
}

teardown_file() {
    "$CLUSTER" check 2>/dev/null || return 0
    local of_test
    cluster_of_file
    for of_test in "" l; do "$CLUSTER" --name "$FTC_CLUSTER_NAME$of_test" down; done
}

setup() {
    "$CLUSTER" check || skip "$("$CLUSTER" check 2>&1)"
    started=()
    out=$BATS_TEST_TMPDIR/out
    # A lease of two seconds: shorter leases may run out while 16 ranks and four slurmd wait for two
    # cores.
    timing=(--set detector.heartbeat_timeout_ms=4000 --set detector.heartbeat_period_ms=100)
}

teardown() {
    cluster_of_file
    local pid
    for pid in "${started[@]}"; do kill -KILL "$pid" 2>/dev/null || true; done
    cluster run scancel -u root || true
    for host in host1 host2 host3 host4; do
        cluster heal "$host" || true
        cluster start-host "$host" 2>/dev/null || true
        cluster start-slurmd "$host" 2>/dev/null || true
    done
    wait_until 'cluster run srun --immediate=5 -N4 true' # sinfo may go on to call a host mixed for long
}

cluster() {
    timeout -s KILL 100 "$CLUSTER" "$@" 3>&-
}

up() {
    cluster up --share "$BATS_RUN_TMPDIR" --share "$BUILD" "$@"
}

# start_job 'options of salloc' NP TIMES MS: starts a loop of allreduces in the background. Its
# output goes to $out.
start_job() {
    local words=$1 np=$2
    shift 2
    # shellcheck disable=SC2086 # words
    timeout -s KILL 200 "$CLUSTER" run salloc -Q --no-kill $words "$FTRUN" "${timing[@]}" -np "$np" -f 1 "$LOOP" "$@" >"$out" 2>&1 </dev/null 3>&- &
    pid=$!
    started+=("$pid")
}

# Waits for the job. Its exit code goes to $status.
finish_job() {
    status=0
    wait "$pid" || status=$?
    cat "$out"
}

# Has the first rank of HOST come to its 20th operation?
is_going_on() { # HOST
    cluster exec "$1" "$STATUS" --json 2>/dev/null |
        jq -ne '[input.jobs[]? | select(.launcher_alive) | .ranks[]? | select(.returned > 20)] | length >= 1' >/dev/null
}

# No host has a process or a file of the job.
nothing_on() { # HOST...
    local host
    for host; do
        wait_until "! cluster exec $host pgrep -f 'engine=(guest|adopt)|^$LOOP' >/dev/null"
        wait_until "[ -z \"\$(cluster exec $host bash -c 'ls -d /dev/shm/ftcoll-* /tmp/ftcoll-*/* 2>/dev/null')\" ]"
    done
}

# survived RANKS SUM FAILED: that many ranks printed this.
survived() {
    [ "$(grep -c "the sum of $1 ranks is $2, $3 failed" "$out")" -eq "$1" ]
}
