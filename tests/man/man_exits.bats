#!/usr/bin/env bats
# Provokes every exit code that a page lists. The lists of the pages and the tables here have to be
# the same.
# shellcheck disable=SC2016,SC2119,SC2153,SC2154 # commands for ranks; bats and ctest set variables

load pages

setup_file() {
    render_pages
    export TSAN_OPTIONS=${TSAN_OPTIONS:+$TSAN_OPTIONS:}allocator_may_return_null=1
    # A busy machine that stands still for some seconds must not count as a failure.
    printf "[detector]\nheartbeat_timeout_ms = 20000\n" >"$XDG_CONFIG_HOME/ftcoll.ini"
}

# Prints a command for a rank: the first one for rank 0, and so on; the last one for all further
# ranks.
ranks() { # COMMAND...
    local rank=0 script='case $FTCOLL_RANK in'
    while [ $# -gt 1 ]; do
        script+=" $rank) $1;;"
        rank=$((rank + 1))
        shift
    done
    echo "$script *) $1;; esac"
}

# Returns the exit code of the second of two hosts after the first one loses its ftrun. An outer
# ftrun is the PMIx launcher of both.
cut_off() {
    ftrun --engine local --set detector.heartbeat_timeout_ms=60000 --report report -np 2 "$FTRUN" --engine pmix \
        --set detector.heartbeat_timeout_ms=1500 --set detector.heartbeat_period_ms=50 -np 2 \
        sh -c "$(ranks 'kill -KILL $PPID' 'sleep 60')"
    return "$(jq '.ranks[1].code' report)"
}

# Returns the exit code of a rank that is declared failed and lives.
fenced() {
    ftrun -np 2 --report report sh -c "$(ranks '(until [ -e going ]; do sleep 0.02; done; "$DECLARE" "$FTCOLL_JOB_SEGMENT" 1) &
        exec "$APP" go 50' 'exec "$APP" go 3000')"
    return "$(jq '.ranks[1].code' report)"
}

# Returns the exit code of a rank after ftrun is killed. The rank has its own session, where ftrun's
# last signal does not reach its shell.
orphaned() {
    "$FTRUN" -np 2 sh -c 'setsid sh -c "\"\$APP\" go 3000; echo \$? >code.\$FTCOLL_RANK" & wait' &
    wait_until '[ -e going ]'
    kill -KILL "$!"
    wait_until '[ -s code.1 ]'
    return "$(cat code.1)"
}

@test "ftrun(1)" {
    walk "$(names_of ftrun.1 "EXIT STATUS")" <<'TABLE'
0 :: ftrun -np 2 true :: code 0
0 :: ftrun -np 2 sh -c 'exit "$FTCOLL_RANK"' :: code 0 && err "rank 1 failed"
1 :: ftrun -np 1 --report /nonexistent/report true :: code 1
2 :: ftrun -np 0 true :: code 2
2 :: ftrun -np 1 --set job.f=many true :: code 2
113 :: cut_off :: code 113
124 :: ftrun -np 2 --timeout 0.2 sleep 60 :: code 124
126 :: echo data >data; ftrun -np 1 ./data :: code 126
127 :: ftrun -np 1 ./nothing :: code 127
128 + signal :: ftrun -np 1 sh -c 'kill -TERM $$' :: code 143
128 + signal :: ftrun -np 2 --max-failures 0 --kill 1@0.1 sleep 60 :: code 137
128 + signal :: ftrun -np 2 --max-failures 0 --set detector.heartbeat_period_ms=20 --set detector.heartbeat_timeout_ms=200
    sh -c "$(ranks 'sleep 60' 'kill -STOP $$')" :: code 137
128 + signal :: "$FTRUN" -np 2 sh -c 'kill -TERM $PPID; sleep 60' :: code 143
other :: ftrun -np 3 --max-failures 1 sh -c "$(ranks 'exec "$APP" die 6' 'exec "$APP" die-second 4' 'exec "$APP" go 500')" :: code 6
other :: ftrun -np 3 --max-failures 1 sh -c "$(ranks 'exec "$APP" die 0' 'exec "$APP" die-second 4' 'exec "$APP" go 500')" :: code 1
other :: ftrun -np 2 sh -c "$(ranks 'exec "$APP" die 6' 'exec "$APP" end 7')" :: code 7
other :: ftrun -np 2 "$APP" abort 42 :: code 42
other :: ftrun -np 2 "$APP" abort 256 :: code 1
FTC_EXIT_FENCED (113) :: fenced :: code 113
FTC_EXIT_ORPHANED (114) :: orphaned :: code 114
FTC_EXIT_INTERNAL (115) :: ftrun -np 2 --max-failures 0 --set collectives.algorithm=corrected "$APP" memory-inside :: code 115
FTC_EXIT_MISMATCH (116) :: ftrun -np 2 "$APP" mismatch :: code 116
FTC_EXIT_CORRUPT (117) :: ftrun -np 2 --max-failures 0 --set integrity.mode=checksum --set drill.flip=1:input:5@1/0
    "$APP" go 500 :: code 117
TABLE
}

@test "ftcoll(7) lists those with which the library ends a process, as ftrun(1) does" {
    diff <(names_of ftcoll.7 "EXIT CODES") <(names_of ftrun.1 "EXIT STATUS" | grep FTC_EXIT_)
    [ "$(names_of ftcoll.7 "EXIT CODES" | wc -l)" -eq "$(grep -c "^#define FTC_EXIT_" "$SOURCE/include/ftcoll.h")" ]
    local code
    # The codes that ftcoll.7 gives for ftrun.
    for code in $(section_of ftcoll.7 "EXIT CODES" | grep -o "(1): .*" | grep -oE "\b[0-9]{1,3}\b" | tail -n +2); do
        names_of ftrun.1 "EXIT STATUS" | grep -qx "$code"
    done
}

@test "what ftrun --help says of its exit code is what ftrun(1) says" {
    "$FTRUN" --help >"$BATS_TEST_TMPDIR/help"
    local code
    for code in $(names_of ftrun.1 "EXIT STATUS" | grep -x "[0-9]*") "128 + signal"; do
        sed -n '/^Exit code/,/^Settings/p' "$BATS_TEST_TMPDIR/help" | grep -qwF -- "$code" || { echo "$code"; return 1; }
    done
}

@test "ftcoll-status(1)" {
    walk "$(names_of ftcoll-status.1 "EXIT STATUS")" <<'TABLE'
0 :: ftrun -np 1 sh -c '"$STATUS" -n "$FTCOLL_JOB_SEGMENT"' :: code 0 && out "job "
1 :: status 0.0 :: code 1
1 :: ftrun -np 1 sh -c '"$STATUS" -n "$FTCOLL_JOB_SEGMENT" >/dev/full' :: code 1
2 :: status --nonsense :: code 2
3 :: ftrun -np 2 sh -c "$(ranks 'until "$STATUS" -n "$FTCOLL_JOB_SEGMENT"; [ $? -eq 3 ]; do sleep 0.02; done' 'kill -9 $$')" :: code 0
TABLE
}

@test "ftcoll-perf(1)" {
    walk "$(names_of ftcoll-perf.1 "EXIT STATUS")" <<'TABLE'
0 :: perf -i 1 barrier :: code 0
1 :: perf -i 1 barrier >/dev/full :: code 1
2 :: perf -i 0 barrier :: code 2
2 :: perf nothing :: code 2
TABLE
}

@test "ftcoll-sim(1)" {
    walk "$(names_of ftcoll-sim.1 "EXIT STATUS")" <<'TABLE'
0 :: sim -n 4 allreduce :: code 0
0 :: sim explore -n 2 -f 1 allreduce :: code 0
1 :: sim -n 4 allreduce >/dev/full :: code 1
2 :: sim -n 0 allreduce :: code 2
2 :: sim --set job.f=many -n 4 allreduce :: code 2
3 :: sim nodes --fault unchecked :: code 3
4 :: sim explore -n 3 -f 1 --max-states 10 allreduce :: code 4
TABLE
}

@test "a job of one exits with what ftc_abort is given" {
    run timeout -s KILL 60 "$APP" abort 42
    [ "$status" -eq 42 ]
}

@test "ftc_abort: from beside a call, with the others outside of the library; nothing is flushed, nobody has failed" {
    cd "$BATS_TEST_TMPDIR"
    run timeout -s KILL 60 "$FTRUN" -np 3 --report report "$APP" abort-beside 43
    echo "$output"
    [ "$status" -eq 43 ]
    grep -q "rank 0 aborted the job with code 43" <<<"$output"
    [[ $output != *"not flushed"* ]]
    jq -e '.failures == 0 and all(.ranks[]; .signal == 9)' report
}
