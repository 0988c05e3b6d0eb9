#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Services under change: backends change while packets flow, without a word to Bulkhead; policies change while
# connections to a Service are open, with either side the first to send; idle connections expire.
# shellcheck source=selftests/lib/service.sh
. "$(dirname "$0")/lib/service.sh"

command -v conntrack >/dev/null || net_skip "needs conntrack"
NET_PORTS=6379
service_start db bad web
for host in db bad out; do
	net_names $host 8080
done
# The backends of Services 1 and 11 change, but 11's open connections stay.
leads="1:db 11:db 2:far 3:db 4:far 5:bad 6:worse"
for number in $leads; do
	service_leads "${number%:*}" "${number#*:}" 8080 || exit 1
done

policy() { # ROLES that web may call [PORTS of servers beside]
	service_endpoints
	cat <<-EOF2
	[network-policy shop/web]
	endpoints = role=web
	types = Ingress, Egress
	egress = to endpoints(role in ($1)) ports TCP/8080, UDP/8080
	${2:+egress = to endpoints(role in (db, far)) ports TCP/${2//, /, TCP/}, UDP/${2//, /, UDP/}}
	EOF2
	service_objects
}
load() { # NAME ROLES [PORTS]
	policy "$2" "${3:-}" >"$NET_TMP/policy.ini"
	net_check "$1" net_bulkhead load "$NET_TMP/policy.ini"
}

# Prints which backends answer new calls to a Service, over both protocols and IP versions.
answers() { # NUMBER WAIT
	local family protocol
	for family in 4 6; do
		for protocol in tcp udp; do
			net_on web "$NET_HELPERS/backend" ask $protocol "$(service_address "$1" $family)" 80 \
				"$2" 4
		done
	done | sed 's/ from .*//' | sort -u | paste -sd +
}

moves() { # HOW ANSWER-OF-bad ANSWER-OF-worse
	local backend expected wait
	for backend in "bad:$2" far:out "worse:$3" db:db; do
		expected=${backend#*:} wait=$NET_WAIT_ALLOWED
		[ "$expected" != silent ] || wait=$NET_WAIT_DENIED
		service_leads 1 "${backend%:*}" 8080
		service_leads 11 "${backend%:*}" 8080
		service_forget udp 1
		net_check "$1: new calls of a Service that leads to ${backend%:*} now: $expected" \
			net_is "$(answers 1 $wait)" "$expected"
		net_check "$1: its open UDP socket leads there: $expected" net_is "$(service_held 1 udp $wait)" "$expected"
		net_check "$1: another such Service's open connections stay with their backend" \
			net_is "$(service_held 11 "$NET_WAIT_ALLOWED")" db
	done
}

net_check "no policy: open connections by each Service" service_hold 1 11 5 6
moves "no policy" bad out
load "load" "db, far"
moves "policy" silent silent

# A denied backend that the kernel has chosen for a socket which is open to an allowed one: it gets no question,
# but what it sends has the form of an answer, and the kernel translates it as one.
answers_unasked() { # BACKEND 4|6
	local port
	port=$(net_on web ss -Huna | awk -v to="$(service_address 1 "$2")" \
		'{ gsub(/[][]/, "") } $5 == to ":80" { sub(".*:", "", $4); print $4 }')
	net_frame "$1" -s 8080 eth0 "$(net_mac "$1")" 02:00:00:00:02:01 udp "$(service_at "$1" "$2")" \
		"$(service_at web "$2")" "$port"
}
for backend in bad:silent:"drop 1 denied by the source's policy" db:db:"pass 1 of an allowed connection"; do
	IFS=: read -r backend answer expected <<<"$backend"
	service_leads 1 "$backend" 8080
	service_forget udp 1
	wait=$NET_WAIT_ALLOWED
	[ "$answer" != silent ] || wait=$NET_WAIT_DENIED
	net_check "$backend behind an open socket: $answer" net_is "$(service_held 1 udp "$wait")" "$answer"
	for family in 4 6; do
		net_check "$backend behind an open socket, unasked over IPv$family: $expected" \
			net_moves "$expected" answers_unasked "$backend" $family
	done
done

# An open TCP connection whose backend the kernel chooses anew: its segments are evaluated by the backend to which they
# go now. That backend does not know the connection, and refuses what arrives.
net_check "open connections by another Service" service_hold 3
for backend in worse:silent db:db out:refused; do
	IFS=: read -r backend answer <<<"$backend"
	wait=$NET_WAIT_ALLOWED
	[ "$answer" != silent ] || wait=$NET_WAIT_DENIED
	service_leads 3 "${backend/out/far}" 8080
	service_forget tcp 3
	net_check "$backend behind an open TCP connection to db: $answer" \
		net_is "$(service_held 3 tcp "$wait")" "$answer"
done

net_check "open connections to backends that policy denies have stopped" \
	net_is "$(service_held 5 $NET_WAIT_DENIED) $(service_held 6 $NET_WAIT_DENIED)" "silent silent"
service_leads 11 bad 8080
load "load a policy that allows the others" "bad, worse"
net_check "denied connections stop, wherever their Service leads now" \
	net_is "$(service_held 11 $NET_WAIT_DENIED)" silent
net_check "new calls reach the Service's present backend" net_is "$(answers 11 "$NET_WAIT_ALLOWED")" bad
net_check "connections that policy allows again go on" net_is \
	"$(service_held 5 "$NET_WAIT_ALLOWED") $(service_held 6 "$NET_WAIT_ALLOWED")" "bad out"

# Connections with a process that speaks for both ends, to ports of the backends: a policy denies those to
# 9001, and allows those to 9002 as ever.
for number in 21:db:9001 22:far:9001 23:db:9002 24:far:9002; do
	IFS=: read -r number backend port <<<"$number"
	service_leads "$number" "$backend" "$port" || exit 1
done
TALKS=()
talk() { # tcp|udp NUMBER...
	local number backend port family place in out said name
	for number in "${@:2}"; do
		read -r backend port <<<"${SERVICE_LEADS[$number]}"
		for family in 4 6; do
			name=$port-$number-$family-$1
			place=$([ $family = 4 ] && service_ip "$backend" || service_ip6 "$backend")
			rm -f "$NET_TMP/$name.in" "$NET_TMP/$name.out"
			mkfifo "$NET_TMP/$name.in" "$NET_TMP/$name.out"
			"$NET_HELPERS/pair" "/run/netns/$NET-web" "/run/netns/$NET-${backend/far/out}" talk \
				"$(service_address "$number" $family),$place" "80,$port" "$1" \
				<>"$NET_TMP/$name.in" >"$NET_TMP/$name.out" 2>&1 &
			NET_SERVERS+=($!)
			exec {out}<"$NET_TMP/$name.out" {in}>"$NET_TMP/$name.in"
			TALKS+=("$name $in $out")
			read -r -t 60 -u "$out" said
			net_is "$said" ready || return
		done
	done
}

# Sends over each connection in one direction at once. Connections whose name has BEGINNING arrive or are
# lost as told; the others arrive.
say() { # there|back arrived|lost BEGINNING
	local name in out said want wait status=0
	for line in "${TALKS[@]}"; do
		read -r name in out <<<"$line"
		wait=$NET_WAIT_ALLOWED
		[[ $name != $3* || $2 = arrived ]] || wait=$NET_WAIT_DENIED
		echo "$1 $wait" >&"$in"
	done
	for line in "${TALKS[@]}"; do
		read -r name in out <<<"$line"
		read -r -t 60 -u "$out" said
		want=arrived
		[[ $name != $3* ]] || want=$2
		[ "$said" = "$want" ] || { echo "$name $1: $said" && status=1; }
	done
	return $status
}

load "load a policy that allows both ports" "db, far" "9001, 9002"
net_check "open TCP connections by each Service" talk tcp 21 22 23 24
net_check "open UDP flows by each Service" talk udp 21 22 23 24
net_check "calls arrive by every connection" say there arrived
net_check "answers arrive by every connection" say back arrived
load "load a policy that denies the first port" "db, far" 9002
net_check "after the commit denied answers are lost" say back lost 9001
net_check "after the commit denied calls are lost" say there lost 9001
load "load the first again" "db, far" "9001, 9002"
net_check "calls arrive again once the first policy is back" say there arrived
net_check "answers arrive again once the first policy is back" say back arrived
load "load a policy that denies the first port" "db, far" 9002
net_check "after the second commit denied calls are lost" say there lost 9001
net_check "after the second commit denied answers are lost" say back lost 9001

# Idle connections expire in Bulkhead's table while the kernel still tracks them, however busy the machine. A question that was sent twice makes
# a stream.
TALKS=()
net_check "unload" net_bulkhead unload
policy "db, far" "9001, 9002" >"$NET_TMP/policy.ini"
net_on node sysctl -qw net.netfilter.nf_conntrack_udp_timeout=600
net_check "load with 15 seconds for idle connections" net_bulkhead load --set timeout-udp=15 \
	--set timeout-udp-stream=15 --set timeout-tcp=15 "$NET_TMP/policy.ini"
for number in 21 22 23 24; do
	service_leads $number "${SERVICE_LEADS[$number]% *}" "$((${SERVICE_LEADS[$number]#* } + 10))"
done
policy "db, far" "9011, 9012" >"$NET_TMP/policy.ini"
net_check "load a policy with Services at other ports" net_bulkhead load "$NET_TMP/policy.ini"
net_check "open TCP connections by each of these Services" talk tcp 21 22 23 24
net_check "open UDP flows by each of these Services" talk udp 21 22 23 24
IDLE=("${TALKS[@]}") TALKS=()
for line in "${IDLE[@]}"; do
	[[ $line != 9012* ]] || TALKS+=("$line")
done
for _ in 1 2 3; do
	net_check "the used connections carry data" say there arrived
	sleep 6
done
TALKS=("${IDLE[@]}")
# The kernel says whose call a UDP answer is of, and policy allows that call. TCP opens by a SYN alone.
net_check "answers by idle UDP connections arrive, and those by idle TCP connections are lost" say back lost "9011-*-tcp"
load "load a policy that denies the idle connections' calls" "db, far" 9012
net_check "answers by idle connections are lost if policy denies their calls" say back lost 9011
load "load a policy that allows the idle connections' calls" "db, far" "9011, 9012"
net_check "a datagram opens an idle flow again, a TCP segment does not" say there lost "9011-*-tcp"
net_check "answers by UDP arrive after that, those by TCP do not" say back lost "9011-*-tcp"

net_check "unload" net_bulkhead unload
net_end
