#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# One NetworkPolicy with every selector operator, named ports that differ between pods, a port range and an
# ipBlock with exceptions, in YAML and in INI: the compiled files give the same verdicts, and real sockets
# the same connections after a load of either.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"

net_start db web job cart bare

pod() { # NAMESPACE NAME LABELS PORTS
	cat <<-END
		---
		apiVersion: v1
		kind: Pod
		metadata: {name: $2, namespace: $1, labels: {$3}}
		spec: {nodeName: worker-1, containers: [{name: main, ports: [$4]}]}
		status: {podIPs: [{ip: $(net_ip "$2")}, {ip: "$(net_ip6 "$2")"}]}
	END
}

endpoint() { # NAMESPACE NAME LABELS PORT...
	printf '[endpoint %s]\nnode = worker-1\nip = %s, %s\nlabels = %s\n' "$1/$2" \
		"$(net_ip "$2")" "$(net_ip6 "$2")" "$3"
	[ $# -lt 4 ] || printf 'port = %s\n' "${@:4}"
}

{
	cat <<'END'
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {tier: back, env: prod}}}
- {apiVersion: v1, kind: Namespace, metadata: {name: lab, labels: {tier: front}}}
- {apiVersion: v1, kind: Namespace, metadata: {name: bare}}
END
	pod shop db "app: db, track: stable" \
		"{name: svc, containerPort: 6379}, {name: feed, containerPort: 5978, protocol: UDP}"
	pod shop web "app: web, track: canary" "{name: svc, containerPort: 7000}"
	pod lab job "app: job" ""
	pod lab cart "app: cart, track: stable" ""
	pod bare bare "" ""
	cat <<'END'
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: mine, namespace: shop}
spec:
  podSelector:
    matchLabels: {}
    matchExpressions:
    - {key: app, operator: In, values: [db, web]}
    - {key: track, operator: NotIn, values: [beta]}
    - {key: app, operator: Exists}
    - {key: legacy, operator: DoesNotExist}
  policyTypes: [Ingress, Egress]
  ingress:
  - from:
    - podSelector:
        matchExpressions: [{key: track, operator: NotIn, values: [stable]}]
      namespaceSelector:
        matchExpressions:
        - {key: tier, operator: In, values: [front, middle]}
        - {key: env, operator: DoesNotExist}
    ports: [{port: svc}, {protocol: UDP, port: feed}, {protocol: TCP, port: 440, endPort: 450}]
  - from: [{ipBlock: {cidr: 172.17.0.0/16, except: [172.17.1.0/24, 172.17.2.0/24]}}]
    ports: [{port: 80}]
  egress:
  - to: [{namespaceSelector: {matchLabels: {tier: front}}}]
END
} >"$NET_TMP/policy.yaml"

{
	printf '[namespace shop]\nlabels = tier=back, env=prod\n'
	printf '[namespace lab]\nlabels = tier=front\n[namespace bare]\n'
	endpoint shop db "app=db, track=stable" "svc TCP/6379" "feed UDP/5978"
	endpoint shop web "app=web, track=canary" "svc TCP/7000"
	endpoint lab job "app=job"
	endpoint lab cart "app=cart, track=stable"
	endpoint bare bare ""
	cat <<'END'
[network-policy shop/mine]
endpoints = app in (db, web), track notin (beta), app, !legacy
types = Ingress, Egress
ingress = from endpoints(track notin (stable) in namespaces(tier in (front, middle), !env))
	ports svc, UDP/feed, TCP/440-450
ingress = from cidr(172.17.0.0/16 except 172.17.1.0/24, 172.17.2.0/24) ports TCP/80
egress = to namespaces(tier=front)
END
} >"$NET_TMP/policy.ini"

# Source, destination, protocol, port, expected verdict, reason.
cat >"$NET_TMP/flows" <<'END'
job db tcp 6379 allowed a name is the number that its pod gives it
job db tcp 7000 denied but not another pod's number
job web tcp 7000 allowed the other pod's number there
job web tcp 6379 denied but not the first one's
job db udp 5978 allowed a name of a UDP port
job web udp 5978 denied but not where no port has that name
job db tcp 443 allowed within the range of ports
job db tcp 80 denied outside it
cart db tcp 6379 denied a pod that NotIn leaves out
web db tcp 6379 denied its own namespace, which In and DoesNotExist leave out
bare db tcp 6379 denied a namespace that In leaves out
172.17.0.9 db tcp 80 allowed the block
172.17.1.9 db tcp 80 denied but not its exception
db job tcp 80 allowed egress to the namespace
db bare tcp 80 denied and to no other
bare cart tcp 80 allowed what no policy selects is open
END

end_of() { # NAME FAMILY
	case $1 in
	172.*) echo "$1" ;;
	*) [ "$2" = 4 ] && net_ip "$1" || net_ip6 "$1" ;;
	esac
}

questions() {
	local from to protocol port
	while read -r from to protocol port _; do
		echo "$(end_of "$from" 4) $(end_of "$to" 4) ${protocol^^}/$port"
		[[ $from == 172.* ]] || echo "$(end_of "$from" 6) $(end_of "$to" 6) ${protocol^^}/$port"
	done <"$NET_TMP/flows"
}

verdicts() { # FORM
	questions | "$BULKHEAD" trace --batch - "$NET_TMP/$1.bhp"
}

due() {
	local from verdict
	while read -r from _ _ _ verdict _; do
		echo "${verdict/allowed/allow}"
		[[ $from == 172.* ]] || echo "${verdict/allowed/allow}"
	done <"$NET_TMP/flows" | sed s/denied/deny/
}

connections() { # FORM
	local from to protocol port verdict why
	while read -r from to protocol port verdict why; do
		if [[ $from == 172.* ]]; then
			"net_$verdict" out "$protocol" "$(net_ip "$to")" "$port" "$1: $why" "$from"
			continue
		fi
		"net_$verdict" "$from" "$protocol" "$(net_ip "$to")" "$port" "$1: $why"
		"net_$verdict" "$from" "$protocol" "$(net_ip6 "$to")" "$port" "$1: $why, over IPv6"
	done <"$NET_TMP/flows"
}

for form in yaml ini; do
	net_check "compile $form" "$BULKHEAD" compile -o "$NET_TMP/$form.bhp" "$NET_TMP/policy.$form"
	net_check "$form gives the expected verdicts" net_is "$(verdicts $form | cut -f1)" "$(due)"
done
net_check "YAML and INI compile to the same bytes" cmp "$NET_TMP/yaml.bhp" "$NET_TMP/ini.bhp"
for form in yaml ini; do
	net_check "load $form" net_bulkhead load -n worker-1 "$NET_TMP/policy.$form"
	connections $form
	net_check "unload $form" net_bulkhead unload
done
net_end
