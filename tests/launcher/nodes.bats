#!/usr/bin/env bats
# Jobs of several nodes. An ftrun may be the PMIx launcher of others. Each of these is then a node,
# and all nodes are this machine. Further tests run ftrun in front of Slurm, with a stand-in for
# srun.
# shellcheck disable=SC2001,SC2016,SC2086,SC2030,SC2031,SC2034,SC2154 # commands for ranks; bats runs tests in subshells and sets variables

bats_require_minimum_version 1.5.0

load helper

# nodes N [options] program: runs a job of N nodes in the foreground.
nodes() {
    local count=$1
    shift
    run timeout -s KILL 60 "$FTRUN" --engine local -np "$count" "$FTRUN" --engine pmix "$@"
    echo "$output"
}

start_nodes() {
    local count=$1
    shift
    # With this timeout the outer ftrun does not kill an agent that is stopped.
    start --engine local --set detector.heartbeat_timeout_ms=60000 -np "$count" "$FTRUN" --engine pmix "$@"
}

# Prints the agents of a job in the background, sorted by pid.
agents() {
    pgrep -P "$pid" | sort -n
}

# with_srun 'commands': makes a Slurm allocation of 4 hosts, whose srun runs the commands.
with_srun() {
    export SLURM_JOB_ID=12 SLURM_JOB_NUM_NODES=4 SRUN_CALLED="$BATS_TEST_TMPDIR/called" SRUN_DOES=$1
    unset SLURM_STEP_ID
    PATH=$SRUN_DIRECTORY:$PATH
}

@test "ranks are spread evenly, in rows" {
    nodes 3 -np 8 sh -c 'echo "$FTCOLL_RANK of $PPID"'
    [ "$status" -eq 0 ]
    [ "$(grep -c ' of ' <<<"$output")" -eq 8 ]
    [ "$(sed 's/.* of //' <<<"$output" | sort | uniq -c | awk '{print $1}' | sort | xargs)" = "2 3 3" ]
}

@test "a death on one node is told once, and in the summary" {
    nodes 3 -np 6 sh -c 'test "$FTCOLL_RANK" != 4 || kill -9 $$; sleep 0.3'
    [ "$status" -eq 0 ]
    [ "$(grep -c "rank 4 failed: killed by signal 9" <<<"$output")" -eq 1 ]
    [ "$(grep -c "1 of 6 ranks failed (4)" <<<"$output")" -ge 1 ]
}

@test "too many failures end the job on all nodes" {
    start_nodes 3 -np 6 --max-failures 1 sh -c 'test "$FTCOLL_RANK" != 1 -a "$FTCOLL_RANK" != 5 || kill -9 $$; sleep 100'
    finish
    cat err
    [ "$status" -eq 137 ]
    [ "$(grep -c "more than --max-failures 1" err)" -eq 1 ]
    nothing_left "$pid"
}

@test "--timeout ends the job on all nodes" {
    start_nodes 3 -np 6 --timeout 0.5 sleep 100
    finish
    [ "$status" -eq 124 ]
    nothing_left "$pid"
}

@test "--kill is carried out where the rank is" {
    nodes 2 -np 4 --kill 3@0.1 --kill 0@0.1 sleep 2
    [ "$status" -eq 0 ]
    [ "$(grep -c "failed: killed by --kill" <<<"$output")" -eq 2 ]
    run ! grep -q "has ended already" <<<"$output"
}

@test "a node that ends early leaves, and the others go on" {
    nodes 3 -np 3 sh -c 'sleep 0.$FTCOLL_RANK; echo "done $FTCOLL_RANK"'
    [ "$status" -eq 0 ]
    [ "$(grep -c "^done" <<<"$output")" -eq 3 ]
    run ! grep -qi warn <<<"$output"
}

@test "with an agent its ranks fail, after the timeout" {
    start_nodes 3 -np 6 --set detector.heartbeat_timeout_ms=4000 --set detector.heartbeat_period_ms=100 sleep 10
    wait_until '[ "$(agents | wc -l)" -eq 3 ] && [ "$(pgrep -c -f "^sleep 10$" -P "$(agents | paste -sd,)")" -eq 6 ]'
    victim=$(agents | tail -n 1)
    ranks=$(pgrep -P "$victim")
    kill -KILL "$victim"
    finish
    cat err
    gone $ranks
    [ "$(grep -c "is lost: nothing came from it for 4.0 s" err)" -eq 1 ]
    grep -q "2 of 6 ranks failed" err
}

