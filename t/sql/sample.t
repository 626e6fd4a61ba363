#!/bin/bash
# Tests samples of what sessions use: how they are added and shown, that after a day one of
# each hour is left, and after a week none.
. "${top_srcdir:=.}/t/lib/tap.sh"
. "$top_srcdir/t/lib/pg.sh"
. "$top_srcdir/t/sql/rows.sh"
pg_begin
make_tenants
open_two

one_line() { paste -sd' '; }
add_sql() { # JSON [SECONDS]
	printf "SELECT sample_add('h1', %d, '[%s]')" "${2:-0}" "$1"
}
add() { q "$(add_sql "$@")"; }
# own ID LIFE CPU_MS [JSON]: a sample of a session; whole: of its sandbox.
own() {
	printf '{"sandbox": "ses-%s", "session": "%s", "life": "%s", "cpuMs": %s%s}' \
		"$1" "$(sid "$1")" "$2" "$3" "${4:+, $4}"
}
whole() {
	printf '{"sandbox": "ses-%s", "session": null, "life": "%s", "cpuMs": %s%s}' \
		"$1" "$2" "$3" "${4:+, $4}"
}
# age SQL_INTERVAL: makes all samples so much older.
age() { must "UPDATE sample SET at = at - interval '$1'"; }
of() { # ID COLUMNS
	q "SELECT $2 FROM sample WHERE session_id = '$(sid "$1")' ORDER BY at" | one_line
}
count() { q "SELECT count(*) FROM sample ${1:+WHERE $1}"; }

create a >/dev/null
verify a 1 >/dev/null
create b >/dev/null
verify b 1 >/dev/null
must "UPDATE session SET disk_used_mb = 7 WHERE id = '$(sid a)'"

# ---- adding

is "$(add "$(own a 1 1000 '"memoryBytes": 5, "processes": 2, "threads": 3'), $(whole a inc-a 1500)")" 2 \
	"a session and its sandbox have a sample each"
is "$(of a "tenant, life, cpu_ms, memory_bytes, processes, threads, disk_mb, hourly")" \
	"acme|1|1000|5|2|3|7|f" "with what was measured, and the disk of the row"
is "$(of a "cpu_user_ms IS NULL AND memory_peak_bytes IS NULL AND cpu_percent IS NULL")" t \
	"what is not known is NULL, not 0"
is "$(q "SELECT disk_mb, cpu_ms FROM sample WHERE session_id IS NULL")" "7|1500" \
	"the disk of a sandbox is that of its sessions"
is "$(add "$(own a 1 1100), $(whole a inc-a 1600)" 30)" 0 "what has a young one gets none"
# rounded, so that the seconds that the test itself takes do not count
percents() { of "$1" "coalesce(round(cpu_percent::numeric)::text, '-')"; }
age '1000 s'
is "$(add "$(own a 1 101000)")|$(percents a)" "1|- 10" \
	"percent of a processor since the last one: 100 s in 1000 s"
age '10 s'
is "$(add "$(own a 2 200000)")|$(percents a)" "1|- 10 -" \
	"none where a new life began"
age '10 s'
is "$(add "$(own a 2 199900)")|$(percents a)" "1|- 10 - -" \
	"nor where the counter is lower: a process took its time along"
is "$(add "{\"sandbox\": \"ses-b\", \"session\": \"$(sid a)\", \"life\": \"1\", \"cpuMs\": 1}")" 0 \
	"a sandbox has no samples of another's session"
is "$(add "$(own x 1 1)")" 0 "nor of one that does not exist"

# ---- two reapers

ask one BEGIN >/dev/null
is "$(ask one "$(add_sql "$(own b 1 10)" 30)")" 1 "the first of two adds"
is "$(ask two "$(add_sql "$(own b 1 10)" 30)")" 0 "the second, at the same time, does not"
is "$(ask two "SELECT sample_add('h2', 0, '[$(own a 2 3000)]')")" 1 "on another host nobody waits for it"
ask one COMMIT >/dev/null
is "$(ask two "$(add_sql "$(own b 1 11)" 30)")|$(of b cpu_ms)" "0|10" "and not after it"

