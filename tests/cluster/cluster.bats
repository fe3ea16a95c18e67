#!/usr/bin/env bats
# A cluster of four hosts, made once for the file, and what may happen to it. CLUSTER,
# FTC_CLUSTER_RELAY, FTRUN, AVERAGE, PROBE and BUILD come from ctest.
# shellcheck disable=SC2154,SC2034,SC2016,SC2030,SC2031

bats_require_minimum_version 1.5.0

load ../transport/multicast_helper

setup_file() {
    "$CLUSTER" check || return 0
    # All that `up` starts inherits CLUSTER_MARK. The test finds those processes by it.
    export FTC_CLUSTER_NAME=t$BATS_ROOT_PID CLUSTER_MARK=$BATS_ROOT_PID
    up --hosts 4 --slurmd-timeout 5
}

teardown_file() {
    "$CLUSTER" check 2>/dev/null || return 0
    local of_test
    for of_test in "" b c g; do "$CLUSTER" --name "t$BATS_ROOT_PID$of_test" down; done
}

setup() {
    "$CLUSTER" check || skip "$("$CLUSTER" check 2>&1)"
    sleeper='^[^ ]*sleep 7777' # srun shows its path
    started=()
}

teardown() {
    for host in host1 host2 host3 host4; do cluster --name "t$BATS_ROOT_PID" exec "$host" pkill -KILL -f "$sleeper" || true; done
    probe_teardown
}

cluster() {
    timeout -s KILL 100 "$CLUSTER" "$@" 3>&-
}

up() {
    cluster up --share "$BATS_RUN_TMPDIR" --share "$BUILD" "$@"
}

reaches() { # HOST: waits up to 20 s for its answer to host1
    cluster exec host1 ping -q -c 1 -w 20 "$1"
}

is_out_of_reach() { # HOST
    run ! cluster exec host1 ping -q -c 3 -i 0.2 -W 1 "$1"
}

round_trip() { # HOST: the round trip from host1 in ms, the least of five
    cluster exec host1 ping -q -c 5 -i 0.2 -W 2 "$1" | sed -n 's/^rtt.* = \([0-9.]*\)\/.*/\1/p'
}

state_of() { # NAME
    echo "${XDG_RUNTIME_DIR:-/tmp}/ftcoll-cluster-$1"
}

left_by() { # MARK: the processes that have it in their environment
    env -u CLUSTER_MARK grep -lsz "^CLUSTER_MARK=$1\$" /proc/[0-9]*/environ || true
}

sleepers() { # HOST
    cluster exec "$1" pgrep -c -f "$sleeper" || true
}

@test "four hosts answer srun, each with a name, processes, /dev/shm and /tmp of its own" {
    run cluster run srun -N4 --ntasks-per-node=1 hostname
    echo "$output"
    [ "$status" -eq 0 ]
    [ "$(sort <<<"$output" | xargs)" = "host1 host2 host3 host4" ]
    for directory in /dev/shm /tmp /run; do
        cluster exec host2 touch "$directory/ftcoll-mark"
        cluster exec host2 test -e "$directory/ftcoll-mark"
        run ! cluster exec host3 test -e "$directory/ftcoll-mark"
        [ ! -e "$directory/ftcoll-mark" ]
    done
    [ "$(cluster exec host4 hostname)" = host4 ]
    [ "$(cluster exec host4 pgrep -c slurmd)" -eq 1 ]
}

@test "the command's status and directory are kept" {
    cd "$BATS_TEST_TMPDIR"
    [ "$(cluster exec host3 pwd)" = "$BATS_TEST_TMPDIR" ]
    run cluster exec host3 sh -c 'exit 42'
    [ "$status" -eq 42 ]
}

@test "sixteen tasks of PMIx's kind start on four hosts" {
    run cluster run srun --mpi=pmix -N4 --ntasks-per-node=4 sh -c 'echo $PMIX_RANK'
    echo "$output"
    [ "$(sort -n <<<"$output" | xargs)" = "$(seq 0 15 | xargs)" ]
}

@test "ftrun runs a job on each of two hosts at once" {
    cluster exec host2 timeout -s KILL 60 "$FTRUN" -np 4 "$AVERAGE" >"$BATS_TEST_TMPDIR/host2" &
    started+=($!)
    cluster exec host3 timeout -s KILL 60 "$FTRUN" -np 4 "$AVERAGE" >"$BATS_TEST_TMPDIR/host3"
    wait "${started[0]}"
    cat "$BATS_TEST_TMPDIR"/host?
    [ -s "$BATS_TEST_TMPDIR/host2" ] && [ -s "$BATS_TEST_TMPDIR/host3" ]
}

