#!/usr/bin/env bats
# Jobs on hosts that a remote shell reaches (ftrun --hosts). A stand-in for ssh makes a host of this
# machine for each name.
# shellcheck disable=SC2016,SC2030,SC2031,SC2034,SC2154 # commands for ranks; bats runs tests in subshells and sets variables

bats_require_minimum_version 1.5.0

load helper

setup_hosts() {
    export FTRUN_SSH=$SRUN_DIRECTORY/remote_shell REMOTE_CALLED=$BATS_TEST_TMPDIR/called
}

# on HOSTS [options] program: runs a job in the foreground.
on() {
    local hosts=$1
    shift
    setup_hosts
    run timeout -s KILL 60 "$FTRUN" --hosts "$hosts" "$@"
    echo "$output"
}

start_on() {
    local hosts=$1
    shift
    setup_hosts
    start --hosts "$hosts" "$@"
}

# Prints the remote shells, or the agents, of a job in the background: in the order of the hosts.
shells() { pgrep -P "$pid" | sort -n; }
agents() {
    local shell
    for shell in $(shells); do pgrep -P "$shell"; done
}

ready() { [ "$(grep -c ready out)" -eq "$1" ]; }

# Waits until ranks and agents have ended, and all that the agents made is removed.
all_gone() { # PID...
    local one
    wait_until "gone $*"
    for one in "$@"; do nothing_left "$one"; done
}

@test "the slots are filled in order; the ranks of a host follow one another" {
    on a:2,b:3,c:4 -np 6 sh -c 'echo "$FTCOLL_RANK on $PPID"'
    [ "$status" -eq 0 ]
    [ "$(sort <<<"$output" | sed 's/.* on //' | uniq -c | awk '{print $1}' | xargs)" = "2 3 1" ]
    [ "$(cut -d' ' -f1 called | sort | xargs)" = "a b c" ]
}

@test "a host that is listed twice has the slots of both; hosts without a rank are not called" {
    on a,b,a,c -np 3 sh -c 'echo "$FTCOLL_RANK on $PPID"'
    [ "$status" -eq 0 ]
    [ "$(sort <<<"$output" | sed 's/.* on //' | uniq -c | awk '{print $1}' | xargs)" = "2 1" ]
    [ "$(cut -d' ' -f1 called | sort | xargs)" = "a b" ]
}

@test "more ranks than slots: each host gets its share" {
    on a,b:2 -np 9 sh -c 'echo "$FTCOLL_RANK on $PPID"'
    [ "$status" -eq 0 ]
    [ "$(sort <<<"$output" | sed 's/.* on //' | uniq -c | awk '{print $1}' | xargs)" = "3 6" ]
}

@test "--nodes and --ranks-per-node" {
    on a,b,c --nodes 2 -np 2 true
    [ "$status" -eq 0 ]
    [ "$(cut -d' ' -f1 called | sort | xargs)" = "a b" ]
    on a:1,b:9 --ranks-per-node 2 -np 4 sh -c 'echo "$FTCOLL_RANK on $PPID"'
    [ "$(sort <<<"$output" | sed 's/.* on //' | uniq -c | awk '{print $1}' | xargs)" = "2 2" ]
    on a,b --ranks-per-node 2 -np 5 true
    [ "$status" -eq 2 ]
    on a,b --nodes 3 -np 5 true
    [ "$status" -eq 2 ]
    grep -q "only 2 hosts are given" <<<"$output"
}

@test "a hostfile has slots, comments and blank lines" {
    setup_hosts
    printf '# our hosts\n\na slots=2  # the first\n\t\nuser@b:1\nc\n' >hosts
    run timeout -s KILL 60 "$FTRUN" --hostfile hosts -np 4 sh -c 'echo "$FTCOLL_RANK on $PPID"'
    echo "$output"
    [ "$status" -eq 0 ]
    [ "$(sort <<<"$output" | sed 's/.* on //' | uniq -c | awk '{print $1}' | xargs)" = "2 1 1" ]
    [ "$(cut -d' ' -f1 called | sort | xargs)" = "a c user@b" ]
}

