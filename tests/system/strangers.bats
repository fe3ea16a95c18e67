#!/usr/bin/env bats
# Strangers knock at the ports of a job that computes. No result becomes wrong, no process much
# larger, no log loud. All nodes of the job are on one machine (tests/launcher/nodes.bats). FTRUN,
# STATUS, UNTIL_APP and STRANGERS come from ctest.
# shellcheck disable=SC2016,SC2153,SC2030,SC2031,SC2034,SC2154 # variables of bats, of helper.bash and of commands for wait_until

bats_require_minimum_version 1.5.0

load ../launcher/helper

HALF_OPEN=128 # docs/design/tcp.md: at most this many connections may be without proof

# Starts 3 nodes with 6 ranks, which run until a file "over" exists. Peers know the job as 77.7.
# $agent gets the agent of node 0, $rank gets rank 0.
start_job() {
    SLURM_JOB_ID=77 SLURM_STEP_ID=7 start --engine local -np 3 "$FTRUN" --engine pmix -np 6 "$UNTIL_APP" over
    wait_until 'has_returned 20'
    for agent in $(pgrep -P "$pid"); do
        grep -qz '^PMIX_RANK=0$' "/proc/$agent/environ" && break
    done
    # For a while the agent has a child for PMIx, too.
    for rank in $(pgrep -P "$agent" -f "^$UNTIL_APP"); do
        grep -qz '^FTCOLL_RANK=0$' "/proc/$rank/environ" && break
    done
    grep -qz '^FTCOLL_RANK=0$' "/proc/$rank/environ"
}

has_returned() { # OPERATIONS: rank 0 has returned from so many
    own_jobs | jq -e "any(.jobs[].ranks[]; .rank == 0 and .returned > $1)" >/dev/null
}

largest() { # PID: in KiB
    awk '/^VmHWM:/ { print $2 }' "/proc/$1/status"
}

descriptors() { # PID
    find "/proc/$1/fd" -mindepth 1 | wc -l
}

# start_strangers NAME PID RANK RANKS SEAL: starts 1,000 strangers that say nothing, and 300 of each
# other kind.
start_strangers() {
    mkfifo "$1.stay"
    "$STRANGERS" "$2" 77.7 "$3" "$4" 1000 300 "$5" <"$1.stay" >"$1.out" 2>&1 3>&- &
    started+=("$!")
}

@test "scanners, fuzzers, liars and crowds: the job goes on, as small and as quiet" {
    start_job
    wait_until 'has_returned 1000'
    agent_size=$(largest "$agent") rank_size=$(largest "$rank")
    agent_open=$(descriptors "$agent") rank_open=$(descriptors "$rank")
    : >over
    finish
    [ "$status" -eq 0 ]
    rm over

    start_job
    begun=$SECONDS
    start_strangers agent "$agent" 0 3 authenticate
    start_strangers rank "$rank" 0 6 off
    exec 8>agent.stay 9>rank.stay
    wait_until 'grep -q "^300 rounds" agent.out && grep -q "^300 rounds" rank.out' || { cat agent.out rank.out err; return 1; }
    cat agent.out rank.out
    wait_until 'has_returned 1000'
    echo "agent: $agent_size KiB, $agent_open open; now $(largest "$agent") KiB, $(descriptors "$agent") open"
    echo "rank: $rank_size KiB, $rank_open open; now $(largest "$rank") KiB, $(descriptors "$rank") open"
    [ "$(descriptors "$agent")" -le $((agent_open + HALF_OPEN + 8)) ]
    [ "$(descriptors "$rank")" -le $((rank_open + HALF_OPEN + 8)) ]
    if [ -z "$SANITIZED" ]; then
        [ "$(largest "$agent")" -le $((agent_size + 1024)) ]
        [ "$(largest "$rank")" -le $((rank_size + 1024)) ]
    fi

    : >over
    finish # the job ends while the crowds are still there
    exec 8>&- 9>&-
    cat out err
    [ "$status" -eq 0 ]
    [ "$(grep -c "the sum of 6 ranks is 15" out)" -eq 6 ]
    # The log has the first stranger of each kind, then one of the kind in 10 s (tcp.md).
    [ "$(wc -l <err)" -le $((2 * 10 * (2 + (SECONDS - begun) / 10))) ]
    grep -q "wrong job secret" err
    grep -q "does not speak this protocol" err
    grep -q "have not said who they are either" err
}
