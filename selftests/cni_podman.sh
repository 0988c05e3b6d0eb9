#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# podman's containers under policy from their first packet: each sends from its first instruction on,
# and is called from its first instant. Both count; no packet that policy denies may come through.
#
#   STARTS=200   how many containers are started for that
[ -n "${CNI_APART:-}" ] || exec env CNI_APART=1 unshare --mount "$0" "$@"
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"
# shellcheck source=selftests/lib/cni.sh
. "$(dirname "$0")/lib/cni.sh"
# shellcheck source=selftests/lib/first.sh
. "$(dirname "$0")/lib/first.sh"

STARTS=${STARTS:-200}
SIDE=4 # containers at a time

# shellcheck source=selftests/lib/podman.sh
. "$(dirname "$0")/lib/podman.sh"
first_apart
net_start
cni_start
conf=$PODMAN_HOME
podman_prepare "cni_plugin_dirs = [\"$CNI_DIR/bin\", \"$CNI_BIN\"]" "network_config_dir = \"$conf/net.d\""

pods=(two again)
for ((i = 0; i < STARTS; i++)); do
	pods+=("web-$i")
done
(first_policies "${pods[@]}") >"$NET_TMP/policy.ini"
# shellcheck disable=SC2207
first=($(first_process /helpers 40)) long=($(first_process /helpers 600000))

# Without the plugin, much passes that policy would deny: else this test would tell nothing.
first_network open 0 "$conf/net.d"
first_call 0
net_check "a container without the plugin" podman_start open-1 open --rm -- "${first[@]}"
first_call_end
net_check "sends what it likes" test "$(first_heard denied)" -gt 0

first_network guarded 1 "$conf/net.d"
install() {
	net_on node "$BULKHEAD" cni install --conf-dir "$conf/net.d" --bin-dir "$CNI_DIR/bin" \
		--pin "$NET_PIN" "$@" "$conf/net.d/guarded.conflist"
}
net_check "install" install
net_check "no container starts where no policy is active" eval \
	'! podman_start none guarded --rm -- true 2>"$NET_TMP/why" && grep -q "no policy is active" "$NET_TMP/why"'
net_check "load" net_bulkhead load "$NET_TMP/policy.ini"

# Starts by several at a time; a line for each in $NET_TMP/starts.
run_starts() { # FROM TO
	local i
	: >"$NET_TMP/starts"
	for ((i = $1; i < $2; i += SIDE)); do
		for ((j = i; j < i + SIDE && j < $2; j++)); do
			podman_start "web-$j" guarded --rm -- "${first[@]}" >>"$NET_TMP/starts" 2>&1 &
			starts[$j]=$!
		done
		for ((j = i; j < i + SIDE && j < $2; j++)); do
			wait "${starts[$j]}"
		done
	done
}
first_call 1
run_starts 0 "$STARTS"
first_call_end
first_results "$STARTS"
net_check "nobody is left" net_is "$(net_bulkhead endpoint list)" ""

first_flips
first_call 1
run_starts 0 $((STARTS / 2))
first_call_end
first_flips_end
first_uncalled
net_check "$((STARTS / 2)) containers come and go while policies do" \
	net_is "$(first_lines '$4 > 0')" $((STARTS / 2))
net_check "no container is called at the port that both policies deny: 0 packets" net_is "$(first_lines '$6 > 0')" 0
net_check "outside hears nothing of them at that port: 0 packets" net_is "$(first_heard denied)" 0

# A container that no policy knows.
first_call 1
podman_start stranger guarded --rm -- "${first[@]}" >"$NET_TMP/starts" 2>&1
first_call_end
net_check "a container that nobody knows sends" net_is "$(first_lines '$2 > 0')" 1
net_check "nobody hears the unknown container" net_is "$(first_heard allowed) $(first_heard denied)" "0 0"
net_check "the unknown container hears nobody" net_is "$(first_lines '$4 + $6 > 0')" 0
install --trust args >/dev/null
first_call 1
CNI_ARGS="BULKHEAD_LABELS=app:web" podman_start stranger guarded --rm -- "${first[@]}" >"$NET_TMP/starts" 2>&1
first_call_end
net_check "a container whose labels CNI_ARGS gives is heard at the port that policy allows" \
	test "$(first_heard allowed)" -gt 0