@test "wrong lists are refused in one line, before anything is started" {
    setup_hosts
    printf 'a\nb slots=0\n' >zero
    printf 'a slot=2\n' >word
    printf '# nothing\n' >empty
    wrong() { # TEXT OPTION...
        local text=$1
        shift
        run "$FTRUN" "$@" -np 2 true
        echo "$output"
        [ "$status" -eq 2 ] && [ "${#lines[@]}" -eq 1 ] && grep -q -- "$text" <<<"$output"
    }
    wrong "'0' is no number of slots" --hosts a:0
    wrong "'x' is no number of slots" --hosts a:x
    wrong "'' is no name of a host" --hosts a,,b
    wrong "'-oProxyCommand=x' is no name of a host" --hosts=-oProxyCommand=x
    wrong "zero, line 2: host b: '0' is no number of slots" --hostfile zero
    wrong "word, line 1: 'slot=2' is unknown" --hostfile word
    wrong "empty names no host" --hostfile empty
    wrong "missing: No such file" --hostfile missing
    wrong "give one" --hosts a --hostfile zero
    wrong "leave --engine out" --hosts a --engine local
    wrong "needs hosts" --engine ssh
    wrong "--ssh has an empty argument" --ssh "" --hosts a
    [ ! -e called ]
}

@test "an allreduce goes over all hosts" {
    on a:2,b:2,c:1 -np 5 "$LOOP" 20 1
    [ "$status" -eq 0 ]
    [ "$(grep -c "the sum of 5 ranks is 10, 0 failed" <<<"$output")" -eq 5 ]
}

@test "ranks get the directory, the variables of ftcoll, and what -x names" {
    setup_hosts
    export HERE="two words" NOT_THERE=1 FTCOLL_LOG_LEVEL=error
    run "$FTRUN" --hosts a,b -np 2 -x HERE -x "TOO=it's" sh -c 'echo "$PWD|$HERE|$TOO|$NOT_THERE|$FTCOLL_LOG_LEVEL"'
    echo "$output"
    [ "$status" -eq 0 ]
    [ "$(sort -u <<<"$output")" = "$PWD|two words|it's||error" ]
}

@test "standard input is empty, and words stay words" {
    setup_hosts
    echo "to nobody" | "$FTRUN" --hosts a -np 1 sh -c 'cat; printf "[%s]" "$@"' sh "a  b" "c'd" '$HOME' >out
    [ "$(<out)" = "[a  b][c'd][\$HOME]" ]
}

@test "the command line and the environment of remote shells and agents have no secret" {
    start_on a,b -np 2 sh -c 'echo ready; exec sleep 100'
    wait_until "ready 2"
    [ "$(cut -d' ' -f2- called | sort -u)" = "exec '$(readlink -f "$FTRUN")' --engine=guest" ]
    for agent in $(agents); do
        [ "$(tr '\0' ' ' <"/proc/$agent/cmdline")" = "$(readlink -f "$FTRUN") --engine=guest " ]
    done
    kill -TERM "$pid"
    finish
}

@test "this machine needs no remote shell" {
    setup_hosts
    run "$FTRUN" --hosts localhost:2,a -np 3 sh -c 'echo "$FTCOLL_RANK"'
    echo "$output"
    [ "$status" -eq 0 ]
    [ "$(cut -d' ' -f1 called)" = a ]
}

@test "--ssh names the remote shell, with options" {
    setup_hosts
    printf '#!/bin/sh\nshift 2\nexec "%s" "$@"\n' "$FTRUN_SSH" >shell
    chmod +x shell
    run env FTRUN_SSH=/nonexistent "$FTRUN" --ssh "$PWD/shell -p 22" --hosts a,b -np 2 echo here
    echo "$output"
    [ "$status" -eq 0 ]
    [ "$(grep -c here <<<"$output")" -eq 2 ]
    run env FTRUN_SSH=/nonexistent "$FTRUN" --hosts a,b -np 2 echo here
    [ "$status" -eq 1 ]
    [ "${#lines[@]}" -eq 1 ]
    grep -q "the remote shell: program ./nonexistent. was not found" <<<"$output"
}

