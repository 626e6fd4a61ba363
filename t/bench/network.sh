# shellcheck shell=bash
# shellcheck disable=SC2154 # variables are shared by the files of t/lib
# network.sh: measures the network of a sandbox beside the loopback of the host.

# Settings for the names and addresses of network.py.
network_settings() {
	printf 'egress_resolver = 127.77.1.53:5353\negress_allow_private = 127.77.1.0/24\n'
}

network() {
	local name value unit aim note
	egress_start || return 1
	/usr/bin/python3 "$HERE/network.py" \
		"$(pgrep -P "$(daemon_pid egress)")" >"$BENCH/network" || return 1
	while IFS='|' read -r name value unit aim note; do
		figure "$name" "$value" "$unit" "$aim" "$note"
	done <"$BENCH/network"
}
