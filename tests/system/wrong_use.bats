#!/usr/bin/env bats
# Wrong use and hard surroundings. A user must get one clear line and an exit code. Nothing may be
# left behind, and nothing may wait for ever.
# shellcheck disable=SC2016,SC2030,SC2031,SC2153,SC2154 # commands for ranks; bats runs tests in subshells and sets variables

load ../launcher/own_jobs

setup() {
    export TMPDIR="$BATS_TEST_TMPDIR/tmp" XDG_CONFIG_HOME="$BATS_TEST_TMPDIR/config"
    mkdir -p "$TMPDIR" "$XDG_CONFIG_HOME"
    local name
    for name in $(compgen -v FTCOLL_); do unset "$name"; done
    if [ -n "${ALGORITHM:-}" ]; then export FTCOLL_COLLECTIVES_ALGORITHM=$ALGORITHM; fi
    cd "$BATS_TEST_TMPDIR" || return 1
    started=()
}

teardown() {
    local one
    for one in "${started[@]}"; do
        if kill -0 "$one" 2>/dev/null; then kill -9 "$one" 2>/dev/null || true; fi
    done
}

start() { # NAME ftrun arguments: in the background, output in NAME.out and NAME.err, its pid in $pid
    local name=$1
    shift
    "$FTRUN" "$@" >"$name.out" 2>"$name.err" </dev/null 3>&- &
    pid=$!
    started+=("$pid")
}

wait_until() { # 'command': try until it succeeds, at most 30 s
    local end=$((SECONDS + 30))
    until eval "$1"; do
        if [ "$SECONDS" -ge "$end" ]; then
            echo "waited in vain for: $1" >&2
            return 1
        fi
        sleep 0.02
    done
}

finish() { # PID: its exit code in $status
    status=0
    wait_until "! kill -0 $1 2>/dev/null" || kill -9 "$1"
    wait "$1" || status=$?
}

gone() { # PID...
    local one
    for one in "$@"; do
        if [ -e "/proc/$one" ] && ! grep -q '^State:.[ZX]' "/proc/$one/status" 2>/dev/null; then return 1; fi
    done
}

segments_of() { # PID of an ftrun
    find /dev/shm -maxdepth 1 -name "ftcoll-$(id -u)-$1.*"
}

nothing_left() { # PID of an ftrun
    [ -z "$(segments_of "$1")" ] || { echo "left: $(segments_of "$1")"; return 1; }
    [ -z "$(ls -A "$TMPDIR")" ] || { echo "left in TMPDIR:"; ls -lR "$TMPDIR"; return 1; }
}

# Prints the processes of the job, ranks and wrappers, once all ranks are in the loop.
loop_pids() { # COUNT
    wait_until '[ -e pids ] && [ "$(wc -l <pids)" -ge '"$1"' ]'
    wait_until 'own_jobs | jq -e "any(.jobs[].ranks[]; .called > 0)" >/dev/null'
    sort -u pids
}

one_line() { # the output is one line, and ftrun's
    [ "$(wc -l <<<"$output")" -eq 1 ] && grep -q "^ftrun: " <<<"$output"
}

# Runs a command in a mount namespace where /dev/shm is mounted with the options $1. Skips the test
# where that is not permitted.
with_shm() {
    local options=$1
    shift
    unshare -m sh -c 'mount -t tmpfs tmpfs /dev/shm' 2>/dev/null || skip "mount namespaces are not permitted here"
    # shellcheck disable=SC2016
    run unshare -m sh -c 'mount -t tmpfs -o "$0" tmpfs /dev/shm && exec timeout -s KILL 30 "$@"' "$options" "$@"
    echo "exit code $status: $output"
}