@test "a host that cannot be reached: its shell's error, one line, and no rank runs" {
    on a,unknown,b -np 3 sh -c 'echo ran'
    [ "$status" -eq 1 ]
    grep -q "^unknown: ssh: Could not resolve hostname unknown" <<<"$output"
    [ "$(grep -c "^ftrun: host unknown: .* ended with code 255 before the job began" <<<"$output")" -eq 1 ]
    [ "${#lines[@]}" -eq 2 ]
}

@test "a host without ftrun" {
    on a,bare -np 2 true
    [ "$status" -eq 1 ]
    grep -q "^ftrun: host bare: ftrun could not be started; install this release of ftcoll there" <<<"$output"
}

@test "a host with another release" {
    on a,other -np 2 true
    [ "$status" -ne 0 ]
    grep -q "^other: ftrun: --engine 'guest' is unknown" <<<"$output"
    # the other way round: this ftrun is called by another one
    run bash -c 'printf "fcti%-32s" 9.9 | tr " " "\0" | "$FTRUN" --engine=guest'
    echo "$output"
    [ "$status" -eq 1 ]
    grep -q "the ftrun that started the job is of release 9.9; install one release" <<<"$output"
}

@test "a directory, or a program, that a host lacks" {
    setup_hosts
    mkdir gone
    run bash -c 'cd gone && rmdir ../gone && exec "$FTRUN" --hosts a -np 1 true'
    echo "$output"
    [ "$status" -eq 1 ]
    run -127 "$FTRUN" --hosts a,b -np 2 no-such-program
    echo "$output"
    grep -q "^[ab]: ftrun: program 'no-such-program' was not found" <<<"$output"
}

@test "--engine guest is not for users" {
    run bash -c '"$FTRUN" --engine=guest </dev/null'
    echo "$output"
    [ "$status" -eq 1 ]
    run "$FTRUN" --engine guest -np 2 true
    [ "$status" -eq 2 ]
    grep -q "use ftrun --hosts" <<<"$output"
}

@test "a rank dies: the others go on, and the front tells it once" {
    on a:2,b:2 -np 4 sh -c 'test "$FTCOLL_RANK" != 3 || kill -9 $$; sleep 0.3'
    [ "$status" -eq 0 ]
    [ "$(grep -c "rank 3 failed: killed by signal 9" <<<"$output")" -eq 1 ]
    [ "$(grep -c "1 of 4 ranks failed (3)" <<<"$output")" -eq 1 ]
}

@test "the exit code is that of the job, as on one host" {
    on a,b -np 2 sh -c 'exit 3'
    [ "$status" -eq 3 ]
    on a,b -np 2 --max-failures 0 sh -c 'test "$FTCOLL_RANK" = 0 || kill -9 $$; sleep 100'
    [ "$status" -eq 137 ]
    on a -np 2 --timeout 0.3 sleep 100
    [ "$status" -eq 124 ]
}

@test "an agent is killed: its ranks end, and the others go on" {
    start_on a,b,c -np 3 --set detector.heartbeat_timeout_ms=4000 --set detector.heartbeat_period_ms=100 \
        sh -c 'echo ready; exec sleep 8'
    wait_until "ready 3"
    victim=$(agents | tail -n 1)
    rank=$(pgrep -P "$victim")
    kill -KILL "$victim"
    wait_until "gone $rank"
    finish
    cat err
    grep -q "is lost: nothing came from it for 4.0 s" err
    grep -q "1 of 3 ranks failed (2)" err
}

@test "the last agent is killed when the others have left: they have told what they know" {
    start_on a,b -np 2 sh -c 'echo ready; test "$FTCOLL_RANK" = 0 || exec sleep 100'
    wait_until "ready 2"
    wait_until '[ "$(shells | wc -l)" -eq 1 ]'
    victim=$(agents)
    rank=$(pgrep -P "$victim")
    kill -KILL "$victim"
    finish
    cat err
    [ "$status" -eq 0 ]
    grep -qF "no host could tell how some ranks ended (1): they count as failed" err
    grep -q "1 of 2 ranks failed (1)" err
    wait_until "gone $rank"
}

