#!/usr/bin/env bats
# libftcoll exports exactly what ftcoll.h declares, with the version of the interface.

exported() { # VERSION
    nm -D --defined-only "$LIBRARY" | sed -n "s/.* T \(.*\)@@$1\$/\1/p" | sort
}

@test "the public functions are exported, and all of them have the version of the interface" {
    exported 'FTCOLL_[0-9.]*' >"$BATS_TEST_TMPDIR/exported"
    # A public function has a docstring in the manual, as man/expand.awk reads it.
    grep -o '^FTC_API [a-z ]*\*\?ftc_[a-z_]*' "$SOURCE/include/ftcoll.h" | grep -o 'ftc_[a-z_]*$' | sort >"$BATS_TEST_TMPDIR/declared"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/declared")" -gt 15 ]
    diff "$BATS_TEST_TMPDIR/declared" "$BATS_TEST_TMPDIR/exported"
}

@test "nothing else is exported" {
    nm -D --defined-only "$LIBRARY" >"$BATS_TEST_TMPDIR/all"
    run grep -vE " A | T ftc_[a-z_]+@@FTCOLL_[0-9.]+\$" "$BATS_TEST_TMPDIR/all"
    echo "$output"
    [ "$status" -eq 1 ] # no line is left
}

@test "the soname is that of the major version" {
    [[ $(readelf -d "$LIBRARY") == *"soname: [libftcoll.so.${VERSION%%.*}]"* ]]
}