@test "an agent that is stopped for long ends its ranks when it goes on; the others do without" {
    start_nodes 3 -np 6 --set detector.heartbeat_timeout_ms=4000 --set detector.heartbeat_period_ms=100 sleep 10
    wait_until '[ "$(agents | wc -l)" -eq 3 ] && [ "$(pgrep -c -f "^sleep 10$" -P "$(agents | paste -sd,)")" -eq 6 ]'
    victim=$(agents | head -n 1)
    kill -STOP "$victim"
    wait_until 'grep -q "is lost" err'
    ranks=$(pgrep -P "$victim")
    kill -CONT "$victim"
    wait_until 'grep -q "cannot reach most of the job.s nodes any more" err'
    finish
    gone $ranks
    grep -q "2 of 6 ranks failed" err
}

@test "half of two nodes is no majority, but for the first" {
    start_nodes 2 -np 2 --set detector.heartbeat_timeout_ms=4000 --set detector.heartbeat_period_ms=100 sleep 10
    wait_until '[ "$(agents | wc -l)" -eq 2 ] && [ "$(pgrep -c -f "^sleep 10$" -P "$(agents | paste -sd,)")" -eq 2 ]'
    for agent in $(agents); do
        grep -qz '^PMIX_RANK=0$' "/proc/$agent/environ" && first=$agent
    done
    kill -KILL "$first"
    finish
    cat err
    grep -q "node 1 (.*) cannot reach most of the job's nodes any more" err
}

@test "a period that does not fit to the timeout is refused on all nodes" {
    nodes 2 -np 2 --set detector.heartbeat_timeout_ms=1000 --set detector.heartbeat_period_ms=500 true
    [ "$status" -ne 0 ]
    grep -q "nodes need a timeout of at least 20 heartbeat periods" <<<"$output"
}

@test "more agents than ranks are refused" {
    nodes 3 -np 2 true
    [ "$status" -ne 0 ]
    grep -q "3 agents for 2 ranks: start no more agents than ranks" <<<"$output"
}

@test "--engine pmix needs a launcher" {
    run env -u PMIX_NAMESPACE "$FTRUN" --engine pmix -np 2 true
    [ "$status" -eq 1 ]
    grep -q "no PMIx launcher has started this process" <<<"$output"
}

@test "a job of one host tells an ftrun in front how it ended" {
    run "$FTRUN" --engine local -np 1 -x FTRUN_FRONT=abc "$FTRUN" --engine pmix -np 2 sh -c "exit 3"
    echo "$output"
    grep -q "^.ftrun abc 3 0 [0-9]* 2 of 2 ranks failed" <<<"$output"
}

@test "--engine slurm says so in one line where there is none" {
    PATH=/nonexistent run "$FTRUN" --engine slurm -np 2 true
    [ "$status" -eq 2 ]
    [ "${#lines[@]}" -eq 1 ]
    grep -q "there is no srun in \$PATH" <<<"$output"
    run "$FTRUN" --engine local --nodes 2 -np 2 true
    [ "$status" -eq 2 ]
    [ "${#lines[@]}" -eq 1 ]
}

@test "in an allocation srun starts an ftrun on each host" {
    with_srun 'printf "\036ftrun %s 0 0 500 \n" "$token" >&2'
    run "$FTRUN" -np 9 -f 2 -x A=b -- prog "two words"
    echo "$output"
    [ "$status" -eq 0 ]
    [ -z "$output" ]
    grep -qx -- --nodes=4 called
    grep -qx -- --mpi=pmix called
    grep -qx -- --no-kill called
    grep -qx -- --kill-on-bad-exit=0 called
    [ "$(sed -n '/\/ftrun$/,$p' called | tail -n +2 | paste -sd'|')" = "-np|9|-f|2|-x|A=b|--engine=pmix|--|prog|two words" ]
}

@test "hosts: as many as there are ranks at most, as are wanted, as are needed" {
    with_srun 'printf "\036ftrun %s 0 0 500 \n" "$token" >&2'
    "$FTRUN" -np 2 true
    grep -qx -- --nodes=2 called
    "$FTRUN" -np 8 --nodes 3 true
    grep -qx -- --nodes=3 called
    "$FTRUN" -np 9 --ranks-per-node 4 true
    grep -qx -- --nodes=3 called
    run "$FTRUN" -np 9 --ranks-per-node 2 true
    [ "$status" -eq 2 ]
    grep -q "5 hosts are wanted, the allocation has 4" <<<"$output"
    unset SLURM_JOB_NUM_NODES
    run "$FTRUN" --engine slurm -np 9 true
    [ "$status" -eq 2 ]
    grep -q "give --nodes N" <<<"$output"
}

