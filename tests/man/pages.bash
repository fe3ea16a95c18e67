# Shared by the tests of the manual pages. PAGES, FTRUN, STATUS, SIM and PERF come from ctest.
# shellcheck shell=bash disable=SC2034 # what it sets is used by those who load it

# Renders the pages as a reader sees them, but without wrapping, into $TEXT/NAME.SECTION.
render_pages() {
    local name page
    # The environment of the test must not change the result.
    for name in $(compgen -v FTCOLL_); do unset "$name"; done
    export MANWIDTH=2000 XDG_CONFIG_HOME=$BATS_FILE_TMPDIR TEXT=$BATS_FILE_TMPDIR/text
    mkdir "$TEXT"
    for page in "$PAGES"/man*/*; do
        page=${page##*/}
        man -M "$PAGES" "${page##*.}" "${page%.*}" >"$TEXT/$page"
        # Debian's minus signs are real minus signs in some locales only.
        sed -i 's/‐/-/g' "$TEXT/$page"
    done
}

section_of() { # PAGE HEADING: the lines of the section
    awk -v heading="$2" '/^[A-Z]/ { inside = $0 == heading; next } inside' "$TEXT/$1"
}

# Prints the names of a list in a section. A name is a line that is followed by a deeper one. "one,
# two" gives both.
names_of() { # PAGE HEADING
    section_of "$1" "$2" | awk '/^           [^ ]/ && before != "" { print before } { before = "" } /^       [^ ]/ { before = $0 }' |
        sed 's/^ *//; s/, /\n/g'
}

ftrun() { timeout -s KILL 120 "$FTRUN" "$@"; }
status() { timeout -s KILL 60 "$STATUS" "$@"; }
perf() { timeout -s KILL 60 "$PERF" "$@"; }
sim() { timeout -s KILL 60 "$SIM" "$@"; }

# Conditions of a row: the exit code, and what out and err contain.
code() { [ "$ended" -eq "$1" ]; }
out() { grep -qF -- "$1" out; }
err() { grep -qF -- "$1" err; }
lines() { [ "$(wc -l <out)" -eq "$1" ]; }
holds() { jq -ne "input | $1" "$2" >/dev/null; } # jq holds of a file that is not empty

# Waits until 'COMMAND' succeeds, at most 60 s.
wait_until() {
    local end=$((SECONDS + 60))
    until eval "$1"; do
        [ "$SECONDS" -lt "$end" ] || return 1
        sleep 0.02
    done
}

# Walks rows "NAME :: COMMANDS :: CONDITION" from standard input, each in its own directory.
# COMMANDS leave out, err and their exit code, and CONDITION looks at them. A line that begins with
# a blank continues the line before. The rows must have exactly the names in NAMES, one on each
# line, which come from the page. A name without a row fails, and so does a row without a name.
walk() { # NAMES
    local row rows=() names=() number wrong=0
    while IFS= read -r row; do
        if [[ $row == " "* ]]; then
            rows[${#rows[@]} - 1]+=" ${row#"${row%%[! ]*}"}"
        elif [ -n "$row" ]; then
            rows+=("$row")
        fi
    done
    for number in "${!rows[@]}"; do
        names+=("${rows[number]%% :: *}")
        walk_row "$number" "${rows[number]#* :: }" || { echo "in: ${rows[number]}"; wrong=1; }
    done
    diff <(sort -u <<<"$1") <(printf '%s\n' "${names[@]}" | sort -u) || { echo "<: in the page alone; >: in the test alone"; wrong=1; }
    return "$wrong"
}

walk_row() { # NUMBER "COMMANDS :: CONDITION"
    local directory="$BATS_TEST_TMPDIR/$1" commands=${2% :: *} condition=${2##* :: }
    mkdir "$directory"
    (
        export TMPDIR=$directory
        cd "$directory" || exit 1
        ended=0
        (eval "$commands") >out 2>err </dev/null 3>&- || ended=$?
        eval "$condition" && exit 0
        echo "exit code $ended"
        tail -n 5 out err
        exit 1
    )
}

# Sets good and bad to values to try. Fails if ALLOWED says nothing that a test could try.
values_of() { # KEY DEFAULT ALLOWED
    local key=$1 fallback=$2 allowed=$3 words long
    printf -v long '%127s' ""
    long=${long// /a}
    case $allowed in
    *"one or more, separated by commas, each once")
        words=${allowed%%;*}
        IFS=', ' read -r -a good <<<"$words"
        bad=(nonsense "${good[0]},${good[0]}" "${good[0]}," "")
        good+=("${words//, /,}" "${good[1]},${good[0]}")
        ;;
    "at most 127 printable characters"*)
        # This key has a special form.
        if [ "$key" = drill.flip ]; then long=$(printf '0:flow:1@1,%.0s' {1..10})100:flow:1@0/1234; fi
        good=("" "$long")
        bad=("${long}aaaaaaaaaaaaaaaaa" "a b" "a;b")
        ;;
    *"a number above 0 and below "*", as "*)
        read -r -a good <<<"${allowed#*, as }"
        good=("${good[0]}" "${good[2]}" 0.999)
        if [[ $allowed == auto,* ]]; then good+=(auto); fi
        words=${allowed#*below }
        bad=(0 "${words%%,*}" -0.5 nonsense "")
        ;;
    "0.."*" %, preset (0.287 %)")
        good=(0 "$(limit "$allowed")" preset 0.0001)
        bad=("$(limit "$allowed").0001" $(($(limit "$allowed") + 1)) -1 nonsense "")
        ;;
    *[0-9]..[0-9]*)
        good=("${allowed%%..*}" "$(limit "$allowed")")
        bad=($((good[0] - 1)) $((good[1] + 1)) 99999999999999999999 "${good[0]}x" nonsense "")
        ;;
    *", "*)
        IFS=', ' read -r -a good <<<"$allowed"
        bad=(nonsense "${good[0]^^}" "${good[0]}x" "")
        ;;
    *)
        echo "the page does not say what $key may be: \"$allowed\""
        return 1
        ;;
    esac
    if [ "$key" != broadcast.algorithm ]; then good+=("${fallback/#empty/}"); fi
}

limit() { # "0..100 %, ...": 100
    local maximum=${1#*..}
    echo "${maximum%%[^0-9]*}"
}
