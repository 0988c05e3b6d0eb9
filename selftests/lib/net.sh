# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# A node with pods and an outside host behind its uplink, each a network namespace of this process; probes
# between them; results as KTAP. Sourced by the namespace tests and by the demo.
#
#   net_start db web        the node, the outside host and two pods, with listeners
#   cat >"$NET_TMP/policy.ini" <<EOF
#   $(net_head "uplink = eth0")             the policy's node and its uplink
#   $(net_endpoint db "mac = $(net_mac db)") db with its addresses, the label role=db and its MAC
#   $(net_endpoint web)                     web with its addresses and the label role=web
#   [network-policy shop/db]                the test's own sections
#   EOF
#   net_allowed web tcp 10.244.0.1 6379 "web reaches db"
#   net_denied web udp "$(net_ip6 db)" 53 "web does not reach db's UDP"
#   net_end                 the last line of a test
#
# The namespaces go away when the process ends, however it ends. tools/testbed makes the same world to stay;
# it sets NET, the prefix of every name.

NET=${NET:-bh$$}
NET_PIN=/sys/fs/bpf/bhtest-${NET#bh}
NET_TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
BULKHEAD=${BULKHEAD:-$NET_TOP/build/bulkhead}
NET_HELPERS=$(dirname "$BULKHEAD")/selftests/helpers
NET_PROBE=$NET_HELPERS/probe
NET_ENTER=$NET_HELPERS/enter # takes nsenter's place: starts faster
[ -x "$NET_ENTER" ] || NET_ENTER=nsenter
NET_PORTS=${NET_PORTS:-"80 443 6379 5978 7000"}
# ms: longer than any allowed probe takes. TCP doubles the time before each retransmission.
NET_WAIT_ALLOWED=${NET_WAIT_ALLOWED:-20000}
NET_WAIT_DENIED=300
NET_PODS=()
NET_SERVERS=()
NET_STREAMS=()
NET_TEST=0
NET_FAILED=0
NET_TMP=$(mktemp -d) || exit 1

net_result() { # ok|"not ok" NAME
	NET_TEST=$((NET_TEST + 1))
	[ "$1" = ok ] || NET_FAILED=$((NET_FAILED + 1))
	echo "$1 $NET_TEST - $2"
}

# Runs a command and reports whether it succeeded; shows the command's output only on failure.
net_check() { # NAME COMMAND...
	local name=$1
	shift
	if "$@" >"$NET_TMP/net_check" 2>&1; then
		net_result ok "$name"
	else
		net_result "not ok" "$name"
		tail -n 40 "$NET_TMP/net_check" | sed 's/^/# /'
	fi
}

net_is() { # ACTUAL EXPECTED
	[ "$1" = "$2" ] || { echo "got: $1" && echo "not: $2" && false; }
}

# Runs a command; true if it ends with this status and prints a line that matches this basic regular
# expression (an empty PATTERN matches always). "$NET_TMP/said" keeps the output.
net_ends() { # STATUS PATTERN COMMAND...
	local code
	"${@:3}" >"$NET_TMP/said" 2>&1
	code=$?
	cat "$NET_TMP/said"
	net_is $code "$1" || return
	[ -z "$2" ] || grep -q -- "$2" "$NET_TMP/said" || { echo "no line has: $2" && false; }
}

net_fails() { # STATUS COMMAND...
	net_ends "$1" "" "${@:2}"
}

net_end() {
	[ $NET_FAILED -eq 0 ]
	exit
}

net_skip() { # WHY
	echo "1..0 # SKIP $1"
	exit 4
}

net_on() { # HOST COMMAND...
	local host=$1
	shift
	"$NET_ENTER" --net="/run/netns/$NET-$host" "$@"
}

# Runs the command in the node's network namespace. bpffs is not part of that and stays visible.
net_bulkhead() { # SUBCOMMAND ARGUMENT...
	local command=$1
	shift
	net_on node "$BULKHEAD" "$command" --pin "$NET_PIN" "$@"
}

# Sets `number`, the caller's, to the pod's: no process is made for this, since tests ask for addresses all the time.
net_find() { # POD
	local pod
	number=0
	for pod in "${NET_PODS[@]}"; do
		number=$((number + 1))
		[ "$pod" != "$1" ] || return 0
	done
	number=
}

net_number() { # POD
	local number
	net_find "$1"
	echo "$number"
}

net_ip() {
	local number
	case $1 in
	out) echo 192.168.7.2 ;;
	node) echo 192.168.7.1 ;;
	*) net_find "$1" && echo "10.244.0.$number" ;;
	esac
}

