#!/usr/bin/env bats
# A large alltoall lends the caller's input to messages until the call ends. FTRUN and LENT_APP come
# from ctest. If messages read the input later, their rank dies.

setup() {
    export TMPDIR=$BATS_TEST_TMPDIR XDG_CONFIG_HOME=$BATS_TEST_TMPDIR
    # A rank that stands still has not failed.
    printf "[detector]\nheartbeat_timeout_ms = 60000\n" >"$XDG_CONFIG_HOME/ftcoll.ini"
}

# gives_back OPTION...: the inputs are given back by each form of the call
gives_back() {
    local form
    for form in blocking non-blocking; do
        head -c 4096 /dev/zero >"$TMPDIR/notes"
        run timeout -s KILL 60 "$FTRUN" -np 4 --timeout 40 --set collectives.algorithm=corrected \
            --set collectives.large=ring "$@" "$LENT_APP" "$form" "$TMPDIR/notes" 3>&-
        echo "$form: exit $status: $output"
        [ "$(grep -c "lent_app: done" <<<"$output")" -eq 4 ]
    done
}

@test "a revoke gives inputs back while parts wait for room in rings of messages" {
    gives_back
}

# Sealed, since then the rank itself reads what it sends. Otherwise the kernel does, and refuses.
@test "a revoke gives inputs back while parts wait for room in sockets" {
    gives_back --set transport.order=tcp --set transport.seal=encrypt
}
