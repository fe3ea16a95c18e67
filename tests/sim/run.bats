#!/usr/bin/env bats
# Tests ftcoll-sim, and its runs under a cost model. SIM names the program.

setup() {
    work=$(mktemp -d)
}

teardown() {
    rm -rf "$work"
}

# refused WORDS...: the command ends with exit code 2 and one line of error that has these words.
refused() {
    run --separate-stderr "$SIM" "$@"
    [ "$status" -eq 2 ]
    [ "${#stderr_lines[@]}" -eq 1 ]
    [[ ${stderr_lines[0]} == "ftcoll-sim: "* ]]
}

bats_require_minimum_version 1.5.0

@test "no arguments: a short usage, exit code 2" {
    run --separate-stderr "$SIM"
    [ "$status" -eq 2 ]
    [ -z "$output" ]
    [[ ${stderr_lines[0]} == "usage: ftcoll-sim "* ]]
    [ "${#stderr_lines[@]}" -lt 20 ]
}

@test "--help and --version" {
    run "$SIM" --help
    [ "$status" -eq 0 ]
    [[ $output == *"  run "* && $output == *"  sweep "* ]]
    run "$SIM" run --help
    [ "$status" -eq 0 ]
    [[ $output == *"--kill-kind"* && $output == *"--scheme"* ]]
    run "$SIM" --version
    [ "$status" -eq 0 ]
    [[ $output =~ ^ftcoll-sim\ [0-9]+\.[0-9]+\.[0-9]+$ ]]
}

@test "a result for people" {
    run --separate-stderr "$SIM" -n 64 -f 3 allreduce reduce:2 --kill 2 --seed 7
    [ "$status" -eq 0 ]
    [ -z "$stderr" ]
    [[ ${lines[0]} == "64 ranks, f = 3, 8-byte values, seed 7" ]]
    [[ ${lines[1]} == "rdma: L 3.7 us, o 200 ns, "* ]]
    [[ ${lines[2]} == "2 deaths: rank "* ]]
    [[ $output == *"  0  allreduce "* && $output == *"  1  reduce "* ]]
    [[ $output == *"every promise was kept"* ]]
}

@test "run may be said, and left out" {
    "$SIM" -n 8 barrier --json >"$work/a"
    "$SIM" run -n 8 barrier --json >"$work/b"
    cmp "$work/a" "$work/b"
}

@test "a bit that turns over is outvoted, detected or a death" {
    run "$SIM" -n 64 -f 2 allreduce allreduce --integrity vote --flip 11:up:62@1/0
    [ "$status" -eq 0 ]
    [[ $output == *"op 1: 1 of 3 results of subtrees were outvoted"* && $output != *"op 0: "* ]]
    run "$SIM" -n 64 -f 1 reduce:3 --integrity vote --flip 11:partial:1@0/0 --json
    [ "$status" -eq 0 ]
    [ "$(jq -c '.operations[0] | [.compared, .wrong]' <<<"$output")" = "[2,2]" ]
    run "$SIM" -n 64 -f 2 allreduce allreduce --integrity checksum --flip 4:partial:1@0/0 --trace
    [ "$status" -eq 0 ]
    [[ $output == *"rank 4 "*"dies"* && $output == *"every promise was kept"* ]]
}

@test "a flip that is none is refused" {
    refused -n 4 allreduce --flip 3:up:64@0
    [[ $stderr == *"is no flip: RANK:VARIABLE"* ]]
}

@test "the paper's example, step by step" {
    run "$SIM" -n 7 -f 1 reduce --kill 1 --kill-kind head --kill-at start --trace
    [ "$status" -eq 0 ]
    [[ $output == *"rank 1  dies"* ]]
    [[ $output == *"rank 2  sends UP to 1"* && $output == *"rank 1  is dead and loses UP from 2"* ]]
    for pair in "3 4" "4 3" "5 6" "6 5"; do
        [[ $output == *"rank ${pair% *}  has UP from ${pair#* }"* ]]
    done
    [[ $output == *"rank 0  has TREE from 2"* && $output != *"rank 0  has TREE from 1"* ]]
}