@test "two jobs at once do not meet" {
    start one -np 6 -f 1 --kill 1@0.3 --report one.json "$LOOP_APP" pace 1.5
    local first=$pid
    start two -np 5 -f 1 --kill 2@0.4 --report two.json "$LOOP_APP" pace 1.5
    finish "$first"
    [ "$status" -eq 0 ]
    finish "$pid"
    [ "$status" -eq 0 ]
    jq -e '.failures == 1 and .ranks[1].failed and .np == 6' one.json
    jq -e '.failures == 1 and .ranks[2].failed and .np == 5' two.json
    nothing_left "$first"
    nothing_left "$pid"
}

@test "ftrun is killed: ranks in the library end by themselves, the next ftrun clears up" {
    start job -np 4 sh -c 'echo $$ >>pids; exec "$LOOP_APP" pace 100'
    local ranks
    ranks=$(loop_pids 4)
    kill -KILL "$pid"
    finish "$pid"
    # shellcheck disable=SC2086
    wait_until "gone ${ranks//$'\n'/ }"
    run "$FTRUN" -np 1 true
    [ "$status" -eq 0 ]
    cleared_up "$pid"
}

@test "ftrun is killed: ranks behind a wrapper end too, and ftcoll-status --gc clears up" {
    start job -np 3 sh -c 'echo $$ >>pids; "$LOOP_APP" pace 100 & echo $! >>pids; wait'
    local all
    all=$(loop_pids 6)
    kill -KILL "$pid"
    finish "$pid"
    wait_until "gone ${all//$'\n'/ }"
    run "$STATUS" --gc
    [ "$status" -eq 0 ]
    cleared_up "$pid"
}

@test "ftrun is killed while a rank is stopped" {
    start job -np 3 sh -c 'echo $$ >>pids; exec "$LOOP_APP" pace 100'
    local ranks
    ranks=$(loop_pids 3)
    kill -STOP "$(head -n 1 <<<"$ranks")"
    kill -KILL "$pid"
    finish "$pid"
    wait_until "gone ${ranks//$'\n'/ }"
    run "$STATUS" --gc
    [ "$status" -eq 0 ]
    cleared_up "$pid"
}

@test "ftrun is killed while a rank behind a wrapper is stopped" {
    start job -np 3 sh -c '"$LOOP_APP" pace 100 & echo $! >>pids; wait'
    local ranks
    ranks=$(loop_pids 3)
    kill -STOP "$(head -n 1 <<<"$ranks")"
    kill -KILL "$pid"
    finish "$pid"
    wait_until "gone $(tail -n +2 <<<"$ranks" | tr '\n' ' ')"
    # The stopped rank may need the next clean-up.
    "$STATUS" --gc || true
    wait_until "gone ${ranks//$'\n'/ }" || { echo "$ranks" | xargs kill -9; return 1; }
    cleared_up "$pid"
}

@test "/dev/shm read-only: one line, nothing starts" {
    with_shm ro "$FTRUN" -np 2 sh -c 'echo started'
    [ "$status" -ne 0 ]
    [ "$status" -lt 124 ]
    one_line
    grep -q 'cannot create /dev/shm.*: make /dev/shm writable' <<<"$output"
}

@test "/dev/shm full: one line, nothing starts" {
    with_shm size=16k "$FTRUN" -np 64 sh -c 'echo started'
    [ "$status" -ne 0 ]
    [ "$status" -lt 124 ]
    one_line
    grep -q '/dev/shm' <<<"$output"
}

# Runs a command with room for the front part of a segment for 16 ranks, and $1 bytes more.
with_little_shm() {
    local more=$1 front
    shift
    with_shm size=16k "$FTRUN" -np 16 true
    front=$(sed -n 's|.*/dev/shm is full: \([0-9]*\) bytes are needed.*|\1|p' <<<"$output")
    with_shm size=$((front + more)) "$FTRUN" -np 16 -f 2 --timeout 20 "$@"
}

full_shm_is_named() {
    [ "$status" -ne 0 ]
    [ "$status" -lt 124 ]
    grep -q "/dev/shm is full.*enlarge it" <<<"$output"
}

@test "/dev/shm fills up while ranks connect: the job fails, with cause and remedy" {
    local more
    for more in 10000 50000 100000; do
        with_little_shm $more --set collectives.algorithm=corrected "$LOOP_APP" pace 0.5
        full_shm_is_named
    done
}

