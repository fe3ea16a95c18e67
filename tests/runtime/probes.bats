#!/usr/bin/env bats
# Probes for tracers (docs/tracing.md) are in the library, and fire. LIBRARY, LOOP and FTRUN come
# from ctest. PROBES says whether the library was built with them.
# shellcheck disable=SC2016 # expanded by the shell of the rank

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    [ "$PROBES" = yes ] || skip "built without sys/sdt.h (package systemtap-sdt-dev)"
}

# Writes commands.gdb, which prints a line for each probe that fires, with its arguments.
write_commands() {
    local probe
    printf 'set breakpoint pending on\nset debuginfod enabled off\n'
    for probe in "operation__start 3" "operation__end 4" "ballot 4" "failure 3"; do
        # shellcheck disable=SC2086 # two words
        set -- $probe
        printf 'break -probe-stap ftcoll:%s\ncommands\nsilent\nprintf "%s' "$1" "$1"
        printf ' %%d%.0s' $(seq "$2")
        printf '\\n"'
        printf ', $_probe_arg%d' $(seq 0 $(($2 - 1)))
        printf '\ncontinue\nend\n'
    done
    printf 'run\n'
}

needs_gdb() {
    command -v gdb >/dev/null || skip "no gdb"
    write_commands >commands.gdb
}

@test "the library lists its probes" {
    readelf -n "$LIBRARY" | awk '/Provider:/ { provider = $2 } /Name:/ { print provider ":" $2 }' | sort -u >probes
    cat probes
    diff probes <(printf 'ftcoll:%s\n' ballot failure fenced operation__end operation__start)
}

@test "each call of a job of one is told: what it is, its number and size, how it ended" {
    needs_gdb
    timeout -s KILL 60 gdb -nx -q -batch -x commands.gdb --args "$LOOP" 2 >out 2>&1 </dev/null
    grep -E '^(operation__|ballot)' out >told || { cat out; return 1; }
    diff told - <<'X'
operation__start 1 0 16
ballot 0 0 0 1
operation__end 1 0 16 0
operation__start 1 1 16
ballot 1 0 0 2
operation__end 1 1 16 0
operation__start 6 2 0
ballot 2 0 0 3
operation__end 6 2 0 0
X
}

@test "a survivor tells the failure: who, how long after its first sign, why" {
    needs_gdb
    timeout -s KILL 100 "$FTRUN" -np 3 -f 1 --set detector.heartbeat_timeout_ms=20000 sh -c 'case $FTCOLL_RANK in
        0) exec gdb -nx -q -batch -x commands.gdb --args "$LOOP" 100 10;;
        1) "$LOOP" 1000 10 & until grep -q "^operation__end" out; do sleep 0.05; done; kill -KILL $! $$;;
        *) exec "$LOOP" 100 10;; esac' \
        >out 2>&1 </dev/null || { cat out; false; }
    cat out
    [ "$(grep -c '^failure 1 ' out)" -eq 1 ]
    grep -qE '^failure 1 [1-9][0-9]* [1-9][0-9]*$' out
}