# drawn OPTIONS...: the graph of a reduce of seven ranks, one edge or dead rank a line, in order.
drawn() {
    "$SIM" -n 7 reduce --kill 1 --kill-at start --draw "$@" | sed -n 's/constraint=false, //; s/^    \([0-9].*\)/\1/p' | LC_ALL=C sort
}

@test "figure 2 of the paper: up-correction, then the tree, and what each message counts" {
    diff - <(drawn -f 1 --kill-kind head) <<'END'
1 [style=filled]
2 -> 0 [label="2,3,4,5,6"]
2 -> 1 [style=dashed, label="2"]
3 -> 1 [label="3,4"]
3 -> 4 [style=dashed, label="3"]
4 -> 2 [label="3,4"]
4 -> 3 [style=dashed, label="4"]
5 -> 1 [label="5,6"]
5 -> 6 [style=dashed, label="5"]
6 -> 2 [label="5,6"]
6 -> 5 [style=dashed, label="6"]
END
}

@test "figure 1 of the paper: without up-correction the failed rank's subtree does not reach the root" {
    diff - <(drawn -f 0 --kill-kind others --seed 17) <<'END'
1 -> 0 [label="1,3,6"]
2 [style=filled]
3 -> 1 [label="3,6"]
4 -> 2 [label="4"]
5 -> 2 [label="5"]
6 -> 3 [label="6"]
END
}

@test "--draw draws one reduce or allreduce, and nothing else" {
    run "$SIM" -n 5 -f 1 allreduce --draw
    [ "$status" -eq 0 ]
    [ "${lines[0]}" = "digraph contributions {" ]
    [ "${lines[-1]}" = "}" ]
    [[ $output == *'1 -> 0 [label="1,2,3,4"]'* ]]
    refused -n 4 barrier --draw
    refused -n 4 reduce reduce --draw
    refused -n 65 reduce --draw
    [[ $stderr == *"at most 64 ranks"* ]]
    refused -n 4 reduce --draw --trace
    refused -n 4 reduce --kill 4 --draw
    [ -z "$output" ]
}

@test "the same seed gives the same run, another one another" {
    "$SIM" -n 100 -f 2 allreduce*3 --kill 5 --think 2us --seed 5 --trace >"$work/a"
    "$SIM" -n 100 -f 2 allreduce*3 --kill 5 --think 2us --seed 5 --trace >"$work/b"
    "$SIM" -n 100 -f 2 allreduce*3 --kill 5 --think 2us --seed 6 --trace >"$work/c"
    # The last line has the memory used, which differs from machine to machine.
    cmp <(head -n -1 "$work/a") <(head -n -1 "$work/b")
    ! cmp -s <(head -n -1 "$work/a") <(head -n -1 "$work/c")
}

@test "--json has everything" {
    "$SIM" -n 33 -f 2 allreduce bcast:3 reduce:1 --kill 3 --kill-kind others --burst --seed 9 --json >"$work/out"
    jq -e '.schema == 1 and .ranks == 33 and .f == 2 and .seed == 9 and .violation == null' "$work/out"
    jq -e '.cost.name == "rdma" and .cost.L == 3700 and .cost.bytes == 8' "$work/out"
    jq -e '(.deaths | length) == 3 and ([.deaths[].time_ns] | unique | length) == 1' "$work/out"
    jq -e '[.operations[].operation] == ["allreduce", "bcast", "reduce"]' "$work/out"
    jq -e 'all(.operations[]; .deliveries == 30 and .latency_ns > 0)' "$work/out"
    jq -e '.operations[0].root == null and .operations[2].root == 1' "$work/out"
    jq -e '.operations[0].sent | has("UP") and has("PULL")' "$work/out"
}

@test "the literature's broadcast times, from the command line" {
    run "$SIM" -n 1024 bcast --dissemination lame --arity 4 --cost L=2,o=1
    [[ $output =~ bcast\ +24\ ns ]]
    run "$SIM" -n 1024 bcast --dissemination tree --cost L=2,o=1
    [[ $output =~ bcast\ +40\ ns ]]
}