@test "a host that is cut off is out of reach until it is healed, and its processes live on" {
    cluster exec host2 sleep 7777 3>&- &
    started+=($!)
    wait_until '[ "$(sleepers host2)" -eq 1 ]'
    reaches host2
    cluster cut host2
    is_out_of_reach host2
    reaches host3
    [ "$(sleepers host2)" -eq 1 ]
    cluster status | grep -q '^host2 .* cut '
    cluster heal host2
    reaches host2
}

@test "a delay of 20 ms a link shows in a ping" {
    local before with
    before=$(round_trip host3)
    cluster delay 20
    with=$(round_trip host3)
    cluster delay 0
    echo "round trip: $before ms, with the delay $with ms"
    # a round trip crosses four links: no answer comes earlier, whatever the machine does
    awk -v a="$before" -v b="$with" 'BEGIN { exit !(a < b && b >= 80) }'
    cluster status | awk 'NR > 1 && /^host/ && $6 != 0 { exit 1 }'
}

@test "a host whose link loses everything is out of reach, one that loses half of it is not" {
    cluster loss 100 --host host2
    is_out_of_reach host2
    reaches host3
    cluster loss 50 --host host2 --seed 7
    run cluster exec host1 ping -q -c 100 -i 0.01 -W 1 host2
    echo "$output"
    cluster loss 0 --host host2
    # Each packet crosses the link twice, so that a quarter comes back. The bounds are six standard
    # deviations away.
    [[ $output =~ ([0-9]+)\ received ]]
    [ "${BASH_REMATCH[1]}" -ge 1 ] && [ "${BASH_REMATCH[1]}" -le 51 ]
    reaches host2
}

@test "multicast reaches all hosts, by IPv4 and through the relays" {
    probe_setup
    local rank
    for rank in 2 3 4; do
        prefix=("$CLUSTER" exec "host$rank")
        receive "$rank" --interfaces "10.77.0.$rank"
    done
    prefix=("$CLUSTER" exec host1)
    send --interfaces 10.77.0.1 --pace 500
    finish
    # A receiver that is not scheduled for long may lose some.
    for rank in 2 3 4; do counted "$rank" '.above >= 500 and .wrong == 0'; done
}

@test "a killed host takes its processes along, and leaves the others'" {
    cluster run srun --no-kill -N4 --ntasks-per-node=2 sleep 7777 2>"$BATS_TEST_TMPDIR/srun" 3>&- &
    started+=($!)
    for host in host1 host2 host3 host4; do wait_until "[ \"\$(sleepers $host)\" -eq 2 ]"; done
    cluster kill-host host4
    run cluster exec host4 true
    [ "$status" -eq 1 ]
    [[ $output == *"host4 was killed"*"start-host host4"* ]]
    cluster status | grep -q '^host4 .* killed '
    for host in host1 host2 host3; do [ "$(sleepers $host)" -eq 2 ]; done
    wait_until 'grep -q "Node failure on host4" "$BATS_TEST_TMPDIR/srun"' # after 5 s, as `up` was told
    for host in host1 host2 host3; do [ "$(sleepers $host)" -eq 2 ]; done
    cluster run scancel -u root
    cluster start-host host4
    wait_until 'cluster run srun --immediate=5 -w host4 true' # sinfo may go on to call the host mixed for long
    reaches host4
}

@test "a slurmd that is killed leaves its tasks running, and can be started again" {
    cluster run srun --no-kill -N2 -w host2,host3 --ntasks-per-node=1 sleep 7777 3>&- &
    started+=($!)
    wait_until '[ "$(sleepers host3)" -eq 1 ]'
    cluster kill-slurmd host3
    cluster status | grep -q '^host3 .* no '
    [ "$(sleepers host3)" -eq 1 ]
    run cluster kill-slurmd host3
    [ "$status" -eq 1 ]
    [[ $output == *"start-slurmd host3"* ]]
    cluster start-slurmd host3
    cluster run scancel -u root
    wait_until '[ "$(sleepers host3)" -eq 0 ]'
}

