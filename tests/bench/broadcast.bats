#!/usr/bin/env bats
# Tests bench/broadcast on a fake ftrun that this file makes, and once on the real one. BROADCAST is
# the script, BUILD where ftcoll was built, REAL_FTRUN the launcher.

# shellcheck disable=SC2016 # words for the ftrun that is made up

bats_require_minimum_version 1.5.0

setup() {
    work=$(mktemp -d)
    export TMPDIR=$work/tmp FTRUN=$work/ftrun
    mkdir "$work/tmp"
}

teardown() {
    rm -rf "$work"
}

program() { # TEXT: makes an ftrun; $wanted is "binomial checked", $size the bytes
    cat >"$FTRUN" <<END
#!/bin/bash
[ "\$1" != --version ] || { echo ftrun 1.2.3; exit; }
printf '%s\n' "\$*" >>'$work/runs'
[[ "\$*" =~ broadcast.correction=([a-z-]+) ]] && correction=\${BASH_REMATCH[1]}
[[ "\$*" =~ broadcast.dissemination=([a-z]+) ]] && dissemination=\${BASH_REMATCH[1]}
[[ "\$*" =~ broadcast.tree=([a-z]+) ]] && tree=\${BASH_REMATCH[1]} || tree=binomial
[[ "\$*" =~ \ -m\ ([0-9KM]+) ]] && size=\${BASH_REMATCH[1]}
round=\$(grep -c "correction=\$correction .*dissemination=\$dissemination .*-m \$size " '$work/runs')
perf() { # MEDIAN
    echo operation,median_us,p99_us,dissemination,tree,correction
    echo "bcast,\$1,99,\$dissemination,\$tree,\$correction"
}
$1
END
    chmod +x "$FTRUN"
}

broadcast() {
    run --separate-stderr timeout -s KILL 100 "$BROADCAST" --build "$BUILD" "$@"
}

@test "wrong use ends with 2 and says what is wrong" {
    # shellcheck disable=SC2154 # stderr is of bats
    for words in "--np x" "--np 1" "--np 4097" "--rounds 0" "--seconds x" "--sizes 8,x" "--loss 101" "--loss 1.23456" "tea" "--frobnicate"; do
        # shellcheck disable=SC2086 # an option and its value
        broadcast $words
        [ "$status" -eq 2 ]
        [ -z "$output" ]
        [[ "$stderr" == *"broadcast: "*"${words##*[ ,-]}"* ]]
    done
}

@test "every combination at every size, and medians of the rounds" {
    program 'case $dissemination-$correction-$size in
        gossip-checked-8) us=(0 7 100 8) && perf "${us[round]}" ;;
        *) perf 5 ;;
        esac'
    broadcast --rounds 3 --sizes 8,1K --np 4 --csv "$work/csv" --markdown "$work/md"
    [ "$status" -eq 0 ]
    [ "$(wc -l <"$work/runs")" -eq 240 ]
    [ "$(tail -n +2 "$work/csv" | cut -d , -f 2,3,5 | sort | uniq -c | awk '{ print $1 }' | sort -u)" = 3 ]
    [ "$(tail -n +2 "$work/csv" | cut -d , -f 2,3,5 | sort -u | wc -l)" -eq 80 ]
    [ "$(grep -A 9 '^8 bytes' <<<"$output" | grep '^checked' | tr -s ' ')" = "checked 5.0 5.0 5.0 8.0 5.0" ]
    [ "$(grep -c '^| checked | 5.0 | 5.0 | 5.0 | [58].0 | 5.0 |$' "$work/md")" -eq 2 ]
    grep -q -- '-np 4 --set broadcast.correction=ring .*multicast.least_ranks=2 .*dissemination=multicast .*--csv -m 1K' "$work/runs"
    [ "$(head -n 40 "$work/runs" | sort)" != "$(head -n 40 "$work/runs")" ]
}

@test "what multicast loses, and a barrier before each" {
    program 'perf 5'
    broadcast --rounds 1 --sizes 8 --loss 12.5 --synchronise --ftrun-options "-f 3"
    [ "$status" -eq 0 ]
    [ "$(grep -c 'drill.multicast_loss=12.5 .*-f 3 .* --synchronise bcast$' "$work/runs")" -eq 8 ]
    [[ $output == *"multicast loses 12.5 %; ftrun -f 3."*"a barrier before each broadcast"* ]]
}

@test "settings in the environment are not measured" {
    program '[ -z "$(compgen -v FTCOLL_)" ] || exit 7
        perf 5'
    FTCOLL_BROADCAST_PATIENCE_US=1 FTCOLL_LOG_LEVEL=debug broadcast --rounds 1 --sizes 8
    [ "$status" -eq 0 ]
}

@test "a run that fails, and one that measures something else, are told, and the rest goes on" {
    program '[ "$correction" != ring ] || { echo no luck today >&2; exit 7; }
        [ "$correction" != delayed ] || correction=none
        perf 5'
    broadcast --rounds 1 --sizes 8
    [ "$status" -eq 1 ]
    [[ "$stderr" == *"exit code 7 of 8 bytes, binomial, ring:"*"no luck today"* ]]
    [ "$(grep '^ring' <<<"$output" | tr -s ' ')" = "ring failed failed failed failed failed" ]
    [ "$(grep '^delayed' <<<"$output" | tr -s ' ')" = "delayed failed failed failed failed failed" ]
    [ "$(grep '^none' <<<"$output" | tr -s ' ')" = "none 5.0 5.0 5.0 5.0 5.0" ]
}

@test "an interrupted run leaves nothing behind" {
    program "echo \$\$ >'$work/pid.new'; mv '$work/pid.new' '$work/pid'; exec sleep 60"
    "$BROADCAST" --build "$BUILD" 3>&- &
    local script=$! end=$((SECONDS + 20))
    until [ -s "$work/pid" ]; do
        [ "$SECONDS" -lt "$end" ]
        sleep 0.1
    done
    kill -TERM "$script"
    wait "$script" || [ $? -eq 143 ]
    end=$((SECONDS + 20))
    while kill -0 "$(cat "$work/pid")" 2>/dev/null; do # the program is killed, but not yet gone
        [ "$SECONDS" -lt "$end" ]
        sleep 0.1
    done
    [ -z "$(ls -A "$work/tmp")" ]
}

@test "the real thing, for a moment" {
    FTRUN=$REAL_FTRUN
    broadcast --np 3 --rounds 1 --seconds 0.01 --sizes 8 --loss 10
    echo "$output $stderr"
    [ "$status" -eq 0 ]
    [ -z "$stderr" ]
    [ "$(grep -cE '^[a-z-]+( +[0-9]+\.[0-9]){5}$' <<<"$output")" -eq 8 ]
}
