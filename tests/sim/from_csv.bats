#!/usr/bin/env bats
# ftcoll-sim reads its own tables again (--from-csv). SIM is the program.

bats_require_minimum_version 1.5.0

sweep=(sweep -n "4,8" -f 0..2 --kills "0,f" --repeat 3 allreduce reduce)
broadcast=(broadcast -n "16,32" --failed "0,1" --loss "0,10" --repeat 2 -C "lame+checked,ocg,multicast+ring,baselines")
stalls=(sweep -n 8 --stall "1@1us:1us..4us,1ms" reduce)
ranks=(broadcast -n "8,16" --failed "0,9" --loss "0,10" --repeat 2 -C "lame+none,multicast+ring" --per-rank)
gossip=(gossip -n "8,16" -a "pfcc,doubling" --flip any:flow:0@20 --bits "0,60..63" -r 2)

setup() {
    work=$(mktemp -d)
}

teardown() {
    rm -rf "$work"
}

read_again() { # FILE COMMAND...
    local file=$1
    shift
    run --separate-stderr "$SIM" "$@" --from-csv "$file"
}

refused() { # WORDS COMMAND...: the table is in $work/table; the error has these words
    local words=$1
    shift
    read_again "$work/table" "$@"
    [ "$status" -eq 1 ]
    # shellcheck disable=SC2154 # stderr is of bats
    [[ "$stderr" == *"--from-csv $work/table"*"$words"* ]] || {
        echo "$stderr"
        return 1
    }
}

@test "a table that is read again is printed as it was" {
    "$SIM" "${sweep[@]}" >"$work/sweep"
    "$SIM" "${stalls[@]}" >"$work/stalls"
    "$SIM" "${broadcast[@]}" >"$work/broadcast"
    "$SIM" "${ranks[@]}" >"$work/ranks"
    "$SIM" "${gossip[@]}" >"$work/gossip"
    "$SIM" "${sweep[@]}" --from-csv "$work/sweep" | cmp - "$work/sweep"
    "$SIM" "${stalls[@]}" --from-csv "$work/stalls" | cmp - "$work/stalls"
    "$SIM" "${broadcast[@]}" --from-csv "$work/broadcast" | cmp - "$work/broadcast"
    "$SIM" "${ranks[@]}" --from-csv "$work/ranks" | cmp - "$work/ranks"
    "$SIM" "${gossip[@]}" --from-csv "$work/gossip" | cmp - "$work/gossip"
}

@test "what it draws is in the file: nothing is run" {
    command -v gnuplot >/dev/null || skip "no gnuplot"
    "$SIM" sweep -n 4,8 allreduce | sed 's/^allreduce,rdma,8,1,0,1,[0-9]*/allreduce,rdma,8,1,0,1,99000000/' >"$work/table"
    read_again "$work/table" sweep -n 4,8 --plot "$work/x.svg" allreduce
    [ "$status" -eq 0 ]
    [[ "$output" == *,99000000,* ]]
    grep -q "100 ms" "$work/x.svg" # on the axis
}

@test "a table of other options, cut off or too long is refused" {
    "$SIM" "${sweep[@]}" >"$work/whole"
    cp "$work/whole" "$work/table"
    refused "line 2 should begin with \"allreduce,rdma,16,0,0,\"" sweep -n 16 -f 0 allreduce
    refused "is of no row" sweep -n 4,8 -f 0 allreduce
    head -n 5 "$work/whole" >"$work/table"
    refused "is missing after line 5" "${sweep[@]}"
    refused "its first line is not that of this table" "${broadcast[@]}"
    : >"$work/table"
    refused "its first line is not that of this table" "${gossip[@]}"
    "$SIM" "${broadcast[@]}" >"$work/table"
    refused "its first line is not that of this table" "${ranks[@]}"
    rm "$work/table"
    refused "No such file" "${gossip[@]}"
}

@test "fields that are no numbers, too few or too many are damage" {
    "$SIM" "${sweep[@]}" >"$work/whole"
    local row
    row=$(sed -n 2p "$work/whole")
    for damage in "${row%,*}" "$row,1" "${row%,*}," "${row%,*},x" "${row%,*},-1" "${row%,*},4294967296" \
        "${row%,*},99999999999999999999999999" "${row%,*},$(printf '%0200d' 0)"; do
        awk -v row="$damage" 'NR == 2 { print row; next } { print }' "$work/whole" >"$work/table"
        refused "line 2 is damaged" "${sweep[@]}"
    done
}
