# shellcheck shell=bash
# shellcheck disable=SC2154 # variables are shared by the files of t/lib
# executions.sh: measures executions beside plain commands.

executions() {
	local name value unit aim note
	/usr/bin/python3 "$HERE/executions.py" >"$BENCH/executions" || return 1
	while IFS='|' read -r name value unit aim note; do
		figure "$name" "$value" "$unit" "$aim" "$note"
	done <"$BENCH/executions"
	end_shared
}