net_ip6() {
	local number
	case $1 in
	out) echo fd07::2 ;;
	node) echo fd07::1 ;;
	*) net_find "$1" && echo "fd44::$number" ;;
	esac
}

net_mac() { # POD
	local number
	net_find "$1"
	printf '02:00:00:00:01:%02x' "$number"
}

# Ends the servers and removes every host.
net_down() {
	local host
	[ ${#NET_SERVERS[@]} -eq 0 ] || kill "${NET_SERVERS[@]}" 2>/dev/null
	NET_SERVERS=()
	for host in "/run/netns/$NET-"*; do
		[ ! -e "$host" ] || echo "netns del ${host##*/}"
	done | ip -force -batch -
}

net_cleanup() {
	[ ! -d "$NET_PIN" ] || net_on node "$BULKHEAD" unload --pin "$NET_PIN" 2>/dev/null
	net_down
	[ ! -d "$NET_PIN" ] || rm -rf "$NET_PIN"
	rm -rf "$NET_TMP"
}

# Turns duplicate address detection off in a network namespace, so that addresses work at once.
# shellcheck disable=SC2016
NET_NO_DAD='for f in /proc/sys/net/ipv6/conf/*/accept_dad; do echo 0 >"$f"; done'

net_host() { # HOST...
	local host
	printf "netns add $NET-%s\n" "$@" | ip -batch - || exit 1
	for host; do
		net_on "$host" sh -c "$NET_NO_DAD
			echo 1 >/proc/sys/net/ipv4/ip_forward
			echo 1 >/proc/sys/net/ipv6/conf/all/forwarding
			exec ip link set lo up"
	done
}

# One process for many commands of `ip`, a line each of standard input. One that fails does not end the others.
net_ips() { # HOST
	ip -n "$NET-$1" -force -batch -
}

net_neighbours() { # INTERFACE MAC ADDRESS...: prints what net_ips needs
	local address
	for address in "${@:3}"; do
		echo "neigh replace $address dev $1 lladdr $2 nud permanent"
	done
}

net_neighbour() { # HOST INTERFACE MAC ADDRESS...
	net_ips "$1" <<<"$(net_neighbours "${@:2}")"
}

# Prints what makes a link, whose peer is still down.
net_links() { # INTERFACE MAC PEER-HOST PEER-INTERFACE PEER-MAC
	echo "link add $1 address $2 type veth peer name $4 address $5 netns $NET-$3"
	echo "link set $1 up"
}

net_link() { # HOST INTERFACE MAC PEER-HOST PEER-INTERFACE PEER-MAC
	net_links "${@:2}" | net_ips "$1" || exit 1
	ip -n "$NET-$4" link set "$5" up
}

# The outside host also has an address in each of two CIDR blocks that policies tell apart.
net_uplink() {
	net_ips node <<-EOF || exit 1
	$(net_links eth0 02:00:00:00:07:01 out eth0 02:00:00:00:07:02)
	addr add 192.168.7.1/24 dev eth0
	addr add fd07::1/64 dev eth0 nodad
	$(net_neighbours eth0 02:00:00:00:07:02 192.168.7.2 fd07::2)
	route add default via 192.168.7.2
	route add default via fd07::2
	EOF
	net_ips out <<-EOF
	link set eth0 up
	addr add 192.168.7.2/24 dev eth0
	addr add fd07::2/64 dev eth0 nodad
	addr add 172.17.0.9/32 dev lo
	addr add 172.17.1.9/32 dev lo
	$(net_neighbours eth0 02:00:00:00:07:01 192.168.7.1 fd07::1)
	route add default via 192.168.7.1
	route add default via fd07::1
	EOF
}

net_pod() { # POD
	NET_PODS+=("$1")
	net_host "$1"
	net_plug "$1"
}

# Gives a pod an interface, and the node the routes to the pod. A run does this a thousand times: each substitution of
# a command is a process.
net_plug() { # POD [NODE]
	local number mac ip ip6 interface="veth-$1" gateway="lladdr 02:00:00:00:02:01 nud permanent" node=${2:-node}
	net_find "$1"
	printf -v mac '02:00:00:00:01:%02x' "$number"
	ip=$(net_ip "$1") ip6=$(net_ip6 "$1")
	net_ips "$node" <<-EOF || exit 1
	$(net_links "$interface" 02:00:00:00:02:01 "$1" eth0 "$mac")
	neigh replace $ip dev $interface lladdr $mac nud permanent
	neigh replace $ip6 dev $interface lladdr $mac nud permanent
	route add $ip dev $interface
	route add $ip6 dev $interface
	EOF
	net_ips "$1" <<-EOF
	link set eth0 up
	addr add $ip/32 dev eth0
	addr add $ip6/128 dev eth0 nodad
	neigh replace 169.254.1.1 dev eth0 $gateway
	neigh replace fe80::1 dev eth0 $gateway
	route add default via 169.254.1.1 dev eth0 onlink
	route add default via fe80::1 dev eth0 onlink
	EOF
}

# Makes br0, a bridge of the node, by `ip link add` with NET_BRIDGE, with pods as ports. Pod N has
# 10.50.0.N, fd50::N and the MAC 02:00:00:00:04:0N.
NET_BRIDGE=(address 02:00:00:00:05:01 type bridge)
NET_BRIDGED=()
net_bridge() { # POD...
	local pod
	ip -n "$NET-node" link add br0 "${NET_BRIDGE[@]}"
	ip -n "$NET-node" link set br0 up
	for pod; do
		net_bridge_pod "$pod"
	done
}

net_bridge_pod() { # POD: the next port
	local n
	NET_BRIDGED+=("$1")
	n=${#NET_BRIDGED[@]}
	net_host "$1"
	net_link node "veth-$1" "02:00:00:00:03:0$n" "$1" eth0 "02:00:00:00:04:0$n"
	ip -n "$NET-node" link set "veth-$1" master br0
	net_ips "$1" <<-EOF
	addr add 10.50.0.$n/24 dev eth0
	addr add fd50::$n/64 dev eth0 nodad
	EOF
}

# Gives the node an IPv4 and an IPv6 address on the bridge.
net_bridge_node() {
	ip -n "$NET-node" addr add 10.50.0.9/24 dev br0
	ip -n "$NET-node" addr add fd50::9/64 dev br0 nodad
}

# Makes the node the pods' default gateway.
net_bridge_routes() {
	local pod
	net_bridge_node
	for pod in "${NET_BRIDGED[@]}"; do
		ip -n "$NET-$pod" route add default via 10.50.0.9
		ip -n "$NET-$pod" -6 route add default via fd50::9
	done
}

# Gives the device `tunnel` of the node the addresses 192.168.9.1 and fd09::1, the outside host's 192.168.9.2 and
# fd09::2.
net_tunnel_up() {
	local host number=0
	for host in node out; do
		number=$((number + 1))
		net_ips $host <<-EOF
		link set tunnel up mtu 1400
		addr add 192.168.9.$number/24 dev tunnel
		addr add fd09::$number/64 dev tunnel nodad
		EOF
	done
}

# Drops what a host would send to these addresses, such as replies to spoofed packets.
net_nobody() { # HOST ADDRESS...
	local host=$1 address
	shift
	for address; do
		ip -n "$NET-$host" route add blackhole "$address"
	done
}

# Waits without a process: nothing is ever written to this pipe. Succeeds, as `sleep` does.
exec {NET_NEVER}<> <(:)
net_pause() { # SECONDS
	read -r -t "$1" -u "$NET_NEVER" || :
}

# Starts a server and waits until the server prints to FILE that it listens. Calls no net_on, so that $!
# is the server's own PID, which net_down kills.
net_server() { # HOST FILE COMMAND...
	: >"$2" # empties an earlier server's output
	"$NET_ENTER" --net="/run/netns/$NET-$1" "${@:3}" </dev/null >"$2" 2>&1 &
	NET_SERVERS+=($!)
	until [ -s "$2" ]; do
		kill -0 $! 2>/dev/null || [ -s "$2" ] || { echo "# $1 cannot listen" && exit 1; }
		net_pause 0.05
	done
}

net_serve() { # HOST...: listeners on NET_PORTS
	local host
	for host; do
		# shellcheck disable=SC2086
		net_server "$host" "$NET_TMP/$host.ready" "$NET_PROBE" serve $NET_PORTS
	done
}

# Answers on one TCP and UDP port with the host's name; see the helper `backend`.
net_names() { # HOST PORT
	net_server "$1" "$NET_TMP/$1.names" "$NET_HELPERS/backend" serve "$1" "$2"
}

net_world() { # POD...
	local host
	net_host node out "$@"
	net_uplink
	for host; do
		NET_PODS+=("$host")
		net_plug "$host"
	done
}

net_start() { # POD...
	[ "$(id -u)" -eq 0 ] || net_skip "needs root"
	[ -x "$BULKHEAD" ] && [ -x "$NET_PROBE" ] || net_skip "not built: make all tests"
	trap net_cleanup EXIT
	trap 'exit 1' INT TERM HUP
	net_world "$@"
	net_serve node out "$@"
}

# Sends one datagram; needs no receiver.
net_datagram() { # FROM ADDRESS PORT
	net_on "$1" bash -c "echo -n '?' >/dev/udp/$2/$3"
}

net_counters() {
	net_bulkhead show counters | sed -E 's/^([a-z]+) +([0-9]+) packets +[0-9]+ bytes +/\1 \2 /'
}

# Starts `monitor` with its output in FILE and waits until `status` lists the process, $net_reader, as a
# reader.
declare -A NET_READS # FILE: the process that prints to it
net_watch() { # FILE ARGUMENT...
	local file=$1
	shift
	: >"$file" && rm -f "$file.seen"
	"$NET_ENTER" --net="/run/netns/$NET-node" "$BULKHEAD" monitor --pin "$NET_PIN" "$@" >"$file" &
	net_reader=$!
	NET_SERVERS+=("$net_reader")
	NET_READS[$file]=$net_reader
	until net_bulkhead status -j | grep -qE "\"readers\":\[([0-9]+,)*${net_reader}[],]"; do
		kill -0 "$net_reader" || return
		net_pause 0.05
	done
}

# Waits until a reader has printed all events: the process sleeps and FILE stays the same.
net_printed() { # FILE
	local size='' now state quiet=0 i
	for ((i = 0; i < 200 && quiet < 2; i++)); do
		net_pause 0.25
		now=$(stat -c %s "$1")
		state=
		{ read -r state <"/proc/${NET_READS[$1]:-none}/stat"; } 2>/dev/null
		state=${state##*) } state=${state%% *}
		[ "$now" = "$size" ] && [ "$state" != R ] && quiet=$((quiet + 1)) || quiet=0
		size=$now
	done
}

# Prints a reader's new lines since the last call.
net_seen() { # FILE
	local before now
	net_printed "$1"
	before=$(cat "$1.seen" 2>/dev/null)
	now=$(wc -l <"$1")
	echo "$now" >"$1.seen"
	sed -n "$((${before:-0} + 1)),$now p" "$1"
}

# Prints which counters a command moves, and by how much, as "VERDICT PACKETS REASON" lines. Leaves out the
# hosts' own neighbour discovery and MLD.
net_moved() { # COMMAND...
	net_bulkhead show counters >"$NET_TMP/counters.before"
	"$@" >/dev/null
	net_bulkhead show counters >"$NET_TMP/counters.after"
	awk '
		{ verdict = $1; packets = $2 }
		!sub(/^[a-z]+ +[0-9]+ packets +[0-9]+ bytes +/, "") { next }
		FILENAME ~ /before$/ { old[verdict, $0] = packets; next }
		/neighbour discovery or MLD$/ { next }
		packets != old[verdict, $0] { print verdict, packets - old[verdict, $0], $0 }' \
		"$NET_TMP/counters.before" "$NET_TMP/counters.after"
}

net_moves() { # EXPECTED COMMAND...: whether it moves these counters, and no others
	net_moved "${@:2}" >"$NET_TMP/moves"
	net_is "$(<"$NET_TMP/moves")" "$1"
}

net_ask() { # FROM tcp|udp ADDRESS PORT WAIT [SOURCE]
	local host=$1
	shift
	net_on "$host" "$NET_PROBE" ask "$@"
}

net_allowed() { # FROM tcp|udp ADDRESS PORT NAME [SOURCE]
	if net_ask "$1" "$2" "$3" "$4" $NET_WAIT_ALLOWED ${6:+"$6"}; then
		net_result ok "$5"
	else
		net_result "not ok" "$5"
		echo "# $1 had no answer from $3, $2/$4"
		net_tell "$1" | sed 's/^/# /'
	fi
}

# Explains a probe without an answer: prints the drops so far and the neighbours and routes of node and
# host.
net_tell() { # HOST
	local host
	net_counters | awk '/^drop/ && $2'
	for host in node "$1"; do
		ip -n "$NET-$host" -s neigh | sed "s/^/$host: neighbour /"
		ip -n "$NET-$host" route | sed "s/^/$host: route /"
	done
	net_bulkhead status 2>/dev/null | sed '/^maps/,$d'
	net_bulkhead endpoint list 2>/dev/null
}

net_denied() { # FROM tcp|udp ADDRESS PORT NAME [SOURCE]
	if net_ask "$1" "$2" "$3" "$4" $NET_WAIT_DENIED ${6:+"$6"}; then
		net_result "not ok" "$5"
		echo "# $1 had an answer from $3, $2/$4"
	else
		net_result ok "$5"
	fi
}

# The same of a pod's addresses of both IP versions, over TCP. In NAME, @ stands for the address.
net_both() { # allowed|denied FROM POD PORT NAME
	local address
	for address in "$(net_ip "$3")" "$(net_ip6 "$3")"; do
		"net_$1" "$2" tcp "$address" "$4" "${5//@/$address}"
	done
}

# Sends or receives steady UDP in the background, counted until net_stream_end; see the helper `stream`.
net_stream() { # HOST ARGUMENT...
	local host=$1
	shift
	: >"$NET_TMP/$host.counts"
	"$NET_ENTER" --net="/run/netns/$NET-$host" "$NET_HELPERS/stream" "$@" </dev/null \
		>"$NET_TMP/$host.counts" 2>&1 &
	NET_SERVERS+=($!)
	NET_STREAMS+=($!)
	until grep -qs ready "$NET_TMP/$host.counts"; do
		kill -0 $! 2>/dev/null || exit 1
		net_pause 0.05
	done
}

# Ends the last started first: these are the senders. A receiver ends once no packet arrives any more.
net_stream_end() {
	local i
	for ((i = ${#NET_STREAMS[@]} - 1; i >= 0; i--)); do
		kill "${NET_STREAMS[$i]}" && wait "${NET_STREAMS[$i]}"
	done
	NET_STREAMS=()
}

net_count() { # HOST PORT
	sed -n "s/^$2 //p" "$NET_TMP/$1.counts"
}

# The helper `frame` sends raw frames; the helper `pair` runs both ends of a transfer.
net_frame() { # FROM ARGUMENT...
	local host=$1
	shift
	net_on "$host" "$NET_HELPERS/frame" "$@"
}

# Without WAIT, the transfer must succeed; on failure net_tell says more.
net_pair() { # FROM TO ARGUMENT...
	local from=$1 to=$2
	shift 2
	WAIT=${WAIT:-$NET_WAIT_ALLOWED} "$NET_HELPERS/pair" "/run/netns/$NET-$from" "/run/netns/$NET-$to" "$@" ||
		{ [ -n "${WAIT-}" ] || net_tell "$from" >&2; false; }
}

# Sections that most tests' policies share. LINE adds a line to the section.

net_head() { # [LINE...]: the policy is for this node
	printf '%s\n' "[bulkhead]" "node = worker-1" "$@"
}

net_node_object() { # this node, with the addresses that its Node object has
	printf '%s\n' "[node worker-1]" "ip = $(net_ip node), $(net_ip6 node)"
}

# Prints an endpoint. The default namespace is shop, the default label role=NAME.
net_endpoint_at() { # [NAMESPACE/]NAME NODE ADDRESSES [LINE...]
	local name=$1
	[[ $name == */* ]] || name=shop/$name
	printf '%s\n' "[endpoint $name]" "node = $2" "ip = $3" "${@:4}"
	[[ " ${*:4}" == *" labels ="* ]] || echo "labels = role=${name#*/}"
}

net_endpoint() { # [NAMESPACE/]POD [LINE...]: a pod of this node
	net_endpoint_at "$1" worker-1 "$(net_ip "${1#*/}"), $(net_ip6 "${1#*/}")" "${@:2}"
}

net_bridged() { # POD NUMBER [LINE...]: the pod that is the bridge's port of that number
	net_endpoint_at "$1" worker-1 "10.50.0.$2, fd50::$2" "interface = veth-$1" "mode = l2" \
		"mac = 02:00:00:00:04:0$2" "${@:3}"
}

# Prints the pods db, with its MAC, and web.
# shellcheck disable=SC2120 # tests name one
net_db_and_web() { # [UPLINK]
	net_head ${1:+"uplink = $1"}
	net_endpoint db "mac = $(net_mac db)"
	net_endpoint web
}

net_policy_of() { # PORTS that db lets in from web, and those that web may go out to
	net_db_and_web
	cat <<-EOF
	[network-policy shop/db]
	endpoints = role=db
	ingress = from endpoints(role=web) ports $1
	[network-policy shop/web]
	endpoints = role=web
	types = Egress
	egress = to endpoints(role=db) ports $2
	EOF
}

# Writes two policies from web to db: UDP/80 passes under old.ini, UDP/443 under new.ini, UDP/5978 under
# both. One end allows all three, the other denies one: a mixture of both policies shows.
net_old_and_new() {
	net_policy_of "UDP/80, UDP/5978" "UDP/80, UDP/443, UDP/5978" >"$NET_TMP/old.ini"
	net_policy_of "UDP/80, UDP/443, UDP/5978" "UDP/443, UDP/5978" >"$NET_TMP/new.ini"
}

# Prints which of the two policies is active for IPv4 and IPv6: old, new, both, none or mixed.
net_active() {
	local answering
	mapfile -t answering < <(net_on web "$NET_PROBE" which $NET_WAIT_ALLOWED \
		"$(net_ip db),$(net_ip6 db)" 80 443 5978)
	case ${answering[0]-?}/${answering[1]-?} in
	"80 5978/80 5978") echo old ;;
	"443 5978/443 5978") echo new ;;
	"80 443 5978/80 443 5978") echo both ;;
	/) echo none ;;
	*) echo "mixed: ${answering[0]-?} over IPv4, ${answering[1]-?} over IPv6" ;;
	esac
}

net_kubeconfig() { # names an API server that is not there
	cat <<-EOF
	apiVersion: v1
	kind: Config
	current-context: c
	contexts: [{name: c, context: {cluster: c, user: u}}]
	clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}]
	users: [{name: u, user: {}}]
	EOF
}

# Prints every map that policy is in, an entry a line, sorted.
net_maps() {
	"$NET_HELPERS/entries" "$NET_PIN" endpoints prefixes variations services ifaces macs segments pairs named
}

# Prints how many entries each of these maps has, as "MAP COUNT" lines.
net_entries() ( # MAP...
	set -o pipefail
	"$NET_HELPERS/entries" "$NET_PIN" "$@" | awk '
		NF == 1 { maps[++n] = $1; next }
		{ count[n]++ }
		END { for (i = 1; i <= n; i++) print maps[i], count[i] + 0 }'
)

# Prints what each pin takes: its kind, name and size, and what the kernel holds for it.
net_takes() (
	set -o pipefail
	"$NET_HELPERS/pins" "$NET_PIN" | awk '$1 != "user" { $3 = ""; print }'
)

net_writes() { # INPUT: how many map writes a load of it makes
	net_bulkhead load -j -v "$1" | sed 's/.*"map_writes": *\([0-9]*\).*/\1/'
}

# Runs the node's command with a fault at the Nth system call of a kind; "$NET_TMP/calls" lists the calls.
net_fault() { # state|bpf|all N kill|ERRNO SUBCOMMAND ARGUMENT...
	net_on node "$NET_HELPERS/fault" "$NET_TMP/calls" "$1" "$2" "$3" \
		"$BULKHEAD" "$4" --pin "$NET_PIN" "${@:5}"
}

# Kills the node's command at the Nth of these system calls, or at its last one if it makes fewer this time: a
# command also deletes the tallies of addresses that are gone, and their number follows the packets of earlier
# probes. AGAIN makes the command possible again once it has run to its end.
net_kill_at() { # state|bpf|all N AGAIN SUBCOMMAND ARGUMENT...
	local n=$2
	until net_fault "$1" "$n" kill "${@:4}" >"$NET_TMP/fault" 2>&1; [ $? -eq 99 ]; do
		[ "$(wc -l <"$NET_TMP/calls")" -lt "$n" ] ||
			{ echo "not killed at $n" && cat "$NET_TMP/fault" && return 1; }
		n=$(wc -l <"$NET_TMP/calls")
		$3 || return
	done
}

# Prints a sample of standard input's lines: the first, the last, and of the others each STEPth with
# BULKHEAD_FULL=1, else about COUNT, selected by BULKHEAD_SEED.
net_sample() { # STEP COUNT
	awk -v full="${BULKHEAD_FULL:-}" -v step="$1" -v count="$2" -v seed="${BULKHEAD_SEED:-0}" '
		{ line[NR] = $0 }
		END {
			if (!full && NR > step * count)
				step = int((NR + count - 1) / count)
			for (n = 1; n <= NR; n++)
				if (n == 1 || n == NR || n % step == seed % step)
					print line[n]
		}'
}

# Prints the numbers of the system calls in "$NET_TMP/calls" at which a walk injects a fault. FROM=N starts
# at the Nth call, to resume a walk.
net_places() { # STEP COUNT
	seq "${FROM:-1}" "$(wc -l <"$NET_TMP/calls")" | net_sample "$@"
}

# True for one NUMBER of N, selected by BULKHEAD_SEED; with BULKHEAD_FULL=1 always.
net_turn() { # NUMBER N
	[ -n "${BULKHEAD_FULL:-}" ] || [ $((($1 + ${BULKHEAD_SEED:-0}) % $2)) -eq 0 ]
}

# Opens TCP connections, all held by one process.
declare -A NET_ASKS NET_HEARS
net_hold() { # FROM TO ADDRESS PORT COUNT
	local ask hear line
	mkfifo "$NET_TMP/$4.ask" "$NET_TMP/$4.hear"
	"$NET_HELPERS/pair" "/run/netns/$NET-$1" "/run/netns/$NET-$2" hold "$3" "$4" "$5" \
		<"$NET_TMP/$4.ask" >"$NET_TMP/$4.hear" &
	NET_SERVERS+=($!)
	exec {ask}>"$NET_TMP/$4.ask" {hear}<"$NET_TMP/$4.hear"
	NET_ASKS[$4]=$ask NET_HEARS[$4]=$hear
	read -r -t 60 -u "$hear" line
	net_is "$line" ready
}

net_alive() { # PORT: how many of them still carry a byte there and back
	local line=none
	echo >&"${NET_ASKS[$1]}"
	read -r -t 60 -u "${NET_HEARS[$1]}" line
	echo "$line"
}
