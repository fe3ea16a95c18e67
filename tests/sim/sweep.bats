#!/usr/bin/env bats
# Tests ftcoll-sim sweep. SIM names the program.

bats_require_minimum_version 1.5.0

setup() {
    work=$(mktemp -d)
}

teardown() {
    rm -rf "$work"
}

header=operation,cost,n,f,kills,runs,latency_ns,latency_min_ns,latency_max_ns,root_latency_ns,up,tree,decide,prepare,poke,pull,fragment,bytes,ballots,retries

@test "a table: every combination once, in order" {
    run --separate-stderr "$SIM" sweep -n 2..8 -f 0,1 --kills 0..f --cost rdma,tcp --repeat 3 allreduce reduce
    [ "$status" -eq 0 ]
    [ -z "$stderr" ]
    [ "${lines[0]}" = "$header" ]
    # The header, and 2 operations x 2 models x 3 sizes x (1 row for f = 0 and 2 rows for f = 1).
    [ "${#lines[@]}" -eq 37 ]
    [[ ${lines[1]} == "allreduce,rdma,2,0,0,1,"* ]]
    [[ ${lines[4]} == "allreduce,rdma,2,1,0,1,"* ]]
    [[ ${lines[7]} == "allreduce,rdma,2,1,1,3,"* ]]
    [[ ${lines[36]} == "reduce,tcp,8,1,1,3,"* ]]
    for line in "${lines[@]}"; do
        [ "$(tr -dc , <<<"$line" | wc -c)" -eq 19 ]
    done
}

@test "the same table whatever the number of jobs" {
    args=(sweep -n 2..32 -f 2 --kills 0,f --repeat 3 --seed 4 allreduce bcast)
    "$SIM" "${args[@]}" --jobs 1 >"$work/a"
    "$SIM" "${args[@]}" --jobs 7 >"$work/b"
    cmp "$work/a" "$work/b"
}

@test "a row is the run of the same settings" {
    row=$("$SIM" sweep -n 48 -f 2 --cost tcp --bytes 64 allreduce | tail -n 1)
    latency=$("$SIM" -n 48 -f 2 --cost tcp --bytes 64 allreduce --json | jq '.operations[0].latency_ns')
    [ "$(cut -d, -f7 <<<"$row")" -eq "$latency" ]
}

@test "the median lies between the least and the most" {
    row=$("$SIM" sweep -n 32 -f 2 --kills 2 --kill-kind others --repeat 9 reduce | tail -n 1)
    IFS=, read -r _ _ _ _ _ runs median least most root _ <<<"$row"
    [ "$runs" -eq 9 ]
    [ "$least" -le "$median" ]
    [ "$median" -le "$most" ]
    [ "$root" -gt 0 ]
}

@test "a root that died has no latency" {
    row=$("$SIM" sweep -n 8 -f 1 --kills 1 --kill-kind coordinator --kill-at start --repeat 1 reduce | tail -n 1)
    [[ $row == "reduce,rdma,8,1,1,1,"* ]]
    [ -z "$(cut -d, -f10 <<<"$row")" ]
}

@test "wrong use has one line with cause and remedy" {
    refused() {
        run --separate-stderr "$SIM" sweep "$@"
        [ "$status" -eq 2 ]
        [ "${#stderr_lines[@]}" -eq 1 ]
    }
    refused allreduce
    [[ $stderr == *"give -n 2..1024"* ]]
    refused -n 2..8
    refused -n 8..2 allreduce
    refused -n 4 -f x allreduce
    refused -n 4 --kills g allreduce
    refused -n 4 --cost rdma,ether allreduce
    refused -n 2 -f 5 allreduce
    [[ $stderr == *"nothing to run"* ]]
    refused -n 2..8 reduce:3
    [[ $stderr == *"root 3"* ]]
    refused -n 4 --repeat 0 allreduce
}

@test "a figure" {
    command -v gnuplot >/dev/null || skip "no gnuplot"
    run --separate-stderr "$SIM" sweep -n 2..32 -f 0..2 --kills 0,f --cost rdma,tcp --repeat 2 \
        --plot "$work/it's a plot.svg" allreduce reduce
    [ "$status" -eq 0 ]
    [ -z "$stderr" ]
    grep -q "</svg>" "$work/it's a plot.svg"
    for text in allreduce reduce tcp rdma "f = 2" "no deaths" ranks; do
        grep -q "$text" "$work/it's a plot.svg"
    done
}