@test "a step of srun starts its own ranks" {
    with_srun 'exit 9'
    SLURM_STEP_ID=0 run "$FTRUN" -np 2 true
    [ "$status" -eq 0 ]
    [ ! -e called ]
}

@test "the job's exit code and summary are what an agent tells, not what srun returns" {
    with_srun 'echo from a rank >&2; printf "prompt> \036ftrun %s 7 0 500 1 of 4 ranks failed\n" "$token" >&2; exit 113'
    run "$FTRUN" -np 4 true
    echo "$output"
    [ "$status" -eq 7 ]
    [ "$output" = $'from a rank\nprompt> ftrun: 1 of 4 ranks failed' ]
}

@test "if the agents that know the end are killed, the one that knew most counts" {
    with_srun 'printf "\036ftrun %s 3 4 500 four failed\n\036ftrun %s 0 2 500 two failed\n\036ftrun %s 3 3 500 three failed\n" "$token" "$token" "$token" >&2; exit 137'
    run "$FTRUN" -np 8 true
    echo "$output"
    [ "$status" -eq 0 ]
    [ "$output" = $'ftrun: no host could tell how some ranks ended (2): they count as failed\nftrun: two failed' ]
}

@test "an agent that knows the end counts, whatever others tell before or after" {
    with_srun 'printf "\036ftrun %s 3 4 500 four failed\n\036ftrun %s 0 0 500 \n\036ftrun %s 3 1 500 one failed\n" "$token" "$token" "$token" >&2'
    run "$FTRUN" -np 8 true
    echo "$output"
    [ "$status" -eq 0 ]
    [ -z "$output" ]
}

@test "another's mark is passed on, not believed" {
    with_srun 'printf "\036ftrun 0123 0 0 500 \n\036\036ftrun %s x\n" "$token" >&2; exit 3'
    run "$FTRUN" -np 4 true
    [ "$status" -eq 3 ]
    [ "$(grep -ac "ftrun" <<<"$output")" -eq 3 ]
    grep -q "no host could tell how the job ended; srun's exit code is 3" <<<"$output"
}

@test "srun that waits for a dead host is ended when the job has ended" {
    with_srun 'printf "\036ftrun %s 0 0 500 \n" "$token" >&2; sleep 100 & trap "kill $!; exit 1" TERM; wait'
    run timeout -s KILL 60 "$FTRUN" -np 4 true
    [ "$status" -eq 0 ]
}

@test "agents that clean up for as long as they may are waited for" {
    with_srun 'printf "\036ftrun %s 0 0 60000 \n" "$token" >&2; trap "exit 9" TERM; sleep 3 & wait; echo cleaned up >&2'
    run timeout -s KILL 60 "$FTRUN" -np 4 true
    echo "$output"
    [ "$status" -eq 0 ]
    [ "$output" = "cleaned up" ]
}

# An agent has left before. What it told is not how the job ended.
@test "signals reach srun; the second one kills it" {
    with_srun 'printf "\036ftrun %s 0 2 500 two failed\n" "$token" >&2; trap "echo got one >&2" TERM; echo ready >&2; while :; do sleep 0.1; done'
    start -np 4 true
    wait_until 'grep -q ready err'
    kill -INT "$pid"
    wait_until 'grep -q "got one" err'
    kill -INT "$pid"
    finish
    [ "$status" -eq 130 ]
    grep -q "got SIGINT again; killing srun" err
    grep -q "no host could tell how the job ended after SIGINT" err
    run ! grep -q "two failed" err
}

# The reader is slow. ftrun keeps a bounded part of the output of srun in memory, and loses nothing
# of it.
@test "standard error waits for its reader" {
    with_srun 'seq 300000 >&2; printf "\036ftrun %s 0 0 500 \n" "$token" >&2'
    "$FTRUN" -np 4 true 2>&1 >/dev/null | { sleep 1; cat >lines; }
    [ "$(wc -l <lines)" -eq 300000 ]
    [ "$(tail -n 1 lines)" = 300000 ]
}