@test "small operations on the board need no more of /dev/shm than the launcher took" {
    with_little_shm 0 --set collectives.algorithm=board "$LOOP_APP" pace 0.5
    [ "$status" -eq 0 ]
}

@test "/dev/shm fills up when vectors get larger: the job fails, with cause and remedy" {
    local more bytes
    for more in 10000 50000; do
        for bytes in 500 60000 1000000 5000000; do
            with_little_shm $more "$WRONG_APP" vector $bytes
            full_shm_is_named
        done
    done
    with_little_shm 600000 --set collectives.algorithm=board "$WRONG_APP" vector 500
    [ "$status" -eq 0 ]
    [ "$(grep -c "came through" <<<"$output")" -eq 16 ]
}

@test "an address-space limit: cause and remedy, in ftrun and in the ranks" {
    [ -z "$SANITIZED" ] || skip "sanitizers map terabytes"
    run timeout -s KILL 60 bash -c 'ulimit -v 150000; exec "$FTRUN" -np 64 "$LOOP_APP" pace 0.2'
    echo "exit code $status: $output"
    [ "$status" -eq 1 ]
    one_line
    grep -q "ulimit -v" <<<"$output"
    run timeout -s KILL 60 "$FTRUN" -np 64 sh -c 'ulimit -v 150000; exec "$LOOP_APP" pace 0.2'
    [ "$status" -eq 1 ]
    [ "$(grep -c "^loop_app: .*ulimit -v" <<<"$output")" -eq 64 ]
}

@test "too few open files in the ranks: cause and remedy" {
    run timeout -s KILL 60 "$FTRUN" -np 4 sh -c 'ulimit -n 6; exec "$LOOP_APP" pace 0.2'
    echo "exit code $status: $output"
    [ "$status" -eq 1 ]
    [ "$(grep -c "^loop_app: .*ulimit -n" <<<"$output")" -eq 4 ]
    [ "$(grep -vc "^loop_app: \|^ftrun: " <<<"$output")" -eq 0 ]
}

@test "a rank sends more than its receiver expects: the job ends with 116, and a line says which ranks" {
    local what
    for what in gatherv scatterv alltoallv; do
        run timeout -s KILL 60 "$FTRUN" -np 6 -f 1 --timeout 30 "$WRONG_APP" counts "$what"
        echo "$what: exit code $status: $output"
        [ "$status" -eq 116 ]
        grep -qE "rank (3|0) does not send as many elements to rank (0|3) as that rank expects" <<<"$output"
    done
}

@test "ranks in different collectives: the job ends with 116, and a line says who called what" {
    local f what
    for f in 0 1; do
        for what in bcast bcast-from-here reduce reduce-to-here barrier validate count type operator allgather scan finalize; do
            run timeout -s KILL 60 "$FTRUN" -np 6 -f "$f" --timeout 30 "$WRONG_APP" mismatch "$what"
            echo "$what f $f: exit code $status: $output"
            [ "$status" -eq 116 ]
            grep -q "rank . is in .*, rank . in " <<<"$output"
            [ "$(grep -c "came through" <<<"$output")" -eq 0 ]
        done
    done
}

@test "a blocking call and a request of the same kind do not match: 116, and a line says so" {
    local bytes where
    [ "${ALGORITHM:-board}" = board ] || skip "by messages they match"
    for bytes in 8 1048576; do
        for where in "" child; do
            run timeout -s KILL 60 "$FTRUN" -np 6 --timeout 30 "$WRONG_APP" request "$bytes" $where
            echo "$bytes $where: exit code $status: $output"
            [ "$status" -eq 116 ]
            grep -q "rank . is in .*request.*, rank . in a blocking\|rank . is in a blocking.*, rank . in a request" <<<"$output"
            [ -z "$where" ] || grep -q "in communicator .*, by its own numbers of ranks: " <<<"$output"
            [ "$(grep -c "came through" <<<"$output")" -eq 0 ]
        done
    done
}

