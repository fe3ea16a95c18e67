# Draw a trace of `ftrun --trace`, which has an event in each line, as an SVG: bench/draw-trace. The
# events come in the order of their times.
# Times are in microseconds. Variables: from, to (milliseconds, or ""), width, title
BEGIN {
    left = 62     # room for the names of ranks
    right = 28    # and for half of the last number
    top = 34
    high = 26     # pixels of a row
    axis = -1     # the first event
    colours = split("#0072b2 #e69f00 #009e73 #cc79a7 #d55e00 #56b4e9 #8c6bb1 #7f7f7f", palette, " ")
}

# The value of a member of the event, without quotes; "" if it has none.
function member(key,    text) {
    if (!match($0, "\"" key "\":(\"[^\"]*\"|[-0-9.e+]+)")) return ""
    text = substr($0, RSTART + length(key) + 3, RLENGTH - length(key) - 3)
    gsub(/"/, "", text)
    return text
}

function least(a, b) { return a < b ? a : b }
function most(a, b) { return a > b ? a : b }

function quote(words) {
    gsub(/&/, "\\&amp;", words)
    gsub(/</, "\\&lt;", words)
    gsub(/>/, "\\&gt;", words)
    return words
}

/^\{"ts":/ {
    phase = member("ph")
    if (phase != "X" && member("cat") !~ /^(death|notice)$/) next
    at = member("ts") + 0
    rank = member("pid") + 0
    ranks = most(ranks, rank + 1)
    n = ++events
    start[n] = end[n] = at
    row[n] = rank
    what[n] = member("name")
    sub(/^i/, "", what[n]) # a request of that kind
    if (phase == "X") {
        end[n] = at + member("dur")
        waits[n] = member("waited_since_us")
    } else mark[n] = what[n]
    if (axis < 0 || at < axis) axis = at
    last = most(last, end[n])
}

function x(time) { return left + (time - begin) * (width - left - right) / (finish - begin) }
function y(rank) { return top + rank * high }

# A bar of a class, from one time to another, on a line of its row.
function bar(n, a, b, class,    tall) {
    tall = (high - 6) / tracks[row[n]]
    a = most(x(a), left)
    b = least(x(b), width - right)
    printf "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>\n", class, a,
        y(row[n]) + 3 + track[n] * tall, most(b - a, .6), most(tall - (tracks[row[n]] > 1), 1)
}

function is_seen(n) { return end[n] >= begin && start[n] <= finish }

# Operations of a rank that overlap get a line each: the first one that is free.
function find_line(n,    l) {
    for (l = 0; busy[row[n], l] > start[n] + .01; l++);
    busy[row[n], l] = end[n]
    track[n] = l
    tracks[row[n]] = most(tracks[row[n]], l + 1)
}

function put_operation(n,    since, class) {
    if (!(what[n] in kind)) {
        kinds[++kind_count] = what[n]
        kind[what[n]] = (kind_count - 1) % colours + 1
    }
    class = "k" kind[what[n]]
    since = waits[n] == "" ? end[n] : most(start[n], least(waits[n] + 0, end[n]))
    if (since >= begin) bar(n, start[n], least(since, finish), class)
    if (since < end[n] && since < finish) bar(n, most(since, begin), end[n], class " w")
}

function put_mark(n,    px, py) {
    px = x(start[n])
    py = y(row[n]) + high / 2
    if (mark[n] == "death")
        printf "<path class=\"x\" d=\"M%.1f %.1fl12 12m0 -12l-12 12\"/>\n", px - 6, py - 6
    else
        printf "<path class=\"n\" d=\"M%.1f %.1fv%d\"/>\n", px, y(row[n]), high
}

# The steps of the axis are 1, 2 or 5 times a power of ten, and at most ten.
function put_axis(    step, t) {
    for (step = .01; (finish - begin) / step > 10; ) step *= ++turn % 3 == 2 ? 2.5 : 2
    for (t = int(begin / step) * step; t <= finish; t += step)
        if (t >= begin) {
            printf "<path class=\"g\" d=\"M%.1f %dV%d\"/>", x(t), top - 4, y(ranks)
            printf "<text class=\"c\" x=\"%.1f\" y=\"%d\">%.10g%s</text>\n", x(t), y(ranks) + 15, t / 1e3,
                (t + step > finish ? " ms" : "")
        }
}

function entry(sample, words) {
    printf "<g transform=\"translate(%d %d)\">%s<text x=\"18\" y=\"10\">%s</text></g>\n", legend, y(ranks) + 28, sample, quote(words)
    legend += 34 + 7 * length(words)
}

function put_legend(    i) {
    legend = left
    for (i = 1; i <= kind_count; i++)
        entry("<rect class=\"k" kind[kinds[i]] "\" width=\"12\" height=\"12\"/>", kinds[i])
    entry("<rect class=\"k1 w\" width=\"12\" height=\"12\"/>", "waits")
    entry("<path class=\"x\" d=\"M0 0l12 12m0 -12l-12 12\"/>", "death")
    entry("<path class=\"n\" d=\"M6 -2v16\"/>", "notice")
}

function put_style(    i) {
    print "<style>text{font:12px sans-serif;fill:#1f2328}.c{text-anchor:middle}.paper{fill:#fff}.w{opacity:.35}"
    print ".g{stroke:#d8dee4}.x{stroke:#b3261e;stroke-width:3;fill:none}.n{stroke:#b3261e;stroke-width:1.5}"
    for (i = 1; i <= colours; i++) printf ".k%d{fill:%s}", i, palette[i]
    print "\n@media (prefers-color-scheme:dark){text{fill:#e6edf3}.paper{fill:#0d1117}.g{stroke:#30363d}.x,.n{stroke:#ff8b80}}</style>"
}

END {
    if (axis < 0) {
        print "draw-trace: there is nothing to draw in the trace" >"/dev/stderr"
        exit 1
    }
    begin = from == "" ? axis : from * 1e3
    finish = to == "" ? last : to * 1e3
    if (finish <= begin) {
        print "draw-trace: the picture would end before it begins" >"/dev/stderr"
        exit 1
    }
    tall = y(ranks) + 52
    printf "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" role=\"img\">\n", width, tall, width, tall
    printf "<title>%s</title>\n", quote(title)
    put_style()
    printf "<rect class=\"paper\" width=\"%d\" height=\"%d\" rx=\"8\"/>\n", width, tall
    printf "<text x=\"12\" y=\"20\">%s</text>\n", quote(title)
    put_axis()
    for (i = 0; i < ranks; i++)
        printf "<text x=\"12\" y=\"%d\">rank %d</text>\n", y(i) + high / 2 + 4, i
    for (n = 1; n <= events; n++) if (is_seen(n) && !(n in mark)) find_line(n)
    for (n = 1; n <= events; n++) if (is_seen(n) && !(n in mark)) put_operation(n)
    for (n = 1; n <= events; n++) if (is_seen(n) && n in mark) put_mark(n)
    put_legend()
    print "</svg>"
}
