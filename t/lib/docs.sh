# shellcheck shell=bash
# docs.sh: finds the commands that a page of the documentation shows.

# docs_block PAGE LANGUAGE WORD: prints the page's first block of that language that
# contains WORD.
docs_block() {
	awk -v start="\`\`\`$2" -v word="$3" '
		!on && $0 == start { on = 1; text = ""; next }
		on && /^```/ { on = 0; if (index(text, word)) { printf "%s", text; exit } next }
		on { text = text $0 "\n" }
	' "$TOP/$1"
}