@test "ranks that disagree where nobody waits for the wrong one: 116 all the same" {
    local what
    for what in everybody-root everybody-sender bcast-and-reduce; do
        run timeout -s KILL 60 "$FTRUN" -np 2 --timeout 30 "$WRONG_APP" disagree "$what"
        echo "$what: exit code $status: $output"
        [ "$status" -eq 116 ]
        grep -q "ending the job: .*rank" <<<"$output"
        [ "$(grep -c "came through" <<<"$output")" -eq 0 ]
    done
}

@test "ftc_abort ends the job with its code while the others are in the library" {
    for code in 7 42 255; do
        run timeout -s KILL 60 "$FTRUN" -np 5 "$WRONG_APP" abort "$code"
        echo "$output"
        [ "$status" -eq "$code" ]
        grep -q "rank 4 aborted the job with code $code" <<<"$output"
    done
}

@test "ftc_init a second time is refused, and the job goes on" {
    run timeout -s KILL 60 "$FTRUN" -np 3 "$WRONG_APP" twice
    echo "$output"
    [ "$status" -eq 0 ]
    [ "$(grep -c '^refused: ..*' <<<"$output")" -eq 3 ]
}

@test "a second thread in a call is refused at once, with cause and remedy, and the first goes on" {
    run timeout -s KILL 60 "$FTRUN" -np 3 --timeout 40 "$WRONG_APP" threads "$PWD/refused"
    echo "$output"
    [ "$status" -eq 0 ]
    [ "$(grep -c "^came through$" <<<"$output")" -eq 3 ]
}

# Operations run by messages, because on the board a sender is two operations ahead at most.
@test "a sender of large values is held back by a slow receiver, which keeps 64 MiB of it" {
    start ahead -np 2 -f 0 --set collectives.algorithm=corrected --set broadcast.settle_every=0 "$WRONG_APP" ahead "$PWD/go"
    wait_until 'own_jobs | jq -e "any(.jobs[].ranks[]; .rank == 0 and .activity.waits_for == \"a slow rank\")"'
    # The barrier and 8 reduces are done; one call waits.
    own_jobs | jq -e '.jobs[0].ranks[0].called <= 10'
    touch go
    finish "$pid"
    cat ahead.out ahead.err
    [ "$status" -eq 0 ]
    [ "$(grep -c "^came through$" ahead.out)" -eq 2 ]
}

@test "a rank that cannot find its job gets an error, and does not compute alone" {
    run env -u PMIX_NAMESPACE FTCOLL_JOB_SEGMENT=1.000001 FTCOLL_RANK=0 "$WRONG_APP" finalize
    echo "$output"
    [ "$status" -eq 98 ]
    [[ "$output" == *"cannot join job 1.000001 as rank 0, "*": no such job: "* ]]
    run env -u PMIX_NAMESPACE FTCOLL_RANK=0 "$WRONG_APP" finalize
    [ "$status" -eq 0 ]
}

@test "exit without ftc_finalize is a failure, and the others finish" {
    run timeout -s KILL 60 "$FTRUN" -np 4 "$WRONG_APP" leave
    echo "$output"
    [ "$status" -eq 0 ]
    grep -q 'rank 3 failed: exited with code 0 before ftc_finalize()' <<<"$output"
}

@test "a user-defined operator freed right after the call, among deaths" {
    local f round
    for f in 0 1 2; do
        for round in 1 2 3; do
            FTCOLL_TEST_DIE="0@send:$((40 * round)),1@deliver:$((30 * round)),4@call:$((25 * round)),2@send:$((77 * round))" \
                run timeout -s KILL 60 "$FTRUN" -np 8 -f "$f" --set collectives.rotation=spread "$WRONG_APP" operator 300
            echo "$output"
            [ "$status" -eq 0 ]
            [ "$(grep -c '^done$' <<<"$output")" -eq 4 ]
        done
    done
}