# ---- which are due

due() { # AFTER_AT AFTER_ID LIMIT
	q "PREPARE due AS $(statement sample samples_due)"
	q "EXECUTE due ('h1', '30', '${1:--infinity}', '${2:-}', '${3:-10}')" | cut -d'|' -f1,3 | one_line
	q "DEALLOCATE due"
}
must "TRUNCATE sample"
is "$(due)" "ses-a| ses-a|$(sid a) ses-b| ses-b|$(sid b)" "sandboxes, each followed by its sessions"
add "$(whole a inc-a 1), $(own a 1 1)" >/dev/null
is "$(due)" "ses-b| ses-b|$(sid b)" "not those that have a young sample"
age '40 s'
is "$(due)" "ses-b| ses-b|$(sid b) ses-a| ses-a|$(sid a)" "those that waited longest are first"
is "$(due "" "" 1)" "ses-b| ses-b|$(sid b)" "some at a time"
is "$(due -infinity ses-b)" "ses-a| ses-a|$(sid a)" "and then those after them"
request a sleep idle-timeout >/dev/null
is "$(due -infinity ses-b)" "ses-a|" "not a session that is being stopped"

# ---- after a day, one of each hour

must "TRUNCATE sample"
HOUR="date_trunc('hour', clock_timestamp(), 'UTC') - interval '30 hours'"
must "INSERT INTO sample (sandbox_id, session_id, tenant, life, at, cpu_ms, cpu_user_ms, cpu_percent,
		memory_bytes, memory_peak_bytes, processes, threads, disk_mb)
	SELECT 'ses-a', s, 'acme', CASE WHEN i < 30 THEN '1' ELSE '2' END,
	       $HOUR + i * interval '1 min', 100 * (i % 30), 60 * (i % 30), CASE WHEN i % 30 > 0 THEN i END,
	       1000 + i, 2000 + i, 1 + i % 4, 2 + i % 4, i
	  FROM generate_series(0, 119) i, unnest(ARRAY['$(sid a)', NULL]) s;
	INSERT INTO sample (sandbox_id, session_id, tenant, life, at, cpu_ms)
	VALUES ('ses-b', '$(sid b)', 'acme', '1', $HOUR + interval '5 min', 1),
	       ('ses-b', '$(sid b)', 'acme', '1', clock_timestamp() - interval '23 h', 2)"
is "$(count)" 242 "two hours of samples, and one that is younger than a day"
is "$(q "SELECT sample_thin(2)")" 120 "a batch is two of those that were measured"
is "$(q "SELECT sample_thin(2)")|$(q "SELECT sample_thin(2)")|$(q "SELECT sample_thin(2)")" "1|120|0" \
	"then the rest of the hour, the next hour, and nothing"
is "$(count)|$(count hourly)" "6|5" "one of each hour is left of each"
is "$(q "SELECT bool_and(at = $HOUR + n * interval '1 hour') FROM (SELECT at, row_number() OVER (ORDER BY at) - 1 AS n
	FROM sample WHERE session_id = '$(sid a)') x")" t "at the begin of the hour"
is "$(of a "life, cpu_ms, cpu_user_ms, disk_mb")" "2|2900|1740|59 2|2900|1740|119" \
	"counters, life and disk are those of the last one"
is "$(of a "cpu_percent, cpu_percent_max")" "30|59 90|119" "percent: average and largest, NULL left out"
is "$(of a "memory_bytes, memory_max_bytes, memory_peak_bytes")" "1030|1059|2059 1090|1119|2119" \
	"memory: average and largest"
is "$(of a "processes, processes_max, threads, threads_max")" "3|4|4|5 3|4|4|5" "processes as well"
is "$(of b "hourly, cpu_ms, coalesce(memory_bytes::text, '-')")" "t|1|- f|2|-" \
	"what was unknown stays unknown, and a sample of today stays as it is"
