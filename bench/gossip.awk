# Make the tables of bench/gossip from its figures:
#     round,by,np,algorithm,accuracy,median_us,messages,gossip_us,end_us
# Variables: format (text|markdown), by, np, columns (accuracies, separated by commas), rows
# (algorithms, separated by spaces), predict (0|1)

function median(text,    list, count, i, j, swap) {
    count = split(text, list, " ")
    for (i = 1; i <= count; i++) list[i] += 0
    for (i = 1; i <= count; i++)
        for (j = i + 1; j <= count; j++)
            if (list[j] < list[i]) { swap = list[i]; list[i] = list[j]; list[j] = swap }
    return count % 2 ? list[(count + 1) / 2] : (list[count / 2] + list[count / 2 + 1]) / 2
}

# The median of the rounds' ratios, or 0 if there is none.
function ratio(key, other,    round, text) {
    if (key in bad || other in bad) return 0
    for (round = 1; round <= rounds; round++)
        if ((key, round) in one && median(one[other, round]) > 0) text = text " " median(one[key, round]) / median(one[other, round])
    return text == "" ? 0 : median(text)
}

function key_of(algorithm, accuracy) { return way SUBSEP ranks SUBSEP algorithm SUBSEP accuracy }
function exact(algorithm) { return key_of(algorithm, "-") }
function times(number) { return number > 0 ? sprintf("%.1fx", number) : "-" }

function cell(key) {
    if (key in bad) return bad[key]
    return sprintf("%.0f  %s/%s  %.0f  %.0f%%", median(us[key]), times(ratio(key, exact("doubling"))),
                   times(ratio(key, exact("allreduce"))), median(messages[key]), median(share[key]))
}

function line(first, others, count,    i) {
    printf format == "markdown" ? "| %s |" : "%-18s", first
    for (i = 1; i <= count; i++) printf format == "markdown" ? " %s |" : " %32s", others[i]
    print ""
}

function head(    i, rule) {
    print ""
    line("accuracy", column, c)
    for (i = 1; i <= c; i++) rule[i] = "---:"
    if (format == "markdown") line("---", rule, c)
}

function show_exact(algorithm) {
    if (exact(algorithm) in bad) return algorithm " " bad[exact(algorithm)]
    return sprintf("%s %.1f us (%s)", algorithm, median(us[exact(algorithm)]), times(ratio(exact(algorithm), exact("doubling"))))
}

function table(    i, j, cells) {
    printf format == "markdown" ? "\n**%s ranks, %s**\n\n" : "\n%s ranks, %s\n", ranks, way == "board" ? "on the board" : "by messages"
    print "Exact: " show_exact("allreduce") ", " show_exact("doubling") ", " show_exact("rabenseifner") ", " show_exact("voted") "."
    head()
    for (j = 1; j <= r; j++) {
        for (i = 1; i <= c; i++) cells[i] = cell(key_of(row[j], column[i]))
        line(row[j], cells, c)
    }
}

# Wimmer 2016, chapter 5: an algorithm may take at most three times as long as recursive doubling.
# An algorithm that finds flipped bits competes with voting too.
function meets(algorithm, accuracy,    key, factor) {
    key = key_of(algorithm, accuracy)
    factor = ratio(key, exact("doubling"))
    if (factor == 0 || factor > 3) return 0
    if (algorithm !~ /^pf[cl]c$/) return 1
    factor = ratio(key, exact("voted"))
    return factor > 0 && factor <= 1
}

function verdict(    i, j, names) {
    print "\nWorth while (at most 3 times doubling; pflc and pfcc: at most voted, too):"
    if (format == "markdown") print ""
    for (i = 1; i <= c; i++) {
        names = ""
        for (j = 1; j <= r; j++)
            if (meets(row[j], column[i])) names = names (names == "" ? "" : ", ") row[j]
        print "- " column[i] ": " (exact("doubling") in bad ? "unknown without doubling" : names == "" ? "none" : names)
    }
}

# --- prediction: a rank's messages one after the other, each as long as message_time says ---

# Of two ranks, one that waits for an answer has no other rank to send to. So they take turns.
function message_us(algorithm) {
    return ranks == 2 && algorithm != "push-sum" && algorithm ~ /^p/ ? 2 * median(us[exact("message-turns")]) : median(us[exact("message-both")])
}

function doubling_messages(    steps, power) {
    for (power = 1; 2 * power <= ranks; power *= 2) steps++
    return steps + (power < ranks ? 2 : 0)
}

function predicted_exact(algorithm,    factor) {
    factor = algorithm == "voted" ? 3 : algorithm == "rabenseifner" ? 2 : 1
    return factor * doubling_messages() * message_us(algorithm)
}

# The end of a gossip aggregation is two agreements, and each takes as long as an allreduce.
function predicted(key, algorithm) {
    return median(messages[key]) * message_us(algorithm) + 2 * median(us[exact("allreduce")])
}

function compared(key, guess, kind,    factor) {
    if (key in bad || guess <= 0) return "-"
    factor = median(us[key]) / guess
    off[kind] = off[kind] " " factor
    return sprintf(guess < 9.5 ? "%.1f  %.2fx" : "%.0f  %.2fx", guess, factor)
}

function prediction(    i, j, cells, text) {
    if (exact("message-both") in bad || exact("message-turns") in bad) return
    printf "\nPredicted us, and how many times as long it took; a message takes %.1f us, %.1f us in turns.\n", median(us[exact("message-both")]), median(us[exact("message-turns")])
    for (j = 1; j <= e; j++)
        text = text (j > 1 ? ", " : "") baseline[j] " " compared(exact(baseline[j]), predicted_exact(baseline[j]), "exact")
    print "Exact: " text "."
    head()
    for (j = 1; j <= r; j++) {
        for (i = 1; i <= c; i++) cells[i] = compared(key_of(row[j], column[i]), predicted(key_of(row[j], column[i]), row[j]), "gossip")
        line(row[j], cells, c)
    }
}

function off_by(kind,    list, count, i, least, most) {
    count = split(off[kind], list, " ")
    if (count == 0) return
    least = most = list[1] + 0
    for (i = 2; i <= count; i++) {
        if (list[i] + 0 < least) least = list[i] + 0
        if (list[i] + 0 > most) most = list[i] + 0
    }
    printf "Measured / predicted, %s: median %.2f, from %.2f to %.2f.\n", kind, median(off[kind]), least, most
}

NR == 1 { next }
{ key = $2 SUBSEP $3 SUBSEP $4 SUBSEP $5 }
$6 !~ /^[0-9]/ { bad[key] = $6; next }
{
    if ($1 > rounds) rounds = $1
    one[key, $1] = one[key, $1] " " $6
    us[key] = us[key] " " $6; messages[key] = messages[key] " " $7
    share[key] = share[key] " " ($8 + $9 > 0 ? 100 * $9 / ($8 + $9) : 0)
}
END {
    w = split(by, ways, ","); n = split(np, sizes, ","); c = split(columns, column, ","); r = split(rows, row, " ")
    e = split("doubling rabenseifner voted", baseline, " ")
    for (v = 1; v <= w; v++)
        for (s = 1; s <= n; s++) {
            way = ways[v]; ranks = sizes[s]
            table()
            verdict()
            if (predict && way == "messages") prediction()
        }
    if (off["gossip"] != "" || off["exact"] != "") print ""
    off_by("gossip"); off_by("exact")
}
