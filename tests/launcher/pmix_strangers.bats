#!/usr/bin/env bats
# What another user of the machine can try at the port of ftrun's PMIx server, from before the start
# of the ranks to their end. The job must go on, with at most one line of output about it. FTRUN,
# UNTIL_APP and PMIX_STRANGER come from ctest.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154 # commands for ranks and for wait_until; variables of bats

load helper

OTHER=65534 # the user nobody

setup_stranger() {
    [ "$(id -u)" -eq 0 ] || skip "only root can be another user, too"
    # A place where another user can execute the program.
    stranger_place=$(mktemp -d /tmp/pmix_stranger.XXXXXX)
    chmod 755 "$stranger_place"
    cp "$PMIX_STRANGER" "$stranger_place/stranger"
    mkfifo stay
}

teardown() {
    [ -z "$stranger_place" ] || rm -rf "$stranger_place"
    for pid in "${started[@]}"; do kill -9 "$pid" 2>/dev/null || true; done
}

# The ranks join when there is a file "go", and go on until there is a file "over".
start_job() {
    setup_stranger
    start -np 4 sh -c 'until [ -e go ]; do sleep 0.02; done; exec "$0" over' "$UNTIL_APP"
    wait_until 'pgrep -P $pid >ranks && [ "$(wc -l <ranks)" -eq 4 ]'
    rank=$(head -n 1 ranks)
    port=$(listening)
}

listening() { # prints the port at which ftrun listens, or nothing if there is none
    local inodes
    inodes=$(find "/proc/$pid/fd" -lname 'socket:*' -printf '%l\n' 2>/dev/null | tr -dc '0-9\n')
    while read -r _ local _ state _ _ _ _ _ inode _; do
        if [ "$state" = 0A ] && grep -qx "$inode" <<<"$inodes"; then echo $((16#${local##*:})); fi
    done </proc/net/tcp
}

as_other() { # ARGUMENT...: runs pmix_stranger with them as the other user
    setpriv --reuid="$OTHER" --regid="$OTHER" --clear-groups env -C / "${variables[@]}" "$stranger_place/stranger" "$@"
}

# Runs pmix_stranger in the background, until the end of the story. It prints "tried" when its
# attack is done.
strike() { # USER ARGUMENT...
    local user=$1
    shift
    setpriv --reuid="$user" --regid="$user" --clear-groups "$stranger_place/stranger" "$@" <stay >strike.out 2>strike.err 3>&- &
    started+=("$!")
    exec 9>stay
    wait_until 'grep -q tried strike.out'
}

joins_and_ends() {
    : >go
    : >over
    finish
    cat out err
    [ "$status" -eq 0 ]
    [ "$(grep -c "the sum of 4 ranks is 6" out)" -eq 4 ]
    nothing_left "$pid"
}

# Sets $variables to those of a rank, but with the given namespace.
variables_of_rank() { # NAMESPACE
    mapfile -d '' -t variables < <(grep -z '^PMIX_' "/proc/$rank/environ" | grep -zv '^PMIX_NAMESPACE=')
    variables+=("PMIX_NAMESPACE=$1")
}

@test "nobody else ends the job, not even with the name of its namespace" {
    start_job
    job=$(segments_of "$pid")
    true_space=$(grep -z '^PMIX_NAMESPACE=' "/proc/$rank/environ" | tr -d '\0')
    for space in "ftcoll-${job#ftcoll-0-}" "${true_space#*=}"; do
        variables_of_rank "$space"
        as_other abort 0 >abort.out 2>&1 || true
        cat abort.out
        if grep -q "PMIx_Abort" abort.out; then return 1; fi
    done
    joins_and_ends
    grep -Eq "refused connections to the PMIx port: [1-9][0-9]* of other users" err
}

@test "the namespace cannot be told from the job's name, and is another one each time" {
    start_job
    [[ "$(tr '\0' '\n' <"/proc/$rank/environ")" =~ PMIX_NAMESPACE=ftcoll-([0-9a-f]{32}) ]]
    joins_and_ends
}

@test "another user's connection that says nothing keeps nobody out" {
    start_job
    strike "$OTHER" idle "$port"
    joins_and_ends
}

@test "a crowd of them does not, either" {
    start_job
    strike "$OTHER" crowd "$port" 900
    joins_and_ends
}

@test "a flood of nonsense is counted in one line" {
    start_job
    strike "$OTHER" garbage "$port" 2000
    joins_and_ends
    others=$(sed -n 's/.*PMIx port: \([0-9]*\) of other users.*/\1/p' err)
    unknown=$(sed -n 's/.* \([0-9]*\) of which the kernel did not say.*/\1/p' err)
    [ $((others + unknown)) -eq 2000 ]
    [ "$(wc -l <err)" -eq 1 ]
}

@test "a connection of the same user that says nothing costs some seconds" {
    start_job
    strike 0 idle "$port"
    joins_and_ends
}

@test "when all have joined nobody listens any more" {
    start_job
    [ -n "$port" ]
    : >go
    wait_until '[ -z "$(listening)" ]'
    joins_and_ends
}

@test "where PMIx cannot listen the job goes by what its ranks inherit" {
    [ "$(id -u)" -eq 0 ] || skip "only root can make a network namespace"
    : >over
    run timeout -s KILL 60 unshare -n "$FTRUN" -np 4 "$UNTIL_APP" over # in this namespace not even the loopback is up
    echo "$output"
    [ "$status" -eq 0 ]
    grep -q "going on without PMIx" <<<"$output"
    [ "$(grep -c "the sum of 4 ranks is 6" <<<"$output")" -eq 4 ]
}
