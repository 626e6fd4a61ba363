#!/bin/bash
# Tests policies of a session's network: which apply, presets, and the plan of a start.
. "${top_srcdir:=.}/t/lib/tap.sh"
. "$top_srcdir/t/lib/pg.sh"
. "$top_srcdir/t/sql/rows.sh"
pg_begin
make_tenants
must "$("$STACK_BUILD/t/unit/store/print_tables" statements)"

policies() { q "SELECT network_policies(s) FROM session s WHERE id = '$(sid "$1")'"; }
mode() { q "SELECT network_mode(s) FROM session s WHERE id = '$(sid "$1")'"; }
planned() { q "SELECT network_mode FROM start_more('$(sid "$1")')"; }
again() { q "EXECUTE start_again('$(sid "$1")')" | sed 's/.*|//'; }
set_class() { must "UPDATE class SET network_max = '$1' WHERE name = 'small'"; }
set_org() { must "UPDATE org SET network = $1 WHERE id = 'acme'"; }
patch() { q "SELECT session_patch('$(sid "$1")', 'acme', '{$2}')"; }
order() { q "SELECT network_order FROM session WHERE id = '$(sid "$1")'"; }

# ---- which policies apply

is "$(create a)|$(policies a)" \
	'created|initializing|1|[{"mode": "none"}, {"mode": "open"}]' "the default is none"
is "$(mode a)|$(planned a)|$(again a)" "none|none|none" "in the plan of a start, too"
is "$(create b '"network": {"mode": "allow", "allow": ["x.example", "@pypi", "@gone"]}')" \
	"ERROR:  SX425" "a preset that is not there is refused"
is "$(q "SELECT count(*) FROM session")" 1 "and nothing is made"
is "$(create b '"network": {"mode": "allow", "allow": ["x.example", "@pypi"]}')" \
	"created|initializing|1" "one that is there is not"
is "$(policies b)" \
	'[{"mode": "allow", "allow": ["files.pythonhosted.org", "pypi.org", "x.example"]}, {"mode": "open"}]' \
	"a preset is its entries"
is "$(mode b)|$(planned b)|$(again b)" "allow|allow|allow" "the plan says so"
must "UPDATE network_preset SET allow = '{y.example,x.example}' WHERE name = 'pypi'"
is "$(policies b)" '[{"mode": "allow", "allow": ["x.example", "y.example"]}, {"mode": "open"}]' \
	"as they are now, each once"
must "DELETE FROM network_preset WHERE name = 'pypi'"
is "$(policies b)" '[{"mode": "allow", "allow": ["x.example"]}, {"mode": "open"}]' \
	"one that was removed allows nothing"
must "UPDATE session SET network = '{\"mode\": \"allow\", \"allow\": [\"@pypi\"]}' WHERE id = '$(sid b)'"
is "$(policies b)" '[{"mode": "allow", "allow": []}, {"mode": "open"}]' "and never all"

set_org "'{\"mode\": \"open\", \"maxRequests\": 7}'"
is "$(policies a)|$(mode a)" '[{"mode": "open", "maxRequests": 7}, {"mode": "open"}]|open' \
	"an org's default is that of its sessions"
is "$(mode b)" allow "unless they have their own"
is "$(create o '"tenant": "other", "org": "other", "keyId": "o"')|$(mode o)" \
	"created|initializing|1|none" "another org has another"
set_class '{"mode": "allow", "allow": ["@npm"]}'
is "$(policies a)|$(mode a)" \
	'[{"mode": "open", "maxRequests": 7}, {"mode": "allow", "allow": ["registry.npmjs.org", "registry.yarnpkg.com"]}]|allow' \
	"the class's is one of them"
set_class '{"mode": "none"}'
is "$(mode a)|$(mode b)" "none|none" "the narrowest wins"
must "UPDATE session SET class = 'shared' WHERE id = '$(sid b)'"
is "$(mode b)" none "the class is the sandbox's"

# ---- counts

use() { q "EXECUTE egress_use('[{\"session\": \"$(sid a)\", \"connections\": 1, \"requests\": 2,
	\"bytesIn\": 3, \"bytesOut\": 4, \"denied\": 5}]', '$1', '$2')"; }
used() { q "SELECT connections, requests, bytes_in, bytes_out, denied FROM network_use
	WHERE session_id = '$(sid a)'"; }
use host one
is "$(used)" "1|2|3|4|5" "counts are added"
use host one
is "$(used)" "1|2|3|4|5" "once, if they are sent again"
use host two
use other two
is "$(used)" "3|6|9|12|15" "others are, and those of another host"

# ---- a class without a network

is "$(create c '"network": {"mode": "open"}')" "ERROR:  SX426" "it refuses one"
is "$(create c '"network": {"mode": "none"}')" "created|initializing|1" "none can be asked for"
is "$(patch c '"network": {"mode": "allow", "allow": []}')" "ERROR:  SX426" "also of a session that is there"
is "$(patch c '"network": null')|$(order c)" "|1" "it may follow its org"
set_class '{"mode": "open"}'

# ---- changes

is "$(patch c '"network": {"mode": "allow", "allow": ["@nothing"]}')" "ERROR:  SX425" "an unknown preset"
is "$(patch c '"network": {"mode": "open"}')|$(order c)" "|2" "a change is counted"
is "$(patch c '"network": {"mode": "open"}, "keepAlive": true')|$(order c)" "|2" "no change is not"
is "$(patch c '"secrets": [{"host": "a.b", "header": "x"}], "secretsSealed": "s1"')|$(order c)" "|3" "secrets"
is "$(patch c '"secrets": [{"host": "a.b", "header": "x"}], "secretsSealed": "s2"')|$(order c)" "|4" \
	"another value of the same header"
is "$(q "SELECT detail->'secrets' FROM event WHERE session_id = '$(sid c)' AND kind = 'change'
	ORDER BY id DESC LIMIT 1")" \
	'{"to": [{"host": "a.b", "header": "x"}], "from": [{"host": "a.b", "header": "x"}]}' \
	"its event names host and header"
is "$(patch c '"secrets": [], "secretsSealed": null')|$(q "SELECT secrets IS NULL, secrets_sealed IS NULL
	FROM session WHERE id = '$(sid c)'")" "|t|t" "none are none"
is "$(patch a '"network": {"mode": "none"}, "tenant": "other"'; q "SELECT session_patch('$(sid a)', 'other',
	'{\"network\": {\"mode\": \"open\"}}')"; mode a)" $'\n\nnone' "another tenant changes nothing"

done_testing
