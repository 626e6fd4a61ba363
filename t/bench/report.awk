#!/usr/bin/awk -f
# report.awk: figures as a table (mode=table) or as JSON (mode=json).
#
# A figure is a line: name, value, unit, aim ("<= 15", or nothing), note.
# Facts about the machine, two fields a line, come in a file before them.
BEGIN { FS = "\t" }

function verdict() {
	if ($4 == "")
		return ""
	split($4, aim, " ")
	return (aim[1] == "<=" ? $2 <= aim[2] : $2 >= aim[2]) ? "met" : "missed"
}

function quoted(s) {
	gsub(/[\\"]/, "\\\\&", s)
	return "\"" s "\""
}

mode == "table" {
	printf "%-34s %10s %-4s %-10s %-7s %s\n", $1, $2, $3, $4, verdict(), $5
	next
}
NF == 2 { facts = facts sprintf("  %s: %s,\n", quoted($1), quoted($2)) }
NF > 2 {
	line = sprintf("    {\"name\": %s, \"value\": %s, \"unit\": %s", quoted($1), $2, quoted($3))
	if ($4 != "")
		line = line sprintf(", \"aim\": %s, \"met\": %s", quoted($4), verdict() == "met" ? "true" : "false")
	if ($5 != "")
		line = line sprintf(", \"note\": %s", quoted($5))
	figures = figures (figures == "" ? "" : ",\n") line "}"
}
END {
	if (mode == "json")
		printf "{\n%s  \"figures\": [\n%s\n  ]\n}\n", facts, figures
}