@test "a remote shell is killed: its host ends at once, and the others go on" {
    start_on a,b,c -np 3 sh -c 'echo ready; until [ -e go ]; do sleep 0.05; done'
    wait_until "ready 3"
    victim=$(shells | tail -n 1)
    agent=$(pgrep -P "$victim")
    rank=$(pgrep -P "$agent")
    kill -KILL "$victim"
    wait_until 'grep -q "host c: the connection is broken; its ranks end, and the others go on" err'
    wait_until "gone $agent $rank"
    [ -z "$(segments_of "$agent")" ]
    touch go
    finish
    cat err
    [ "$status" -eq 0 ]
    [ "$(grep -c "1 of 3 ranks failed (2)" err)" -eq 1 ]
    run ! grep -q "is lost" err
    nothing_left "$agent"
}

@test "the front is killed by SIGKILL: nothing is left on any host" {
    start_on localhost,a,b -np 6 sh -c 'echo ready; exec sleep 100'
    wait_until "ready 6"
    shells=$(shells)
    agents="$(agents) $(pgrep -P "$pid" -f engine=guest)"
    ranks=$(for agent in $agents; do pgrep -P "$agent"; done)
    [ "$(wc -w <<<"$ranks")" -ge 6 ]
    kill -KILL "$pid"
    # shellcheck disable=SC2086 # a list
    all_gone $shells $agents $ranks
}

@test "the front is killed before the hosts have met: nothing is left" {
    start_on a,silent,b -np 3 sh -c 'echo ran'
    wait_until '[ "$(wc -l <called)" -eq 3 ] && [ "$(agents | wc -l)" -ge 2 ]'
    shells=$(shells)
    agents=$(agents)
    kill -KILL "$pid"
    # shellcheck disable=SC2086 # a list
    all_gone $shells $agents
    [ ! -s out ]
}

@test "Ctrl-C before the hosts have met ends all" {
    start_on a,silent,b -np 3 sh -c 'echo ran'
    wait_until '[ "$(wc -l <called)" -eq 3 ] && [ "$(agents | wc -l)" -ge 2 ]'
    kill -INT "$pid"
    finish
    cat err
    [ "$status" -eq 130 ]
    grep -q "got SIGINT before the hosts had met; ending the job" err
}

@test "Ctrl-C reaches the ranks of all hosts, and not the remote shells" {
    setup_hosts
    : >out
    setsid "$FTRUN" --hosts a:2,b -np 3 sh -c 'trap "echo got; exit 0" INT; echo ready; while :; do sleep 0.05; done' \
        >out 2>err </dev/null 3>&- &
    pid=$!
    started+=("$pid")
    wait_until "ready 3"
    kill -INT -- "-$pid" # as a terminal does: to the whole group
    finish
    cat err
    [ "$status" -eq 0 ]
    [ "$(grep -c got out)" -eq 3 ]
}

@test "a second Ctrl-C kills the job" {
    start_on a,b -np 2 sh -c 'trap "" INT; echo ready; while :; do sleep 0.05; done'
    wait_until "ready 2"
    agents=$(agents)
    kill -INT "$pid"
    wait_until '[ "$(grep -c "got SIGINT; passed on" err)" -eq 2 ]'
    kill -INT "$pid"
    finish
    cat err
    [ "$status" -eq 130 ]
    # shellcheck disable=SC2086 # a list
    all_gone $agents
}

# The ranks of the leader end at once. If it left then, the next leader would come after minutes.
@test "sixty-four hosts, and ranks that end at once" {
    on "$(seq -s, -f h%g 64)" -np 64 --set detector.heartbeat_timeout_ms=600000 sh -c 'echo "here $FTCOLL_RANK"'
    [ "$status" -eq 0 ]
    [ "$(grep -c "^here " <<<"$output")" -eq 64 ]
}

@test "much output of several hosts stays in whole lines" {
    setup_hosts
    "$FTRUN" --hosts a,b,c -np 3 sh -c 'yes "$(printf "%0500d" $FTCOLL_RANK)" | head -n 4000; yes "$(printf "%0500d" $FTCOLL_RANK)" | head -n 4000 >&2' 2>err | {
        sleep 0.5
        cat >out
    }
    [ "$(grep -cE '^0{499}[0-2]$' out)" -eq 12000 ]
    [ "$(grep -cE '^0{499}[0-2]$' err)" -eq 12000 ]
}
