#!/usr/bin/env bats
# Deaths, stalls, accusations, limits, drills, the report.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154 # commands for ranks; bats runs tests in subshells and sets variables

load helper

# as_rank R 'command' 'command of the others'
as_rank() { printf 'if [ "$FTCOLL_RANK" = %s ]; then %s; else %s; fi' "$1" "$2" "$3"; }

@test "--kill is a drill within the default limit" {
    run "$FTRUN" -np 3 --kill 1@0.1 sleep 2
    [ "$status" -eq 0 ]
    grep -q "rank 1 failed: killed by --kill" <<<"$output"
    grep -q "1 of 3 ranks failed (1)" <<<"$output"
}

@test "--max-failures: one more kills the rest, with that rank's code" {
    start -np 3 --max-failures 0 --kill 1@0.1 sleep 100
    finish
    [ "$status" -eq 137 ]
    grep -q "more than --max-failures 0; killing the others" err
    nothing_left "$pid"
}

@test "--max-failures: within the limit the survivors decide" {
    run "$FTRUN" -np 3 --max-failures 2 --kill 1@0.1 --kill 2@0.1 sleep 2
    [ "$status" -eq 0 ]
    run "$FTRUN" -np 3 --max-failures 1 --kill 1@0.1 --kill 2@0.1 sleep 100
    [ "$status" -eq 137 ]
}

@test "a drill for a rank that has ended is said" {
    run "$FTRUN" -np 2 --kill 1@1 sh -c "$(as_rank 1 true 'sleep 2')"
    [ "$status" -eq 0 ]
    grep -q "kill 1: the rank has ended already" <<<"$output"
}

@test "survivors learn of a death, its cause and detail" {
    run "$FTRUN" -np 3 sh -c "$(as_rank 2 'kill -11 $$' 'exec "$JOIN_PROBE" survive 1')"
    echo "$output"
    [ "$status" -eq 0 ]
    [ "$(grep -c '^rank 2 failed: signal 11$' <<<"$output")" -eq 2 ]
}

@test "an exit before finalize is a failure, even with code 0" {
    run "$FTRUN" -np 3 sh -c "$(as_rank 2 'exec "$JOIN_PROBE" exit 0' 'exec "$JOIN_PROBE" survive 1')"
    echo "$output"
    [ "$status" -eq 0 ]
    [ "$(grep -c '^rank 2 failed: exit 0$' <<<"$output")" -eq 2 ]
    grep -q "ftrun: rank 2 failed: exited with code 0 before ftc_finalize()" <<<"$output"
    run "$FTRUN" -np 3 --max-failures 0 sh -c "$(as_rank 2 'exec "$JOIN_PROBE" exit 0' 'exec "$JOIN_PROBE" survive 9')"
    [ "$status" -eq 1 ]
}

@test "a rank that never joins and exits with 0 is a failure if others join" {
    run "$FTRUN" -np 3 sh -c "$(as_rank 2 true 'exec "$JOIN_PROBE" survive 1')"
    echo "$output"
    [ "$status" -eq 0 ]
    grep -q "ftrun: rank 2 failed: exited with code 0" <<<"$output"
    grep -q "1 of 3 ranks failed (2)" <<<"$output"
}

@test "a survivor's exit code counts" {
    run "$FTRUN" -np 2 sh -c "$(as_rank 1 'exec "$JOIN_PROBE" finalize 7' 'exec "$JOIN_PROBE" finalize 0')"
    [ "$status" -eq 7 ]
}

@test "a standing heartbeat is fenced" {
    run "$FTRUN" -np 3 --report report.json --set detector.heartbeat_period_ms=20 --set detector.heartbeat_timeout_ms=200 \
        sh -c "$(as_rank 1 'exec "$JOIN_PROBE" stall' 'exec "$JOIN_PROBE" survive 1')"
    echo "$output"
    [ "$status" -eq 0 ]
    [ "$(grep -c '^rank 1 failed: stalled 9$' <<<"$output")" -eq 2 ]
    jq -e '.ranks[1] | .cause == "stalled" and .end == "signaled" and .signal == 9 and .detection_ms >= 199' report.json
}

@test "a rank stopped by job control is fenced" {
    run "$FTRUN" -np 2 --set detector.heartbeat_period_ms=20 --set detector.heartbeat_timeout_ms=200 \
        sh -c "$(as_rank 1 'kill -STOP $$' 'exec "$JOIN_PROBE" survive 1')"
    echo "$output"
    [ "$status" -eq 0 ]
    grep -q '^rank 1 failed: stopped 9$' <<<"$output"
}

@test "with fencing off a stall is only reported" {
    start -np 2 --set detector.fence=off --set detector.heartbeat_period_ms=20 --set detector.heartbeat_timeout_ms=100 \
        sh -c "$(as_rank 1 'exec "$JOIN_PROBE" stall' 'exec "$JOIN_PROBE" survive 1')"
    wait_until 'grep -q "rank 1 is suspected but not killed" err'
    kill -0 "$pid"
    kill -TERM "$pid"
    finish
}

