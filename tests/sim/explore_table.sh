#!/bin/bash
# Explores many small communicators exhaustively, and prints a table of what was seen. Fails if a
# promise is broken or a limit was reached.
#   explore_table.sh PART
# PART is
#   quick     the part of every test run
#   all       the full table of one level, without the rows of large
#   large     rows that take minutes and gigabytes each
#   levels    operations over two levels
#   exchange  first ballots by recursive doubling
#   communicators  programs over the world and its children
# SIM is ftcoll-sim.
set -uo pipefail

bad=0
printf '%-76s %11s %12s %9s %8s %7s\n' 'ftcoll-sim explore' states transitions terminal seconds GiB

row() {
    local out rc
    out=$("$SIM" explore --memory 16 "$@") && rc=0 || rc=$?
    printf '%-76s %11s %12s %9s %8s %7s\n' "$*" $(awk '
        /^states/ { s = $2 } /^transitions/ { t = $2 } /^terminal/ { e = $3 } /^time/ { x = $2 } /^memory/ { m = $2 }
        END { print s, t, e, x, m }' <<<"$out")
    if [ "$rc" -ne 0 ]; then
        bad=$((bad + 1))
        printf '%s\n' "$out"
    fi
}

# core F OPERATION...: rows with up to 4 ranks, f up to F, 3 crashes, `list` and `bit`.
core() {
    local n f scheme most=$1
    shift
    for n in 2 3 4; do
        for ((f = 0; f < n && f <= most; f++)); do
            for scheme in list bit; do
                row -n "$n" -f "$f" --crashes 3 --scheme "$scheme" "$@"
            done
        done
    done
}

# The same operations under other settings.
settings() {
    local setting
    for setting in share=off scheme=count; do
        row -n 4 -f 1 --crashes 3 --set "failure_info.$setting" "$@"
    done
    row -n 4 -f 1 --crashes 3 --direct 4 "$@"
    row -n 4 -f 1 --crashes 3 --direct 3 --scheme bit "$@"
    row -n 4 -f 1 --crashes 3 --take first "$@"
    row -n 4 -f 1 --crashes 3 --take lowest "$@"
    row -n 4 -f 1 --crashes 3 --rotation spread "$@"
    row -n 4 -f 1 --crashes 3 --prepare tree "$@"
    row -n 4 -f 2 --crashes 3 --prepare tree --scheme bit "$@"
    row -n 4 -f 2 --crashes 3 --reduce-tree chain "$@"
    row -n 4 -f 1 --crashes 3 --dissemination kary --arity 3 "$@"
    row -n 3 -f 1 --crashes 2 --correction checked "$@"
}

communicators() {
    local program
    for program in 'iallreduce dup iallreduce@child' 'isplit iallreduce split@child' 'split allreduce@child allreduce' \
        'create iallreduce allreduce@child' 'create:0+2 iallreduce@child iallreduce' 'icreate:0+2 allreduce free@child' \
        'shrink bcast:1@child free@child' 'dup iallreduce@child iallreduce free@child' \
        'dup revoke:1@child allreduce@child shrink:after@child' 'revoke:0 allreduce shrink:after' \
        'revoke create:0+2 validate:after' 'idup revoke allreduce@child'; do
        row -n 3 -f 1 --crashes 2 --program "$program"
    done
    row -n 3 -f 1 --program 'dup icreate:0+2@child revoke:1@1 free@1'
    row -n 3 -f 1 --crashes 2 --threads 2 --program 'dup idup allreduce@1'
    row -n 4 -f 1 --program 'split allreduce@child allreduce'
    row -n 4 -f 1 --program 'create:0+2 iallreduce@child allreduce'
    row -n 4 -f 2 --crashes 2 --program 'create:0+2 iallreduce@child'
}

quick() {
    core 1 allreduce bcast:1 allreduce
    row -n 4 -f 2 --crashes 3 allreduce bcast:1 allreduce
    row -n 3 -f 1 --crashes 2 --settle-every 2 bcast:0 bcast:1 bcast:0
    row -n 3 -f 1 --crashes 2 reduce:0 validate barrier
    row -n 4 -f 1 --crashes 2 --take first allreduce\*2
    row -n 4 -f 1 --crashes 2 --take lowest allreduce\*2
    row -n 4 -f 0 --crashes 3 --direct 4 allreduce bcast:1 allreduce
    row -n 3 -f 1 --crashes 2 --direct 3 reduce:0 validate reduce:1
    row -n 3 -f 1 --crashes 2 reduce:0\*3 # settlements
    row -n 4 -f 0 --crashes 2 reduce:0\*2
    row -n 4 -f 1 --doubling 4 --crashes 2 allreduce validate
    row -n 4 -f 1 --crashes 2 allgather gather:1
    row -n 3 -f 1 --crashes 2 scatter:1 reduce-ordered:0 allgather
}

all() {
    core 2 allreduce bcast:1 allreduce
    core 2 bcast:0 allreduce bcast:1
    core 2 allreduce\*3
    core 2 reduce:0 validate reduce:1
    core 2 bcast:0 bcast:1 bcast:0 --settle-every 2
    core 2 allgather scatter:1 gather:0
    settings allreduce bcast:1 allreduce
    settings bcast:0 bcast:1 allreduce
    row -n 5 -f 1 --crashes 2 --scheme bit allreduce allreduce
    row -n 5 -f 1 --crashes 2 --scheme bit --prepare tree allreduce
    row -n 4 -f 1 --crashes 2 allreduce bcast:1 allreduce bcast:0
}

large() {
    row -n 5 -f 1 --crashes 3 --scheme bit allreduce allreduce
    row -n 5 -f 1 --crashes 3 --scheme bit bcast:1 allreduce
    row -n 5 -f 2 --crashes 2 --scheme bit allreduce allreduce
}

# Operations over two levels (docs/design/nodes.md).
levels() {
    local f
    for f in 0 1 2; do
        row -n 4 -f "$f" --nodes 2 --crashes 3 allreduce\*3
        row -n 4 -f "$f" --nodes 2 --crashes 3 allreduce bcast:1 allreduce
        row -n 4 -f "$f" --nodes 2 --crashes 3 reduce:1 validate bcast:2 validate
        row -n 4 -f "$f" --nodes 3 --crashes 3 allreduce bcast:1 allreduce
    done
    row -n 4 -f 1 --nodes 2 --crashes 3 --rotation spread allreduce\*3
    row -n 4 -f 1 --nodes 2 --crashes 3 --prepare tree allreduce\*3
    row -n 4 -f 1 --nodes 2 --crashes 3 --share off allreduce\*3
    row -n 5 -f 1 --nodes 2 --crashes 2 allreduce\*2
    row -n 5 -f 1 --nodes 3 --crashes 2 allreduce barrier
    row -n 6 -f 1 --nodes 2 --crashes 2 allreduce
    row -n 6 -f 1 --nodes 3 --crashes 2 allreduce
    row -n 4 -f 1 --nodes 2 --crashes 3 bcast:1\*4
    row -n 4 -f 1 --nodes 2 --crashes 3 --settle-every 2 bcast:1\*3 reduce:3
    row -n 4 -f 1 --nodes 2 --crashes 3 bcast:1 reduce:2 bcast:1 validate
    row -n 5 -f 1 --nodes 2 --crashes 2 bcast:2 bcast:0 bcast:2
    row -n 5 -f 1 --nodes 3 --crashes 2 bcast:1 reduce:3
    row -n 6 -f 1 --nodes 3 --crashes 2 bcast:3
}

# Every rank decides by itself (docs/design/agreement.md, rule 2, "Exchange").
exchange() {
    local f
    for f in 0 1 2; do
        row -n 4 -f "$f" --doubling 4 --crashes 3 allreduce\*2
        row -n 4 -f "$f" --doubling 4 --crashes 1 allreduce bcast:1 validate
        row -n 4 -f "$f" --doubling 3 --crashes 3 allreduce\*2
        row -n 3 -f "$f" --doubling 3 --crashes 2 allreduce\*3
    done
    row -n 4 -f 1 --doubling 4 --crashes 3 --rotation spread --prepare tree allreduce\*2
    row -n 4 -f 1 --doubling 4 --direct 4 --crashes 3 allreduce\*2
    row -n 5 -f 1 --doubling 5 --crashes 2 allreduce
    row -n 5 -f 1 --doubling 4 --crashes 1 allreduce\*2
    row -n 6 -f 1 --doubling 6 --crashes 1 allreduce
    row -n 4 -f 1 --doubling 4 --crashes 2 allgather scan
    for f in 0 1 2; do
        row -n 4 -f "$f" --nodes 2 --doubling 2 --crashes 3 allreduce\*3
        row -n 4 -f "$f" --nodes 3 --doubling 3 --crashes 2 allreduce bcast:1 validate
    done
    row -n 6 -f 1 --nodes 3 --doubling 3 --crashes 2 allreduce
}

case ${1-} in
quick | all | large | levels | exchange | communicators) "$1" ;;
*)
    echo "usage: explore_table.sh quick|all|large|levels|exchange|communicators" >&2
    exit 2
    ;;
esac
[ "$bad" -eq 0 ]
