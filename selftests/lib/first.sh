# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# A policy for containers that send from their first instruction on, and for the outside host, which calls
# them from their start (helpers/first.c). It allows UDP/7001 both ways and denies UDP/5979 both ways.
# Source net.sh and cni.sh first.

# Hides the machine's own folders of runtimes and plugins, and its bpffs, behind empty mounts.
first_apart() {
	local folder
	mount --make-rprivate /
	for folder in /run/netns /run/bulkhead /var/lib/cni "$@"; do
		mkdir -p "$folder"
		mount -t tmpfs tmpfs "$folder" || net_skip "cannot mount"
	done
	mount -t bpf bpf /sys/fs/bpf || net_skip "cannot mount"
}

FIRST_ADDRESSES=${FIRST_ADDRESSES:-12} # addresses in a network, for each IP version

first_network() { # NAME NUMBER FOLDER [4|6]
	local last=$((FIRST_ADDRESSES + 1)) ranges=()
	[ "${4:-4}" != 4 ] || ranges+=("[{\"subnet\": \"10.9$2.0.0/24\", \"rangeStart\": \"10.9$2.0.2\", \"rangeEnd\": \"10.9$2.0.$last\"}]")
	[ "${4:-6}" != 6 ] || ranges+=("$(printf '[{"subnet": "fd9%d::/64", "rangeStart": "fd9%d::2", "rangeEnd": "fd9%d::%x"}]' "$2" "$2" "$2" $last)")
	cat >"$3/.$1" <<-EOF && mv "$3/.$1" "$3/$1.conflist"
	{"cniVersion": "1.0.0", "name": "$1", "plugins": [{"type": "bridge", "bridge": "cni-$1",
	"isGateway": true, "ipam": {"type": "host-local", "ranges": [$(IFS=, && echo "${ranges[*]}")],
	"routes": [$([ "${4:-4}" != 4 ] || echo '{"dst": "0.0.0.0/0"}')$([ -n "${4:-}" ] || echo ,)
	$([ "${4:-6}" != 6 ] || echo '{"dst": "::/0"}')]}}, {"type": "tuning"}]}
	EOF
}

# Prints a policy that lists the pods and what they may send and receive; writes the same with TCP/1 allowed
# as well to flip.ini.
first_policies() { # POD...
	local pod ports
	for ports in UDP/7001 "UDP/7001, TCP/1"; do
		printf '[bulkhead]\nnode = worker-1\n[namespace default]\n'
		for pod; do
			printf '[endpoint default/%s]\nlabels = app=web\n' "$pod"
		done
		printf '[network-policy default/web]\nendpoints = app=web\ntypes = Ingress, Egress\n'
		printf 'ingress = from cidr(192.168.7.0/24), cidr(fd07::/64) ports %s\n' "$ports"
		printf 'egress = to cidr(192.168.7.0/24), cidr(fd07::/64) ports %s\n' "$ports"
		[ "$ports" = UDP/7001 ] && exec >"$NET_TMP/flip.ini"
	done
}

# Prints the command that a container runs for some milliseconds. It calls the outside host, or FIRST_CALLED.
first_process() { # FOLDER-OF-HELPERS MILLISECONDS
	echo "$1/first $2 7001 5979 ${FIRST_CALLED:-192.168.7.2 fd07::2}"
}

# Prints every address that a container of these networks may get.
first_addresses() { # NUMBER...
	local n i
	for n; do
		for ((i = 2; i < FIRST_ADDRESSES + 2; i++)); do
			printf '10.9%d.0.%d fd9%d::%x ' "$n" $i "$n" $i
		done
	done
}

# The outside host calls every such address, until first_call_end.
first_call() { # NUMBER...
	# shellcheck disable=SC2046
	nsenter --net="/run/netns/$NET-out" "$NET_HELPERS/first" 3600000 7001 5979 $(first_addresses "$@") \
		>"$NET_TMP/heard" 2>&1 &
	FIRST_CALLER=$!
}
first_call_end() {
	kill "$FIRST_CALLER"
	wait "$FIRST_CALLER"
}
# The outside host calls every such address for a second, and then for 20 s at most until it hears something.
first_listen() { # NUMBER...
	# shellcheck disable=SC2046
	nsenter --net="/run/netns/$NET-out" "$NET_HELPERS/first" 1000 7001 5979 $(first_addresses "$@") \
		>"$NET_TMP/heard" 2>&1
}
first_heard() { # allowed|denied: what outside has heard
	sed -n "s/.* $1 \([0-9]*\).*/\1/p" "$NET_TMP/heard"
}

# Counts the containers' lines for which the condition holds.
first_lines() { # AWK-CONDITION
	awk "\$1 == \"sent\" && ($1) { n++ } END { print n + 0 }" "$NET_TMP/starts"
}

# Prints the lines of containers that received no call.
first_uncalled() {
	awk '!($1 == "sent" && $4 > 0) { print "# not called: " $0 }' "$NET_TMP/starts"
}

# Prints how long the containers ran before the first call arrived.
first_waits() {
	awk '$1 == "sent" && $8 >= 0 { print $8 }' "$NET_TMP/starts" | sort -n |
		awk '{ ms[NR] = $1 } END { print "# called after " ms[int((NR + 1) / 2)] " ms in the middle, " ms[NR] " ms at most" }'
}

# Checks what STARTS starts have shown: each container was called where policy allows, and nowhere else.
first_results() { # STARTS
	net_check "$1 containers were started" net_is "$(first_lines '$2 > 0')" "$1"
	net_check "each container was called at the port that policy allows" net_is "$(first_lines '$4 > 0')" "$1"
	net_check "no container was called at the other port: 0 packets" net_is "$(first_lines '$6 > 0')" 0
	net_check "outside heard of them at the port that policy allows" test "$(first_heard allowed)" -ge "$1"
	net_check "outside heard nothing at the other port: 0 packets" net_is "$(first_heard denied)" 0
	echo "# sent: $(awk '{ n += $2 } END { print n }' "$NET_TMP/starts"), outside heard $(cat "$NET_TMP/heard")"
	first_uncalled
	first_waits
}

first_flips() {
	(while sleep 0.2; do
		net_bulkhead load "$NET_TMP/flip.ini" && sleep 0.2 && net_bulkhead load "$NET_TMP/policy.ini"
	done) >/dev/null 2>&1 &
	FIRST_FLIPS=$!
}
first_flips_end() {
	kill "$FIRST_FLIPS"
	wait "$FIRST_FLIPS"
}