@test "an accused rank is fenced, and the accuser named" {
    run "$FTRUN" -np 3 --report report.json sh -c "case \$FTCOLL_RANK in
        0) exec \"\$JOIN_PROBE\" accuse 2;; 1) exec \"\$JOIN_PROBE\" survive 1;; 2) exec \"\$JOIN_PROBE\" survive 9;; esac"
    echo "$output"
    [ "$status" -eq 0 ]
    grep -q '^rank 2 failed: accused 9$' <<<"$output"
    grep -q "ftrun: rank 2 failed: sent damaged data, killed, seen by rank 0" <<<"$output"
    jq -e '.ranks[2] | .cause == "accused" and .seen_by == 0' report.json
}

@test "accusing nobody, oneself or a rank that does not exist does nothing" {
    for who in 1 77 -5 2147483646; do
        run "$FTRUN" -np 2 --kill 0@0.3 sh -c "$(as_rank 1 "exec \"\$JOIN_PROBE\" accuse $who" 'exec "$JOIN_PROBE" survive 9')"
        echo "$output"
        [ "$status" -eq 0 ]
        grep -q '^rank 0 failed: drill 9$' <<<"$output"
    done
}

@test "detector.exit_notices = off: only the heartbeat tells" {
    run "$FTRUN" -np 2 --report report.json --set detector.exit_notices=off --set detector.heartbeat_period_ms=20 \
        --set detector.heartbeat_timeout_ms=300 sh -c "$(as_rank 1 '"$JOIN_PROBE" exit 5' 'exec "$JOIN_PROBE" survive 1')"
    echo "$output"
    [ "$status" -eq 0 ]
    grep -q '^rank 1 failed: stalled 0$' <<<"$output"
    jq -e '.ranks[1].detection_ms >= 299' report.json
}

@test "a program may take its time after finalize" {
    run "$FTRUN" -np 2 --set detector.heartbeat_period_ms=20 --set detector.heartbeat_timeout_ms=100 "$JOIN_PROBE" linger 700
    echo "$output"
    [ "$status" -eq 0 ]
    [ -z "$output" ]
}

@test "ftc_abort ends the job with its code" {
    start -np 3 sh -c "$(as_rank 1 'exec "$JOIN_PROBE" abort 42' 'exec sleep 100')"
    finish
    [ "$status" -eq 42 ]
    grep -q "rank 1 aborted the job with code 42" err
    nothing_left "$pid"
}

# It beats for a while: if it ended before ftrun looked at it, ftrun would kill the wrapper to be sure.
@test "behind a wrapper the process that joined is watched" {
    run "$FTRUN" -np 2 sh -c "$(as_rank 1 '"$JOIN_PROBE" exit 5 50; sleep 0.3; echo wrapper done; exit 0' '"$JOIN_PROBE" survive 1; exit $?')"
    echo "$output"
    [ "$status" -eq 0 ]
    grep -q '^rank 1 failed: exit -1$' <<<"$output"
    grep -q 'wrapper done' <<<"$output"
}

@test "a drill behind a wrapper kills both" {
    start -np 2 --kill 1@0.3 sh -c "$(as_rank 1 '"$JOIN_PROBE" stall; echo never' '"$JOIN_PROBE" survive 1; exit $?')"
    finish
    [ "$status" -eq 0 ]
    grep -q '^rank 1 failed: drill 9$' out
    run grep never out
    [ "$status" -ne 0 ]
}

@test "a wrapper in another process group or session is fenced too" {
    start -np 2 --set detector.heartbeat_period_ms=20 --set detector.heartbeat_timeout_ms=200 \
        sh -c "$(as_rank 1 'setsid -w "$JOIN_PROBE" stall; exit 0' '"$JOIN_PROBE" survive 1; exit $?')"
    finish
    [ "$status" -eq 0 ]
    grep -q '^rank 1 failed: stalled 9$' out
}

@test "a rank that names a process older than itself cannot have it killed" {
    sleep 1000 3>&- &
    local bystander=$!
    started+=("$bystander")
    # Start times are in ticks of 10 ms. Until the next tick the bystander could pass for a process
    # of the rank.
    wait_until '[ "$(cut -d" " -f22 /proc/self/stat)" -gt "$(cut -d" " -f22 "/proc/$bystander/stat")" ]'
    start -np 2 --kill 1@0.3 sh -c "$(as_rank 1 "exec \"\$JOIN_PROBE\" pid $bystander" 'exec "$JOIN_PROBE" survive 1')"
    finish
    [ "$status" -eq 0 ]
    kill -0 "$bystander"
}

@test "--timeout says who waits for whom, and exits with 124" {
    start -np 4 --timeout 3 sh -c 'case $FTCOLL_RANK in 0) exec "$JOIN_PROBE" wait 1;; 1) exec "$JOIN_PROBE" wait 2;;
        2) exec "$JOIN_PROBE" survive 9;; 3) exec sleep 100;; esac'
    finish
    cat err
    [ "$status" -eq 124 ]
    grep -Eq "rank 0: in allreduce, operation 17, for .* waits for rank 1" err
    grep -Eq "rank 2: outside the library" err
    grep -Eq "rank 3: started .*has not come through ftc_init" err
    grep -q "2 of the 2 waiting ranks finally wait for rank 2: outside the library" err
    nothing_left "$pid"
}

