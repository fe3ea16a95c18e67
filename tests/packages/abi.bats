#!/usr/bin/env bats
# A program that was linked with an earlier libftcoll of the same soname runs with this one
# (packaging/abi).

setup() {
    ABI=$SOURCE/packaging/abi/abi
    export ABI_DUMPS=$BATS_TEST_TMPDIR
    cp "$SOURCE"/packaging/abi/libftcoll.so.* "$ABI_DUMPS"
    DUMP=$(echo "$ABI_DUMPS"/*."$(uname -m).abi")
    CONSTANTS=$(echo "$ABI_DUMPS"/*.constants)
    run "$ABI" check "$LIBRARY"
    echo "$output"
    [ "$status" -ne 77 ] || skip "$output"
}

breaks() { # WHAT: `abi check` fails and names it
    run "$ABI" check "$LIBRARY"
    echo "$output"
    [ "$status" -eq 1 ]
    [[ $output == *"$1"* ]]
    [[ $output == *"would break"* ]]
}

@test "programs that were linked with it before still run" {
    [ "$status" -eq 0 ]
}

@test "a function that is gone would break them" {
    sed -i 's/ftc_bcast/ftc_broadcast/g' "$DUMP"
    breaks ftc_broadcast
}

@test "a member that is elsewhere would break them" {
    # Moves the member that lies at bit 32 to bit 64.
    sed -i "/class-decl name='ftc_rank_info'/,/class-decl>/s/layout-offset-in-bits='32'/layout-offset-in-bits='64'/" "$DUMP"
    breaks ftc_rank_info
}

@test "a constant of another value would break them" {
    sed -i 's/FTC_EXIT_FENCED 113/FTC_EXIT_FENCED 120/' "$CONSTANTS"
    breaks 'FTC_EXIT_FENCED 120'
}

@test "what is new breaks nobody" {
    sed -i "/elf-symbol name='ftc_version'/d; /function-decl name='ftc_version'/,/function-decl>/d" "$DUMP"
    [[ $(cat "$DUMP") != *ftc_version* ]]
    sed -i '/FTC_EXIT_FENCED/d' "$CONSTANTS"
    run "$ABI" check "$LIBRARY"
    echo "$output"
    [ "$status" -eq 0 ]
}

@test "another soname takes a dump of its own" {
    rm "$DUMP" "$CONSTANTS"
    run "$ABI" check "$LIBRARY"
    [ "$status" -eq 1 ]
    [[ $output == *"there is no dump of libftcoll.so"*"abi renew"* ]]
    "$ABI" renew "$LIBRARY"
    "$ABI" check "$LIBRARY"
}
