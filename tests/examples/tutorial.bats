#!/usr/bin/env bats
# Follows docs/tutorial.md and docs/mpi.md section by section. Each listing compiles. Each command runs, and prints
# what the text promises. FTRUN, STATUS, FTCC (a folder), SOURCE,
# LIBRARY (a folder) and CFLAGS come from ctest.
# shellcheck disable=SC2016,SC2030,SC2031,SC2153,SC2154 # conditions to wait for; each test is a subshell; of ctest and bats

# shellcheck source-path=SCRIPTDIR source=../launcher/helper.bash
source "$BATS_TEST_DIRNAME/../launcher/helper.bash"

setup_file() {
    export WORK=$BATS_FILE_TMPDIR/work
    mkdir -p "$WORK" "$BATS_FILE_TMPDIR/bin"
    # The programs look as if they were installed.
    ln -s "$FTRUN" "$STATUS" "$FTCC/ftcc" "$BATS_FILE_TMPDIR/bin"
    printf 'Name: ftcoll\nDescription: built\nVersion: 0\nCflags: -I%s -Wall -Wextra -Werror\nLibs: %s -L%s -lftcoll -Wl,-rpath,%s\n' \
        "$SOURCE/include" "$CFLAGS" "$LIBRARY" "$LIBRARY" >"$BATS_FILE_TMPDIR/ftcoll.pc"
    export PATH=$BATS_FILE_TMPDIR/bin:$PATH PKG_CONFIG_PATH=$BATS_FILE_TMPDIR
    # Without these variables Open MPI refuses root, and more processes than cores.
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
}

# blocks SECTION [GUIDE]: writes its listings to numbered files (01.c.mean.c, 02.sh. and so on), in
# order. The guide is docs/tutorial.md, or another file of docs.
blocks() {
    mkdir blocks
    awk -v section="$1" '
        /^```/ && name != "" { close(name); name = ""; next }
        name != "" { print > name; next }
        /^## / { here = index($0, "## " section) == 1; next }
        here && /^```/ { name = sprintf("blocks/%02d.%s.%s", ++count, substr($1, 4), $2); printf "" > name }
        END { exit count == 0 }' "$SOURCE/docs/${2:-tutorial.md}"
}

# Each line of FILE is one of the lines of $said. A * in it stands for anything.
said_all() {
    local line found one
    while read -r line; do
        found=
        while IFS= read -r one; do
            # shellcheck disable=SC2053 # a pattern
            [[ $one != ${line//\[/\\[} ]] || found=yes
        done <<<"$said"
        [ -n "$found" ] || { echo "not said: $line"; return 1; }
    done <"$1"
}

follow() { # SECTION [GUIDE]
    local block
    blocks "$@"
    for block in blocks/*; do
        case ${block#blocks/??.} in
        c.*) cp "$block" "$WORK/${block#blocks/??.c.}" ;;
        diff.*) (cd "$WORK" && patch "${block#blocks/??.diff.}") <"$block" ;;
        sh.)
            said=$(cd "$WORK" && timeout -s KILL 120 bash -euo pipefail "$OLDPWD/$block" 2>&1) || { echo "$said"; return 1; }
            echo "$said"
            ;;
        text.) said_all "$block" ;;
        *) echo "what is $block?"; return 1 ;;
        esac
    done
}

@test "the loop in MPI, which dies with any of its processes" {
    command -v mpicc && command -v mpiexec || skip "no MPI"
    follow "The loop in MPI"
    mpiexec -n 4 "$WORK/mean_mpi" >out 2>err 3>&- &
    pid=$!
    started+=("$pid")
    ranks() { local one; for one in $(pgrep -x mean_mpi); do [ "$(readlink "/proc/$one/exe")" != "$WORK/mean_mpi" ] || echo "$one"; done; }
    wait_until '[ "$(ranks | wc -l)" -eq 4 ]'
    kill -9 "$(ranks | head -n 1)"
    finish
    [ "$status" -ne 0 ]
    wait_until '[ -z "$(ranks)" ]'
    [ "$(grep -c '^rank' out)" -lt 3 ]
}

@test "step 1: the loop lives" {
    follow "Step 1"
    [ "$(grep -c '^rank .: 499.500$' <<<"$said")" -eq 4 ]
    [ "$(grep -c '^rank .: 499.000$' <<<"$said")" -eq 3 ]
}

@test "step 2: it knows what it lacks" {
    follow "Step 2"
    [ "$(grep -c '^rank .: 499.000 of 750 numbers, 1 failed$' <<<"$said")" -eq 3 ]
}

@test "step 3: survivors do the work of the dead" {
    follow "Step 3"
    [ "$(grep -c '^rank .: 499.500 of 1000 numbers' <<<"$said")" -eq 8 ]
    [ "$(wc -l <"$WORK/mean.c")" -le 60 ] # as the tutorial promises
}

@test "a grid that survives deaths" {
    follow "A grid that survives deaths"
    [ "$(grep -c '^rank .: failed: 1 of 9' <<<"$said")" -eq 8 ]
    [ "$(grep -c '^rank .: 2 x 2' <<<"$said")" -eq 4 ]
    diff "$WORK/grid.c" "$SOURCE/examples/grid.c"
}

@test "when it fails" {
    follow "When it fails"
    cd "$WORK"
    start -np 4 sh -c '[ $FTCOLL_RANK != 2 ] || sleep 60; exec ./mean'
    # As the text says of ftcoll-status.
    wait_until 'ftcoll-status "$pid" | grep -q "finally wait for rank 2"'
    kill "$pid"
    finish
}

@test "a program of MPI survives unchanged" {
    follow "A program that survives unchanged" mpi.md
}

@test "a program of MPI goes on without the dead" {
    follow "A program that goes on without the dead" mpi.md
}
