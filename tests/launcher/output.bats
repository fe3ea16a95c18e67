#!/usr/bin/env bats
# Standard output, standard error and standard input.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154 # commands for ranks; bats runs tests in subshells and sets variables

load helper

@test "--tag-output and --timestamp-output mark every line, of standard error too" {
    "$FTRUN" -np 2 --tag-output sh -c 'echo one; echo two; printf three; echo four >&2' >out 2>err
    [ "$(sort out | tr '\n' ,)" = "[0] one,[0] three,[0] two,[1] one,[1] three,[1] two," ]
    [ "$(sort err | tr '\n' ,)" = "[0] four,[1] four," ]
    "$FTRUN" -np 1 --timestamp-output --tag-output echo x >out
    grep -Eq '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3} \[0\] x$' out
}

@test "without options output is passed on byte by byte" {
    head -c 1000000 /dev/urandom >random
    "$FTRUN" -np 1 cat random >out
    cmp random out
    "$FTRUN" -np 1 printf 'no newline' >out
    [ "$(cat out)" = "no newline" ]
    [ "$(wc -c <out)" -eq 10 ]
}

@test "--output-filename writes one file per rank and stream" {
    "$FTRUN" -np 3 --output-filename logs sh -c 'echo out $FTCOLL_RANK; echo err $FTCOLL_RANK >&2' >out 2>err
    [ ! -s out ]
    [ ! -s err ]
    for rank in 0 1 2; do
        [ "$(cat "logs/rank.$rank.out")" = "out $rank" ]
        [ "$(cat "logs/rank.$rank.err")" = "err $rank" ]
    done
    run "$FTRUN" -np 1 --output-filename /nonexistent/logs true
    [ "$status" -eq 1 ]
    [ "${#lines[@]}" -eq 1 ]
}

@test "lines never tear: 4 ranks, 10000 lines each, both streams into one pipe" {
    "$FTRUN" -np 4 --tag-output sh -c \
        'i=0; while [ $i -lt 5000 ]; do echo "o $FTCOLL_RANK $i abcdefghijklmnopqrstuvwxyz"; echo "e $FTCOLL_RANK $i abcdefghijklmnopqrstuvwxyz" >&2; i=$((i+1)); done' \
        2>&1 | cat >out
    [ "$(wc -l <out)" -eq 40000 ]
    run grep -Evc '^\[([0-3])\] [oe] [0-3] [0-9]+ abcdefghijklmnopqrstuvwxyz$' out
    [ "$output" = 0 ]
    [ "$(sort -u out | wc -l)" -eq 40000 ]
}

@test "lines longer than a pipe's atomic write stay whole" {
    "$FTRUN" -np 4 --tag-output awk 'BEGIN { for (i = 0; i < 50; i++) { s = ""; for (k = 0; k < 6000; k++) s = s "x"; print s i } }' 2>&1 | cat >out
    [ "$(grep -Ec '^\[[0-3]\] x{6000}[0-9]+$' out)" -eq 200 ]
}

@test "a very long line is split, not lost" {
    "$FTRUN" -np 1 --tag-output sh -c 'head -c 300000 /dev/zero | tr "\0" y' >out
    [ "$(tr -cd y <out | wc -c)" -eq 300000 ]
    "$FTRUN" -np 1 sh -c 'head -c 300000 /dev/zero | tr "\0" y' >out
    [ "$(wc -c <out)" -eq 300000 ]
}

@test "--output-filename: nothing is written through a link, nobody is waited for at a FIFO" {
    mkdir logs
    echo precious >victim
    ln -s ../victim logs/rank.0.out
    run timeout -s KILL 20 "$FTRUN" -np 1 --output-filename logs echo overwritten
    [ "$status" -eq 1 ]
    grep -q "cannot write logs/rank.0.out: it is no regular file; give another --output-filename" <<<"$output"
    [ "$(cat victim)" = precious ]
    rm logs/rank.0.out
    mkfifo logs/rank.0.out
    run timeout -s KILL 20 "$FTRUN" -np 1 --output-filename logs echo unread
    [ "$status" -eq 1 ]
    grep -q "it is no regular file" <<<"$output"
}

@test "a slow reader gets everything, and a death is seen meanwhile" {
    "$FTRUN" -np 2 --kill 1@0.2 --report report.json sh -c \
        'if [ $FTCOLL_RANK = 1 ]; then exec sleep 100; fi; seq 1 400000' 2>err | (sleep 3; cat) >out
    [ "$(wc -l <out)" -eq 400000 ]
    [ "$(jq '.ranks[1].cause' report.json)" = '"drill"' ]
    jq -e '.ranks[1].declared_ms < 2900' report.json
}

@test "a reader that goes away does not hurt the ranks" {
    "$FTRUN" -np 2 sh -c 'seq 1 100000; echo done >"done.$FTCOLL_RANK"' | head -n 1 >out
    wait_until '[ -s done.0 ] && [ -s done.1 ]'
    run bash -c 'set -o pipefail; "$FTRUN" -np 1 seq 1 100000 | head -n 1; echo ${PIPESTATUS[0]}'
    [ "${lines[1]}" = 0 ]
}

