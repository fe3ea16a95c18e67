# What the tests of the manual pages share. PAGES, FTRUN, STATUS, SIM and PERF come from ctest.
# shellcheck shell=bash

# Pages as a reader sees them, but that nothing is wrapped: $TEXT/NAME.SECTION.
render_pages() {
    local name page
    command -v man >/dev/null || skip "there is no man"
    # What the surroundings of the test set must not change it.
    for name in $(compgen -v FTCOLL_); do unset "$name"; done
    export MANWIDTH=2000 XDG_CONFIG_HOME=$BATS_FILE_TMPDIR TEXT=$BATS_FILE_TMPDIR/text
    mkdir "$TEXT"
    for page in "$PAGES"/man*/*; do
        page=${page##*/}
        man -M "$PAGES" "${page##*.}" "${page%.*}" >"$TEXT/$page"
        # Debian's minus signs are such in some locales only.
        sed -i 's/‐/-/g' "$TEXT/$page"
    done
}

section_of() { # PAGE HEADING: its lines
    awk -v heading="$2" '/^[A-Z]/ { inside = $0 == heading; next } inside' "$TEXT/$1"
}