@test "a rank stands still, and each way to take a subtree has its rows" {
    run --separate-stderr "$SIM" sweep -n 8,16 --stall 1@1us:1ms..4ms,1s reduce
    [ "$status" -eq 0 ]
    [ "${lines[0]%,runs,*}" = operation,cost,n,f,kills,take,stall_ns ]
    [ "${#lines[@]}" -eq $((1 + 2 * 3 * 4)) ]
    # The root has the result before a stall of 1 s ends, or at its end, or after two heartbeat periods.
    awk -F, '$7 == 1e9 { ms[$6] = $12 / 1e6 } END { exit !(ms["first"] < 1 && ms["lowest"] >= 1000 && int(ms["auto"]) == 500) }' \
        <<<"$output"
    for bad in 1 1@2us 1@2us: x@1us:1us 1@1us:0 1@1us:2us..1us; do
        run --separate-stderr "$SIM" sweep -n 8 --stall "$bad" reduce
        [ "$status" -eq 2 ]
        # shellcheck disable=SC2154 # stderr is of bats
        [[ "$stderr" == *--stall* ]]
    done
}

@test "a figure of stalls" {
    command -v gnuplot >/dev/null || skip "no gnuplot"
    run --separate-stderr "$SIM" sweep -n 8 --stall 1@1us:1us..1s --plot "$work/x.svg" reduce
    [ "$status" -eq 0 ]
    [ -z "$stderr" ]
    for text in auto first lowest "length of the stall"; do grep -q "$text" "$work/x.svg"; done
}

@test "without gnuplot a figure is refused before anything runs" {
    mkdir "$work/bin"
    run --separate-stderr env PATH="$work/bin" "$SIM" sweep -n 2..1048576 --plot "$work/x.svg" allreduce
    [ "$status" -eq 1 ]
    [ -z "$output" ]
    [[ $stderr == *"gnuplot, which is not installed; install it"* ]]
}

@test "a figure that cannot be written is refused before anything runs" {
    command -v gnuplot >/dev/null || skip "no gnuplot"
    run --separate-stderr "$SIM" sweep -n 2..1048576 --plot /nowhere/x.svg allreduce
    [ "$status" -eq 1 ]
    [ "$output" = "" ]
    [[ $stderr == *"/nowhere/x.svg: No such file or directory; give a file that can be written"* ]]
}

@test "a broken promise ends the sweep" {
    run --separate-stderr "$MUTANT" sweep -n 4..64 -f 2 --kills 2 --kill-kind others --scheme bit --seed 5 --think 3us \
        --topology torus --burst allreduce
    [ "$status" -eq 3 ]
    [[ ${stderr_lines[0]} == "ftcoll-sim: allreduce of "*" ranks, f = 2, 2 deaths, rdma: a promise is broken: "* ]]
    words=${stderr_lines[0]#*broken: }
    read -ra line <<<"${stderr_lines[1]#replay: ftcoll-sim }"
    run --separate-stderr "$MUTANT" "${line[@]}"
    [ "$status" -eq 3 ]
    [ "${stderr_lines[0]}" = "ftcoll-sim: a promise is broken: $words" ]
}

@test "own cost models have names of their own" {
    run "$SIM" sweep -n 4 --cost tcp,G=0.1,rdma,G=0.2 allreduce
    [[ ${lines[1]} == "allreduce,tcp;G=0.1,4,"* ]]
    [[ ${lines[2]} == "allreduce,rdma;G=0.2,4,"* ]]
}

# until_true WORDS...: the command succeeds within 20 s.
until_true() {
    for _ in $(seq 200); do
        "$@" && return 0
        sleep 0.1
    done
    return 1
}

children_of() {
    pgrep -P "$1" >"$work/children"
}

all_gone() {
    ! xargs ps -o pid= -p <"$work/children" >/dev/null
}

@test "a sweep that is killed leaves no process behind" {
    "$SIM" sweep -n 65536..262144 --jobs 2 allreduce >/dev/null 3>&- &
    sweep=$!
    until_true children_of "$sweep"
    kill -KILL "$sweep"
    until_true all_gone
}

@test "a gnuplot that dies is an error, and no file is left" {
    mkdir "$work/bin"
    printf '#!/bin/sh\nexit 7\n' >"$work/bin/gnuplot"
    chmod +x "$work/bin/gnuplot"
    run --separate-stderr env PATH="$work/bin:$PATH" "$SIM" sweep -n 2..1024 --plot "$work/x.svg" allreduce
    [ "$status" -eq 1 ]
    [[ $stderr == *"gnuplot could not make $work/x.svg (status 7)"* ]]
    [ ! -e "$work/x.svg" ]
}
