#!/bin/bash
# Tests the rows of a setup: output is written once, and a success is final.
. "${top_srcdir:=.}/t/lib/tap.sh"
. "$top_srcdir/t/lib/pg.sh"
. "$top_srcdir/t/sql/rows.sh"
pg_begin
make_tenants

said() { # ID GENERATION FROM TO TEXT
	q "SELECT setup_said('$(sid "$1")', '{\"generation\": $2, \"from\": $3, \"to\": $4, \"text\": \"$5\"}')"
}
ended() { # ID GENERATION EXIT
	q "SELECT setup_ended('$(sid "$1")', '{\"generation\": $2, \"exitCode\": $3, \"bytes\": 9,
		\"ms\": 7, \"text\": \"the end\"}')"
}
# "still to be run?|offset|exit code|output"
setup() { # ID
	q "SELECT setup_sealed IS NOT NULL, setup_offset, setup_exit, setup_output
		FROM session WHERE id = '$(sid "$1")'"
}
told() { # ID
	q "SELECT string_agg(what || ':' || (detail->>'text'), ' ' ORDER BY id) FROM event
		WHERE session_id = '$(sid "$1")' AND kind = 'setup'"
}
shown() { # ID
	q "SELECT session_json(s)->'setup' FROM session s WHERE id = '$(sid "$1")'"
}
seconds_left() { # ID: its startup deadline, to the minute
	q "SELECT round(extract(epoch FROM startup_deadline - clock_timestamp()) / 60)
		FROM lease WHERE session_id = '$(sid "$1")'"
}

readonly SETUP='"setup": "sealed", "setupSeconds": 1200'

create n >/dev/null
is "$(shown n)|$(seconds_left n)" "null|10" "without one there is none"

create a "$SETUP" >/dev/null
is "$(setup a)|$(seconds_left a)" "t|0|||30" "it has its time on top of a start's"
is "$(shown a)" '{"state" : "pending", "exitCode" : null, "output" : null}' "it is pending"

# ---- its output
is "$(said a 1 0 5 one)|$(said a 1 0 5 one)|$(setup a)" "t|f|t|5||" "heard twice it is written once"
is "$(said a 1 3 8 odd)|$(said a 1 7 9 gap)|$(setup a)" "f|f|t|5||" "neither an overlap nor a gap"
is "$(said a 2 5 8 two)|$(said a 0 5 8 two)" "f|f" "nor another life's"
is "$(said a 1 5 8 two)|$(told a)" "t|output:one output:two" "in its order"

# ---- its end
is "$(ended a 2 0)|$(ended a 0 0)|$(setup a)" "f|f|t|8||" "another life's end is none"
is "$(ended a 1 0)|$(setup a)" "t|f|8|0|the end" "a success"
is "$(ended a 1 3)|$(said a 1 8 9 x)|$(setup a)" "t|f|f|8|0|the end" "is final"
is "$(told a)" "output:one output:two done:the end" "and told once"
must "SELECT lease_apply('$(sid a)', 'owned_absent', '{\"instance\": \"i-a\", \"generation\": 1}')"
is "$(restart a none 1)|$(setup a)|$(seconds_left a)" "restarted|initializing|2|inc-a|f|8|0||10" \
	"also when the start it belonged to came to nothing"
is "$(verify a 2)|$(look a)" "t|ready|owns_wrapper|2" "the next start needs none"

create b "$SETUP" >/dev/null
said b 1 0 5 one >/dev/null
is "$(ended b 1 3)|$(setup b)" "t|t|5|3|the end" "a failure keeps the end of what it said"
is "$(shown b)" '{"state" : "failed", "exitCode" : 3, "output" : "the end"}' "and shows it"
request b fail startup-failed '"generation": 1' >/dev/null
begin b x >/dev/null && end b x true >/dev/null
is "$(restart b none 1)|$(setup b)|$(seconds_left b)" "restarted|initializing|2|inc-b|t|0|||30" \
	"the next start runs it from its beginning"
stop b delete >/dev/null
q "SELECT session_deleted('$(sid b)')" >/dev/null
is "$(look b)|$(setup b)" "deleted|none|2|f|0||" "what is deleted has forgotten it"

done_testing
