# Make one SVG that shows screens of a terminal in turn. The input is what tmux captures, with
# attributes: "FRAME <ms>", the lines of a screen, and so on, then "END <ms>". The SVG is text and
# CSS, without a script. A viewer without CSS animation shows the last screen.
# Variables: columns, rows, title
BEGIN {
    step = 18     # pixels from line to line
    char = 8.43   # width of a character with a font size of 14 pixels
    top = 34      # height of the title bar
    escape = "\033\\[[0-9;:]*m"
}

/^FRAME [0-9]+$/ {
    start[++frames] = $2
    height[frames] = 0
    next
}
/^END [0-9]+$/ {
    end = $2
    next
}
frames > 0 { text[frames, ++height[frames]] = $0 }

function quote(words) {
    gsub(/&/, "\\&amp;", words)
    gsub(/</, "\\&lt;", words)
    gsub(/>/, "\\&gt;", words)
    gsub(/[\001-\010\013-\037\177]/, "", words)
    return words
}

# The CSS classes of the attributes that are on: b bold, d dim, i italic, u underlined, r reversed,
# c1 to c15 colours.
function classes(    name, list) {
    list = ""
    for (name in on) if (on[name]) list = list (list == "" ? "" : " ") name
    if (colour >= 0) list = list (list == "" ? "" : " ") "c" colour
    return list
}

function reset(    name) {
    for (name in on) delete on[name]
    colour = -1
}

# Take in the codes of one escape sequence, such as "1;31". For a colour beyond the 16 basic ones,
# the text keeps its own colour.
function attribute(codes,    code, count, i, n) {
    count = split(codes, code, /[;:]/)
    if (count == 0) reset()
    for (i = 1; i <= count; i++) {
        n = code[i] + 0
        if (n == 0) reset()
        else if (n == 1) on["b"] = 1
        else if (n == 2) on["d"] = 1
        else if (n == 3) on["i"] = 1
        else if (n == 4) on["u"] = 1
        else if (n == 7) on["r"] = 1
        else if (n == 22) on["b"] = on["d"] = 0
        else if (n == 23) on["i"] = 0
        else if (n == 24) on["u"] = 0
        else if (n == 27) on["r"] = 0
        else if (n >= 30 && n <= 37) colour = n - 30
        else if (n >= 90 && n <= 97) colour = n - 90 + 8
        else if (n == 38 || n == 48) i += code[i + 1] + 0 == 5 ? 2 : 4
        else if (n == 39) colour = -1
    }
}

function span(words) {
    if (words == "") return ""
    return classes() == "" ? quote(words) : "<tspan class=\"" classes() "\">" quote(words) "</tspan>"
}

# Turn a line with its escape sequences into the content of an SVG text.
function inside(line,    made) {
    made = ""
    while (match(line, escape)) {
        made = made span(substr(line, 1, RSTART - 1))
        codes = substr(line, RSTART + 2, RLENGTH - 3)
        line = substr(line, RSTART + RLENGTH)
        attribute(codes)
    }
    return made span(line)
}

function plain(line) {
    gsub(escape, "", line)
    return line
}

# The picture gives rows of failed ranks a colour of its own, which the terminal does not have.
function is_failure(line) {
    return plain(line) ~ /^[0-9,-]+ +(failed |.*KILL)/
}

function put_frame(f,    i) {
    printf "<g class=\"f\" id=\"f%d\">\n", f
    reset()
    for (i = 1; i <= height[f] && i <= rows; i++) {
        if (plain(text[f, i]) ~ /^ *$/) continue
        printf "<text x=\"14\" y=\"%d\"%s>%s</text>\n", top + 12 + i * step, is_failure(text[f, i]) ? " class=\"x\"" : "",
            inside(text[f, i])
    }
    print "</g>"
}

# Each screen has its part of the time. The picture changes at once from one screen to the next.
function put_times(    f, from, to, all) {
    all = end - start[1]
    for (f = 1; f <= frames; f++) {
        from = (start[f] - start[1]) * 100 / all
        to = f < frames ? (start[f + 1] - start[1]) * 100 / all : 100
        printf "@keyframes k%d{0%%{visibility:%s}", f, f == 1 ? "visible" : "hidden"
        if (f > 1) printf "%.2f%%{visibility:visible}", from
        if (f < frames) printf "%.2f%%{visibility:hidden}100%%{visibility:hidden}}\n", to
        else print "100%{visibility:visible}}"
        printf "#f%d{animation:k%d %.1fs step-end infinite}\n", f, f, all / 1000
    }
    printf "@keyframes bar{from{transform:scaleX(0)}to{transform:scaleX(1)}}\n#bar{animation:bar %.1fs linear infinite}\n", all / 1000
}

function put_style(    names, i) {
    print "<style>"
    print "text{font:14px 'DejaVu Sans Mono',Menlo,Consolas,'Liberation Mono',monospace;white-space:pre;fill:#1f2328}"
    print ".paper{fill:#f6f8fa}.head{fill:#dfe3e8}.title{fill:#57606a}#bar{fill:#0072b2}.x{fill:#b3261e;font-weight:bold}"
    print ".b{font-weight:bold}.d{opacity:.6}.i{font-style:italic}.u{text-decoration:underline}.r{font-weight:bold;text-decoration:underline}"
    split("#24292f #b3261e #1a7f37 #7d4e00 #0550ae #8250df #1b7c83 #6e7781 #57606a #a40e26 #116329 #633c01 #0969da #6639ba #3192aa #424a53", names, " ")
    for (i = 1; i <= 16; i++) printf ".c%d{fill:%s}", i - 1, names[i]
    print "\n@media (prefers-color-scheme:dark){text{fill:#e6edf3}.paper{fill:#0d1117}.head{fill:#21262d}.title{fill:#9da7b3}#bar{fill:#56b4e9}.x{fill:#ff8b80}"
    split("#8b949e #ff7b72 #3fb950 #d29922 #58a6ff #bc8cff #39c5cf #b1bac4 #6e7681 #ffa198 #56d364 #e3b341 #79c0ff #d2a8ff #56d4dd #ffffff", names, " ")
    for (i = 1; i <= 16; i++) printf ".c%d{fill:%s}", i - 1, names[i]
    print "}\n.f{visibility:hidden}"
    printf "#f%d{visibility:visible}\n#bar{transform-origin:0 0}\n", frames
    put_times()
    print "@media (prefers-reduced-motion:reduce){.f,#bar{animation:none!important}}"
    print "</style>"
}

END {
    if (frames == 0 || end <= start[1]) {
        print "record-watch: there is no frame" >"/dev/stderr"
        exit 1
    }
    width = int(columns * char + 28)
    tall = top + 24 + rows * step
    printf "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" xml:space=\"preserve\" role=\"img\">\n", width, tall, width, tall
    printf "<title>%s</title>\n", quote(title)
    put_style()
    printf "<rect class=\"paper\" width=\"%d\" height=\"%d\" rx=\"8\"/>\n", width, tall
    printf "<path class=\"head\" d=\"M0 %d V8 Q0 0 8 0 H%d Q%d 0 %d 8 V%d Z\"/>\n", top - 4, width - 8, width, width, top - 4
    printf "<text class=\"title\" x=\"14\" y=\"20\">%s</text>\n", quote(title)
    printf "<rect id=\"bar\" y=\"%d\" width=\"%d\" height=\"2\"/>\n", top - 4, width
    for (f = 1; f <= frames; f++) put_frame(f)
    print "</svg>"
}