net_check "that container is heard and called at no other port" net_is "$(first_heard denied) $(first_lines '$6 > 0')" "0 0"

# It stops, is killed, and starts again.
first_call 1
podman_start again guarded -d -- "${long[@]}" >/dev/null
net_check "a container is restarted" podman_on_node restart -t 0 again
net_check "a container is killed" podman_on_node kill again
net_check "a killed container is started again" podman_on_node start again
conmon=$(podman_on_node inspect -f '{{.State.ConmonPid}}' again)
pid=$(podman_on_node inspect -f '{{.State.Pid}}' again)
kill -9 "$conmon" "$pid"
# The first that looks finds out that it has died.
podman_on_node rm -f -t 0 again >/dev/null 2>&1
net_check "the container is removed without the runtime's process" podman_on_node rm -fi -t 0 again
podman_start again guarded -d -- "${long[@]}" >/dev/null
podman_start interrupted guarded -d -- "${long[@]}" >/dev/null 2>&1 &
sleep 0.25
kill -9 "$(pgrep -P $!)"
wait $! 2>/dev/null
net_check "one whose start is killed on its way goes" podman_on_node rm -f -t 0 interrupted
first_call_end
net_check "meanwhile outside hears what policy allows" test "$(first_heard allowed)" -gt 0
net_check "meanwhile outside hears nothing else: 0 packets" net_is "$(first_heard denied)" 0
net_check "the container goes" podman_on_node rm -f -t 0 again

# Two networks.
first_network second 2 "$conf/net.d"
net_on node "$BULKHEAD" cni install --conf-dir "$conf/net.d" --bin-dir "$CNI_DIR/bin" \
	--pin "$NET_PIN" "$conf/net.d/second.conflist" >/dev/null
podman_start two guarded,second -d -- "${long[@]}" >/dev/null
net_bulkhead endpoint list >"$NET_TMP/list"
net_check "a container on two networks is there twice" \
	net_is "$(cut -d' ' -f1 "$NET_TMP/list" | sed 's/eth[01]/ethN/' | sort | uniq -c | tr -s ' \n' ' ')" " 2 default/two 2 default/two:ethN "
net_check "each of its four addresses has a segment" net_is "$(grep -c ' segment ' "$NET_TMP/list")" 4
first_listen 1 2
net_check "outside hears the container on two networks" test "$(first_heard allowed)" -gt 0
net_check "outside hears the container on two networks at no port that policy denies" net_is "$(first_heard denied)" 0
net_check "the container on two networks is removed" podman_on_node rm -f -t 0 two
for version in 4 6; do
	first_network only$version $version "$conf/net.d" $version
	net_on node "$BULKHEAD" cni install --conf-dir "$conf/net.d" --bin-dir "$CNI_DIR/bin" \
		--pin "$NET_PIN" "$conf/net.d/only$version.conflist" >/dev/null
	first_call $version
	podman_start two only$version --rm -- "${first[@]}" >"$NET_TMP/starts" 2>&1
	first_call_end
	net_check "a container of an IPv$version network is called where policy allows, and nowhere else" \
		net_is "$(first_lines '$4 > 0 && $6 == 0')" 1
	net_check "a container of an IPv$version network is heard where policy allows" test "$(first_heard allowed)" -gt 0
	net_check "a container of an IPv$version network is heard nowhere else: 0 packets" net_is "$(first_heard denied)" 0
done
net_check "the containers leave nothing" net_is "$(net_bulkhead endpoint list)$(ls /run/bulkhead/cni)" ""
net_end