@test "--timeout: a rank that is in a call and shows no more of it is not outside" {
    start -np 2 --timeout 3 sh -c "$(as_rank 1 'exec "$JOIN_PROBE" enter 17' 'exec "$JOIN_PROBE" wait 1')"
    finish
    cat err
    [ "$status" -eq 124 ]
    grep -Eq "rank 1: in operation 17 for " err
    grep -q "1 of the 1 waiting ranks finally wait for rank 1: in operation 17" err
}

@test "--timeout: a circle of waiting ends" {
    start -np 3 --timeout 3 sh -c 'case $FTCOLL_RANK in 0) exec "$JOIN_PROBE" wait 1;; 1) exec "$JOIN_PROBE" wait 2;;
        2) exec "$JOIN_PROBE" wait 1;; esac'
    finish
    cat err
    [ "$status" -eq 124 ]
    grep -q "3 of the 3 waiting ranks finally wait for rank 1.*they wait for each other" err
}

# refused_report FILE 'words': ftrun refuses the file with these words before any rank runs, and
# does not hang.
refused_report() {
    run timeout -s KILL 20 "$FTRUN" -np 1 --report "$1" touch started
    echo "$output"
    [ "$status" -eq 1 ]
    grep -q "cannot write the report $1: $2.*give another --report" <<<"$output"
    [ ! -e started ]
}

@test "--report: what cannot be written, or would lead elsewhere, is refused before the job starts" {
    echo precious >victim
    ln -s victim link
    refused_report link "it is a symbolic link"
    [ "$(cat victim)" = precious ]
    mkfifo pipe
    refused_report pipe "it is neither a file nor a device"
    refused_report . "it is neither a file nor a device"
    refused_report missing/report "No such file or directory"
    refused_report /dev/fd/77 "there is no such descriptor"
    refused_report /dev/stdin "it is open for reading alone"
}

@test "--report: devices, descriptors and pipes that were named on purpose" {
    "$FTRUN" -np 1 --report /dev/null true
    run "$FTRUN" -np 1 --report /dev/stdout true
    jq -e '.exit_code == 0' <<<"$output"
    "$FTRUN" -np 1 --report >(cat >through) true
    wait_until 'jq -e ".exit_code == 0" through'
    "$FTRUN" -np 1 --report /dev/fd/9 true 9>descriptor
    jq -e '.exit_code == 0' descriptor
    echo old >report
    "$FTRUN" -np 1 --report report true
    jq -e '.exit_code == 0' report
    [ -z "$(find . -name "report.[0-9]*" -type f)" ]
}

@test "--report: the whole job as JSON" {
    run "$FTRUN" -np 3 -f 1 --report report.json sh -c "$(as_rank 2 'kill -9 $$' 'exec "$JOIN_PROBE" survive 1')"
    [ "$status" -eq 0 ]
    jq -e '.schema == 1 and .np == 3 and .f == 1 and .exit_code == 0 and (.ranks | length) == 3' report.json
    jq -e '.start < .end and .startup.server_ms > 0 and .startup.spawned_ms > 0 and .startup.joined_ms > 0' report.json
    jq -e '.ranks[0] | .phase == "finalized" and .end == "exited" and .code == 0 and .failed == false' report.json
    jq -e '.ranks[2] | .phase == "spawned" and .end == "signaled" and .signal == 9 and .failed and .cause == "signal"
        and .seen_by == "ftrun" and .declared_ms >= .suspected_ms' report.json
    jq -e '.ranks[0].counters | (.sent | has("UP") and has("PULL")) and has("bytes") and (.rules | length) > 20' report.json
    run "$FTRUN" -np 1 --report - true
    jq -e '.exit_code == 0' <<<"$output"
    run "$FTRUN" -np 1 --report /nonexistent/report true
    [ "$status" -eq 1 ]
}

@test "a rank that has damaged words of the segment is declared like any other when it dies" {
    local what
    for what in failed ended failures no-failures phase no-phase pid accused accused-self unreachable finalized abort state; do
        run timeout 30 "$FTRUN" -np 3 sh -c "$(as_rank 2 "exec \"\$JOIN_PROBE\" damage $what" 'exec "$JOIN_PROBE" survive 1')"
        echo "$what: $output"
        [ "$status" -eq 0 ]
        [ "$(grep -c '^rank 2 failed: signal 9$' <<<"$output")" -eq 2 ]
    done
}

@test "a rank that names another rank's process cannot have it killed" {
    start -np 3 --kill 1@0.3 sh -c 'case $FTCOLL_RANK in
        0) echo $$ >victim; exec "$JOIN_PROBE" survive 1;;
        1) until [ -s victim ]; do sleep 0.05; done; exec "$JOIN_PROBE" pid "$(cat victim)";;
        2) exec "$JOIN_PROBE" survive 1;; esac'
    finish
    [ "$status" -eq 0 ]
    [ "$(grep -c '^rank 1 failed: drill 9$' out)" -eq 2 ]
}
