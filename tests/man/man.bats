#!/usr/bin/env bats
# The manual pages say everything that the programs and the header offer.
# shellcheck disable=SC2153,SC2154 # bats and ctest set variables

load pages

setup_file() {
    render_pages
}

options_of() { # COMMAND...: options that its --help names
    "$@" --help | grep -E '^ +-' | sed 's/^ *//; s/   .*$//' | grep -oE '(^|[ ,])--?[a-z][a-z-]*' | tr -d ' ,'
}

has_options() { # PAGE OPTION...: each has an entry of its own
    local page=$1 option
    shift
    [ $# -gt 3 ]
    for option; do
        grep -qE "^ {7}(-.*, )?$option( |,|$)" "$TEXT/$page" || { echo "$page lacks $option"; return 1; }
    done
}

@test "every option that --help names is in its page" {
    local command
    # shellcheck disable=SC2046 # a list of words
    {
        has_options ftrun.1 $(options_of "$FTRUN")
        has_options ftcoll-status.1 $(options_of "$STATUS")
        has_options ftcoll-perf.1 $(options_of "$PERF")
        for command in $("$SIM" --help | sed -n 's/^  \([a-z]\+\) .*/\1/p' | grep -v ftcoll); do
            echo "$command"
            grep -q "^   $command$" "$TEXT/ftcoll-sim.1"
            has_options ftcoll-sim.1 $(options_of "$SIM" "$command")
        done
    }
    [ "$command" = sweep ]
}

@test "every key of the configuration is in ftcoll.ini(5), in its section" {
    "$FTRUN" --print-config --all | sed -n 's/^\(\[.*\]\)$/\1/p; s/^\([a-z_]*\) =.*/\1/p' >"$BATS_TEST_TMPDIR/keys"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/keys")" -gt 60 ]
    # Takes every word that stands where sections and keys stand. Drops broadcast.algorithm, which
    # is no key.
    sed -n '/^SECTIONS AND KEYS/,/^EXAMPLES/s/^ \{3,7\}\(\[[a-z_]*\]\|[a-z_]*\)$/\1/p' "$TEXT/ftcoll.ini.5" |
        awk '/^\[/ { section = $0 } section != "[broadcast]" || $0 != "algorithm"' >"$BATS_TEST_TMPDIR/told"
    diff "$BATS_TEST_TMPDIR/keys" "$BATS_TEST_TMPDIR/told"
}

@test "help texts fit 80 columns" {
    local command
    for command in "$FTRUN" "$STATUS" "$PERF" "$SIM" "$SIM "{run,storm,explore,gossip,nodes,large,sweep,reach,broadcast,replay}; do
        $command --help >"$BATS_TEST_TMPDIR/help"
        [ -s "$BATS_TEST_TMPDIR/help" ]
        awk -v command="$command" 'length > 80 { print command ": " $0; wide = 1 } END { exit wide }' "$BATS_TEST_TMPDIR/help"
    done
}

@test "every exit code is in ftcoll(7) and ftrun(1)" {
    local name code count=0
    while read -r _ name code _; do
        grep -q "^ *$name ($code)$" "$TEXT/ftcoll.7"
        grep -q "^ *$name ($code)$" "$TEXT/ftrun.1"
        count=$((count + 1))
    done < <(grep '^#define FTC_EXIT_' "$SOURCE/include/ftcoll.h")
    [ "$count" -ge 5 ]
    # The codes of ftrun itself, which its --help lists.
    for code in $("$FTRUN" --help | sed -n '/^Exit code/,/^Settings/p' | grep -oE '\b[1-9][0-9]*\b'); do
        grep -qE "^ {7}($code|[0-9, ]*\b$code)\b" "$TEXT/ftrun.1" || { echo "ftrun.1 lacks $code"; return 1; }
    done
}

@test "every page that a page refers to is there" {
    local page
    while read -r page; do
        page=${page%)}
        [ -e "$TEXT/${page/(/.}" ] || { echo "there is no $page)"; return 1; }
    done < <(grep -ohE "\\bft[a-z_.-]*\\([1-8]\\)" "$TEXT"/* | sort -u)
}

@test "pages are found by what they are about" {
    local page
    for page in "$TEXT"/*; do
        sed -n '/^NAME$/{n;p}' "$page" | grep -qE '^ {7}[a-z_.,&+ -]+ - [a-z]' || { echo "$page"; return 1; }
    done
}

@test "formatters have nothing to say about a page" {
    local page
    for page in "$PAGES"/man*/*; do
        [[ $(head -c 4 "$page") != ".so " ]] || continue
        run man --warnings -l "$page"
        [ "$status" -eq 0 ]
        [ -z "$(man --warnings -l "$page" 2>&1 >/dev/null)" ]
        if command -v mandoc >/dev/null; then mandoc -T lint -W error "$page"; fi
    done
}

functions() { # the functions of the header
    grep -o '^FTC_API [a-z ]*\*\?ftc_[a-z_]*' "$SOURCE/include/ftcoll.h" | grep -o 'ftc_[a-z_]*$'
}

@test "every public function has a page, and is in its name and its synopsis" {
    local function count=0
    for function in $(functions); do
        echo "$function"
        [ -s "$TEXT/$function.3" ]
        sed -n '/^NAME$/{n;p}' "$TEXT/$function.3" | grep -qE "[ ,]${function}[ ,]"
        sed -n '/^SYNOPSIS$/,/^DESCRIPTION$/p' "$TEXT/$function.3" | grep -q "[ *]${function}("
        grep -q "\b$function\b" "$TEXT/ftcoll.7"
        count=$((count + 1))
    done
    [ "$count" -gt 15 ]
}

@test "a page's prototypes are those of the header" {
    local function of
    for function in $(functions); do
        of=$(tr -s '\n ' ' ' <"$SOURCE/include/ftcoll.h" | grep -o "FTC_API [a-z ]*\*\?$function([^;]*);")
        echo "$of"
        sed -n '/^SYNOPSIS$/,/^DESCRIPTION$/p' "$TEXT/$function.3" | tr -s '\n ' ' ' | grep -qF "${of#FTC_API }"
    done
}

@test "every constant and type of the header is in a page" {
    local name
    while read -r name; do
        grep -qw "$name" "$TEXT"/*.3 "$TEXT/ftcoll.7" || { echo "no page has $name"; return 1; }
    done < <(grep -oE '\bFTC_[A-Z0-9_]+\b' "$SOURCE/include/ftcoll.h" |
        grep -vxE 'FTC_(API|MARK|ERRORS|ERROR_ENUM|ERR_|EXIT_)' | sort -u)
}

@test "examples are in their pages as they are, and fit a terminal" {
    local example
    for example in "$SOURCE"/man/examples/*.c; do
        echo "$example"
        [ "$(wc -L <"$example")" -le 69 ] # the page adds 11
        cat "$TEXT"/*.3 | sed 's/^ \{11\}//' >"$BATS_TEST_TMPDIR/all"
        [[ $(cat "$BATS_TEST_TMPDIR/all") == *"$(cat "$example")"* ]]
    done
}

@test "nothing is wider than a terminal" {
    local page
    for page in "$PAGES"/man*/*; do
        [[ $(head -c 4 "$page") != ".so " ]] || continue
        page=${page##*/}
        [ "$(MANWIDTH=80 man -M "$PAGES" "${page##*.}" "${page%.*}" | LC_ALL=C.UTF-8 wc -L)" -le 80 ] || { echo "$page"; return 1; }
    done
}