is "$(q "SELECT j->>'hourly', j->>'memoryBytes', j->>'memoryMaxBytes', j->>'cpuPercentMax' FROM (SELECT sample_json(s) j
	FROM sample s WHERE session_id = '$(sid a)' ORDER BY at LIMIT 1) x")" "true|1030|1059|59" "and is shown so"

# ---- an hour counts as a whole

must "TRUNCATE sample;
	INSERT INTO sample (sandbox_id, tenant, life, at)
	SELECT 'ses-a', 'acme', '1', date_trunc('hour', clock_timestamp(), 'UTC') - interval '24 h' + i * interval '1 s'
	  FROM generate_series(0, 1) i"
is "$(q "SELECT sample_thin(10)")|$(count hourly)" "0|0" "an hour that is not over for a day is left alone"

# ---- time zones that differ by half an hour change nothing

must "TRUNCATE sample; SET TimeZone = 'Asia/Kolkata';
	INSERT INTO sample (sandbox_id, tenant, life, at)
	SELECT 'ses-a', 'acme', '1', $HOUR + i * interval '1 min' FROM generate_series(0, 59) i"
is "$(q "SELECT sample_thin(10)")|$(count)" "60|1" "an hour is one of UTC"
must "SET TimeZone = 'UTC'"

# ---- after a week, none

must "TRUNCATE sample;
	INSERT INTO sample (sandbox_id, tenant, life, at, hourly)
	SELECT 'ses-a', 'acme', '1', clock_timestamp() - i * interval '1 hour' - interval '30 min', true
	  FROM generate_series(0, 199) i"
is "$(q "SELECT sample_thin(20)")|$(count)" "20|180" "a batch of those that are older than 7 days goes"
is "$(q "SELECT sample_thin(20)")|$(q "SELECT sample_thin(20)")" "12|0" "then the rest, then nothing"
is "$(count "at < clock_timestamp() - interval '7 days'")|$(count)" "0|168" "the younger ones stay"

# ---- two at once

must "TRUNCATE sample;
	INSERT INTO sample (sandbox_id, tenant, life, at)
	SELECT 'ses-a', 'acme', '1', $HOUR + i * interval '1 min' FROM generate_series(0, 59) i"
ask one BEGIN >/dev/null
is "$(ask one "SELECT sample_thin(10)")" 60 "the first of two makes them fewer"
is "$(ask two "SELECT sample_thin(10)")" 0 "the second leaves it to the first"
ask one COMMIT >/dev/null
is "$(count)" 1 "nothing is there twice"

# ---- one session's history is read by its index

must "INSERT INTO sample (sandbox_id, session_id, tenant, life, at)
	SELECT 'ses-' || n, lpad(n::text, 20, '0'), 'acme', '1', clock_timestamp() - i * interval '1 min'
	  FROM generate_series(1, 100) n, generate_series(1, 300) i;
	INSERT INTO sample (sandbox_id, tenant, life, at)
	SELECT 'ses-' || n, 'acme', '1', clock_timestamp() - i * interval '1 min'
	  FROM generate_series(1, 100) n, generate_series(1, 300) i; ANALYZE sample"
plan() { # STATEMENT ID
	q "PREPARE p AS $(statement sample "$1")"
	q "EXPLAIN EXECUTE p ('$2', 'acme', '-infinity', 'infinity', '0', '101')"
	q "DEALLOCATE p"
}
for mode in force_custom_plan force_generic_plan; do
	must "SET plan_cache_mode = $mode"
	for what in "session $(printf '%020d' 7)" "sandbox ses-7"; do
		found=$(plan "samples_of_${what% *}" "${what#* }")
		like "$found" "Index Scan.* using sample_by_${what% *}" "$mode: of a ${what% *}: its index"
		is "$(grep -cE 'Seq Scan on sample|Sort Key: m.at' <<<"$found")" 0 "and no other way"
	done
done

done_testing