@test "longer values, farther ranks and slower networks take longer" {
    latency() { "$SIM" -n 64 allreduce --json "$@" | jq '.operations[0].latency_ns'; }
    base=$(latency)
    [ "$(latency --bytes 100000)" -gt "$base" ]
    [ "$(latency --topology torus --hop 1us)" -gt "$base" ]
    [ "$(latency --topology fat-tree:8 --hop 1us)" -gt "$base" ]
    [ "$(latency --cost tcp)" -gt "$base" ]
    [ "$(latency --cost shared-memory)" -lt "$base" ]
    [ "$(latency --kill 1 --kill-kind head --kill-at start --detect 20ms)" -gt 20000000 ]
}

@test "wrong use has one line with cause and remedy" {
    refused allreduce
    [[ $stderr == *"give -n N"* ]]
    refused -n 4
    [[ $stderr == *"no operation is named"* ]]
    refused -n 4 frobnicate
    [[ $stderr == *'"frobnicate"'* ]]
    refused -n 4 allreduce --kill 4
    [[ $stderr == *"leaves no survivor among 4 ranks; give 0 to 3"* ]]
    refused -n 4 allreduce --cost ether
    refused -n 4 allreduce --topology ring
    refused -n 4 allreduce --detect soon
    refused -n 4 allreduce --kill-kind all
    refused -n 4 allreduce --kill-at noon
    refused -n 4 allreduce --trace --json
    refused -n 4 -f 4 allreduce
    refused -n 4 allreduce --nonsense
}

@test "a full disk is an error" {
    [ -e /dev/full ] || skip "no /dev/full"
    run --separate-stderr bash -c '"$SIM" -n 4 barrier >/dev/full'
    [ "$status" -eq 1 ]
    [[ $stderr == *"cannot write to standard output"* ]]
}

@test "a broken promise: what, and the line that shows it again" {
    run --separate-stderr "$MUTANT" -n 7 -f 2 --set failure_info.scheme=bit allreduce --kill 2 --seed 3
    [ "$status" -eq 3 ]
    [[ $output == *"a promise is broken"* ]]
    [[ ${stderr_lines[0]} == "ftcoll-sim: a promise is broken: "* ]]
    [ "${stderr_lines[1]}" = \
        "replay: ftcoll-sim -n 7 -f 2 --set failure_info.scheme=bit allreduce --kill 2 --seed 3 --trace" ]
    words=${stderr_lines[0]}
    read -ra line <<<"${stderr_lines[1]#replay: ftcoll-sim }"
    run --separate-stderr "$MUTANT" "${line[@]}"
    [ "$status" -eq 3 ]
    [ "${stderr_lines[0]}" = "$words" ]
    [[ $output == *"rank 0  calls allreduce"* ]]
    run --separate-stderr "$MUTANT" -n 7 -f 2 allreduce --json
    [ "$status" -eq 3 ]
    jq -e '.violation | length > 0' <<<"$output"
}

@test "a rank can be followed through a trace" {
    run "$SIM" -n 100 -f 1 barrier --trace
    [ "$(grep -c 'rank 3 ' <<<"$output")" -gt 4 ]
    [ "$(grep -c 'rank 3 .*calls' <<<"$output")" -eq 1 ]
}

@test "no memory is no broken promise" {
    [[ "$("$SIM" --version)" == ftcoll-sim* ]]
    run bash -c "ulimit -v 150000; exec '$SIM' -n 65536 -f 3 allreduce"
    [ "$status" -eq 1 ] || skip "this build cannot run in so little" # the build uses sanitizers
    [[ $output == *"out of memory at 65536 ranks; simulate fewer"* ]]
}

@test "the end of virtual time is no broken promise" {
    run "$SIM" -n 2 -f 0 'allreduce*20000' --bytes 1099511627776 --cost L=1,G=1e12
    [ "$status" -ne 3 ]
    [ "$status" -ne 0 ]
    [[ $output == *"virtual time passes 146 years; give lower costs or fewer operations"* ]]
}