@test "a full disk is said once, and the job goes on" {
    run bash -c '"$FTRUN" -np 2 sh -c "echo text; echo ok >ok.\$FTCOLL_RANK" >/dev/full'
    [ "$status" -eq 0 ]
    [ "${#lines[@]}" -eq 1 ]
    [[ "$output" == *"No space left"* ]]
    [ -s ok.0 ] && [ -s ok.1 ]
}

@test "standard input goes to rank 0, the others see the end of file" {
    run bash -c 'printf "a\nb\n" | "$FTRUN" -np 3 --tag-output cat'
    [ "$status" -eq 0 ]
    [ "$output" = "[0] a
[0] b" ]
    run bash -c '"$FTRUN" -np 2 wc -c <"$FTRUN"'
    [ "$(printf '%s\n' "${lines[@]}" | tr -d ' ' | sort -n | tr '\n' ,)" = "0,$(stat -c %s "$FTRUN")," ]
}

@test "ftrun takes no more standard input than its rank" {
    run bash -c 'printf "first\nsecond\n" | { "$FTRUN" -np 1 sh -c "read line; echo \$line" >/dev/null; "$FTRUN" -np 1 true; cat; }'
    [ "$output" = "" ] || [ "$output" = second ]
    printf 'first\nsecond\n' >lines
    run bash -c '{ "$FTRUN" -np 1 true; cat; } <lines'
    [ "$output" = "first
second" ]
}

@test "a terminal's input is passed on to rank 0" {
    command -v script >/dev/null || skip "no script(1)"
    run bash -c '(sleep 0.5; echo typed; sleep 1) | timeout 20 script -qec "$FTRUN -np 2 sh -c \"if [ \\\$FTCOLL_RANK = 0 ]; then read x; echo got \\\$x; fi\"" /dev/null'
    echo "$output"
    grep -q "got typed" <<<"$output"
}

@test "output of a rank that is killed is not lost" {
    run "$FTRUN" -np 1 sh -c 'echo last words; kill -9 $$'
    grep -q "last words" <<<"$output"
}

# Makes a daemon: it has a session of its own, and its parents have ended. It writes its pid to
# FILE.
daemon_script() { # FILE
    cat <<EOF
setsid sh -c 'sh -c "echo \\\$\\\$ >$1.new; mv $1.new $1; exec sleep 60" & exit' >/dev/null 2>&1
until [ -s $1 ]; do sleep 0.02; done
EOF
}

@test "what ranks leave in other sessions ends with the job, and ftrun says so" {
    sleep 60 &
    local bystander=$!
    started+=("$bystander")
    run timeout -s KILL 30 "$FTRUN" -np 2 sh -c "$(daemon_script 'daemon.$FTCOLL_RANK')"
    [ "$status" -eq 0 ]
    gone "$(cat daemon.0)" "$(cat daemon.1)"
    [ "$(grep -c "killed what ranks had left running" <<<"$output")" -eq 1 ]
    kill -0 "$bystander"
}

@test "so it does when a rank is killed, and with the whole family of a stray" {
    run timeout -s KILL 30 "$FTRUN" -np 1 sh -c 'setsid sh -c "sleep 60 & echo \$! >family.new; setsid sleep 61 & echo \$! >>family.new
        mv family.new family; wait" & until [ -s family ]; do sleep 0.02; done; kill -9 $$'
    [ "$status" -eq 137 ]
    mapfile -t family <family
    [ "${#family[@]}" -eq 2 ]
    gone "${family[@]}"
}

@test "what is left in the process group of a rank ends with the rank, and ftrun says nothing" {
    run timeout -s KILL 30 "$FTRUN" -np 1 sh -c 'for i in 1 2 3 4 5 6 7 8; do sleep 60 & echo $! >>group; done'
    [ "$status" -eq 0 ]
    [ -z "$output" ]
    mapfile -t group <group
    gone "${group[@]}"
}

@test "a process that is meant to outlive the job is started without FTCOLL_JOB_SEGMENT" {
    run timeout -s KILL 30 "$FTRUN" -np 1 env -u FTCOLL_JOB_SEGMENT sh -c "$(daemon_script daemon)"
    [ "$status" -eq 0 ]
    kill -0 "$(cat daemon)"
    kill "$(cat daemon)"
    run timeout -s KILL 30 sh -c 'sleep 60 >/dev/null 2>&1 & echo $! >before; exec "$0" -np 1 true' "$FTRUN"
    [ "$status" -eq 0 ]
    kill "$(cat before)" # a child of ftrun, but started before ftrun
}

@test "a daemon that holds a rank's output does not hold up ftrun" {
    start -np 1 env -u FTCOLL_JOB_SEGMENT sh -c 'setsid sleep 20 & echo $! >daemon'
    finish
    kill "$(cat daemon)" 2>/dev/null || true
    [ "$status" -eq 0 ]
}