@test "wrong use is refused with 2, and says why" {
    for words in "" "frobnicate" "cut" "cut host9" "delay" "delay -1" "loss 101" "loss 100.5" "loss 1 --host host0" \
        "up --hosts 0" "up --hosts 08" "exec host1" "--name a/b status" "init-host1" "down now" "run --hosts 2 true"; do
        # shellcheck disable=SC2086 # words
        run cluster $words
        echo "$words: $output"
        [ "$status" -eq 2 ]
        [[ $output == *"--help"* ]]
    done
    run cluster up
    [ "$status" -eq 1 ]
    [[ $output == *"down"* ]]
    run cluster --name nosuch status
    [ "$status" -eq 1 ]
    [[ $output == *"up"* ]]
}

@test "a second cluster stands beside the first; down leaves nothing of it, also when called twice" {
    cd "$BATS_TEST_TMPDIR"
    export FTC_CLUSTER_NAME=${FTC_CLUSTER_NAME}b CLUSTER_MARK=${CLUSTER_MARK}b
    up --hosts 2
    cluster delay 1
    cluster exec host2 sleep 7777 3>&- &
    cluster run srun -N2 sleep 7777 3>&- &
    wait_until '[ "$(sleepers host2)" -eq 2 ]'
    [ "$(cluster --name "t$BATS_ROOT_PID" exec host2 pgrep -c -f "$sleeper" || true)" -eq 0 ]
    ls -l "$(state_of "$FTC_CLUSTER_NAME")"
    [ "$(stat -c %a "$(state_of "$FTC_CLUSTER_NAME")")" = 700 ]
    [ -n "$(pgrep -f "ftcoll-cluster-$FTC_CLUSTER_NAME/relay")" ]
    pids=$(sed 's/ .*//' "$(state_of "$FTC_CLUSTER_NAME")"/*.init)
    namespaces=$(for pid in $pids; do readlink "/proc/$pid/ns/net" "/proc/$pid/ns/pid"; done)
    cluster down
    nothing_left
    wait_until '! readlink /proc/[0-9]*/ns/net /proc/[0-9]*/ns/pid 2>/dev/null | grep -Fx "$namespaces"'
    cluster down
    cluster --name "t$BATS_ROOT_PID" run srun -N4 true
}

nothing_left() { # nothing of FTC_CLUSTER_NAME; clients outside its namespaces end by themselves
    [ ! -e "$(state_of "$FTC_CLUSTER_NAME")" ]
    wait_until "[ -z \"\$(pgrep -f 'ftcoll-cluster-${FTC_CLUSTER_NAME}[ /]')\" ]"
    wait_until "[ -z \"\$(left_by $CLUSTER_MARK)\" ]"
    run ! grep -F "ftcoll-cluster-$FTC_CLUSTER_NAME/" /proc/mounts
}

@test "with cgroups Slurm ends what a step leaves, and down removes them" {
    local freezer=/sys/fs/cgroup/freezer
    [ -w $freezer/release_agent ] || skip "no freezer of cgroup v1 here"
    export FTC_CLUSTER_NAME=${FTC_CLUSTER_NAME}g
    up --hosts 2 --cgroups
    cluster run srun -N2 sh -c 'setsid sleep 7777 & sleep 0.2'
    run ! cluster exec host1 pgrep -f "$sleeper"
    run ! cluster exec host2 pgrep -f "$sleeper"
    cluster down
    [ -z "$(find $freezer -name "ftcoll-$FTC_CLUSTER_NAME-*")" ]
}

@test "up that is killed at any moment leaves what down removes" {
    local moment state pid
    export FTC_CLUSTER_NAME=${FTC_CLUSTER_NAME}c
    state=$(state_of "$FTC_CLUSTER_NAME")
    for moment in lock slurm.conf switch.init host1.init log/slurmctld host2.init log/slurmd-host2; do
        export CLUSTER_MARK=$BATS_ROOT_PID$moment
        setsid "$CLUSTER" up --hosts 2 3>&- &
        pid=$!
        wait_until "[ -e $state/$moment ] || ! kill -0 $pid"
        kill -KILL "$pid" 2>/dev/null || true # the last file is written just before it ends
        cluster down
        [ ! -e "$state" ]
        wait_until "[ -z \"\$(left_by $CLUSTER_MARK)\" ]"
    done
    up --hosts 1
    cluster down
}
