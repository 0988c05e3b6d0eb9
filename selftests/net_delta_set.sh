#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Deltas after `endpoint set`, `endpoint del` and `endpoint add`. A delta that names such an endpoint, by its records or
# its segment, gives it all that the policy says, as a load of the whole policy does: the record of `endpoint set`
# is deleted, and an endpoint that `endpoint del` took off comes back. A delta that does not name it leaves it as it is.
# An endpoint that the policy loses stays by its record. Each step is taken by a whole load and by a delta, from the
# same state and to the same maps.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"

NET_PORTS="80 443"
net_start db web late extra
# shellcheck source=selftests/lib/delta.sh
. "$(dirname "$0")/lib/delta.sh"
both="$(net_ip late), $(net_ip6 late)" others="$(net_ip extra), $(net_ip6 extra)"

# Each role keeps its segment, whoever of this node is there.
policy() { # FAR'S LABELS [LINE...]
	net_head
	net_endpoint db
	net_endpoint web
	printf '[endpoint shop/far-%s]\nnode = far\nip = 10.9.1.%s,fd09:1::%s\nlabels = role=%s\n' \
		web 1 1 web late 2 2 late
	net_endpoint_at far far "10.9.0.9, fd09::9" "labels = role=$1"
	cat <<-END
		[network-policy shop/db]
		endpoints = role=db
		ingress = from endpoints(role=web) ports TCP/80
		ingress = from endpoints(role=late) ports TCP/443
	END
	printf '%s\n' "${@:2}"
}
late() { # ROLE [LINE...]
	net_endpoint_at late worker-1 "$both" "labels = role=$1" "${@:2}"
}
mac="mac = $(net_mac late)"

# The steps: what is done before the load, the policy of the load, and who late is then: by which port of db it is let in
# (-: by none).
steps=() before=() port=()
step() { # BEFORE PORT POLICY-ARGUMENT...
	steps+=("${#steps[@]}") before+=("$1") port+=("$2")
	policy "${@:3}" >"$here/$((${#steps[@]} - 1)).ini"
}
nobody=('[network-policy shop/late]' 'endpoints = role=nobody' 'types = Egress')
set_late="endpoint set shop/late --labels role=web"
step "" 443 web "$(late late)"
step "endpoint set shop/late --labels role=late" 80 web "$(late web)"
step "endpoint set shop/late --labels role=late" 80 web "$(late web "$mac")"
step "endpoint set shop/late --labels role=late --ip 10.244.0.77,fd44::77" 443 web "$(late late "$mac")"
step "endpoint del shop/late" 80 web "$(late web "$mac")"
step "endpoint del shop/late" 80 web "$(late web)"
step "endpoint set shop/late --labels role=late" 443 late
step "" 80 late "$(late web)"
step "endpoint set shop/far --labels role=web --ip 10.9.0.10" 80 web "$(late web)"
step "endpoint del shop/far" 80 late "$(late web)"
step "endpoint set shop/late --labels role=late --ip 10.244.0.78,fd44::78" 80 late "$(late web)" \
	"$(net_endpoint_at far78 far "10.244.0.78, fd44::78" "labels = role=late")"
step "$set_late" - late "$(late nobody)" "${nobody[@]}"
step "$set_late" 80 late "$(late web)" "${nobody[@]}"
step "endpoint del shop/late" 443 late "$(net_endpoint_at other worker-1 "$both" "labels = role=late")"
step "endpoint set shop/other --labels role=web" 80 late "$(late web)"
step "" - late "$(late nobody)" "${nobody[@]}"
step "" 443 late "$(net_endpoint_at other worker-1 "$both" "labels = role=late")" "${nobody[@]}"
step "" 80 late "$(late web)"
step "endpoint add shop/extra --ip ${others/ /} --labels role=web" 80 late "$(late web)" \
	"$(net_endpoint_at named worker-1 "$others" "labels = role=late")"
net_check "compile policies and deltas" chain "${steps[@]}"

take() { # STEP SUFFIX
	# shellcheck disable=SC2086 # a command and its arguments
	[ -z "${before[$1]}" ] || net_bulkhead ${before[$1]} || return
	load "$here/$1.$2" >"$NET_TMP/$1.$2.said" 2>&1
}
whole() {
	local i
	for i in "${steps[@]}"; do
		take "$i" bhp && state "$NET_TMP/$i.whole" || return
	done
}
by_delta() { # STEP
	take "$1" bhd && test -e "$NET_PIN/blob_base" && state "$NET_TMP/$1.delta" &&
		diff "$NET_TMP/$1.whole" "$NET_TMP/$1.delta"
}
net_check "load whole policies one after another" whole
[ "$NET_FAILED" -eq 0 ] || net_end
net_check "unload" net_bulkhead unload
net_check "load the first policy" load "$here/0.bhp"
for i in "${steps[@]:1}"; do
	what="${before[$i]:-the record of a former step}, then a delta"
	net_check "$what: the maps are those of a whole load" by_delta "$i"
	net_check "$what: the effect is that of a whole load" diff "$NET_TMP/$i.bhp.said" "$NET_TMP/$i.bhd.said"
	reaches_by "${port[$i]}" late db "$what"
done
for address in "$(net_ip db)" "$(net_ip6 db)"; do
	net_allowed extra tcp "$address" 443 "what was added is what the policy names"
	net_denied extra tcp "$address" 80 "it has the policy's labels"
done

# A delta that names others leaves late as it was set, or off.
policy late "$(late web)" >"$here/a.ini"
policy web "$(late web)" >"$here/b.ini"
cp "$here/a.ini" "$here/c.ini"
net_check "compile policies and deltas" chain a b c
net_check "load the first policy" load --rollback --force "$here/a.bhp"
net_check "endpoint set" net_bulkhead endpoint set shop/late --labels role=late
net_check "a delta that names another endpoint" load_delta b
for address in "$(net_ip db)" "$(net_ip6 db)"; do
	net_allowed late tcp "$address" 443 "late is as endpoint set made it at $address"
	net_denied late tcp "$address" 80 "late is not as the policy has it at $address"
done
net_check "endpoint del" net_bulkhead endpoint del shop/late
net_check "another such delta" load_delta c
for address in "$(net_ip db)" "$(net_ip6 db)"; do
	net_denied late tcp "$address" 443 "late is off at $address"
	net_denied late tcp "$address" 80 "late stays off at $address"
	net_allowed web tcp "$address" 80 "web is on at $address"
done
net_end
