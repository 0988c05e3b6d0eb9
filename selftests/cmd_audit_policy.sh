#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Policies that are only audited, as the commands see them: by YAML's annotation and by INI, of every kind of policy, in
# trace, show, matrix, diff, lint and recommend; what is no such annotation is refused, or enforced.
# shellcheck source=selftests/lib/cmd.sh
. "$(dirname "$0")/lib/cmd.sh"

pods=$'[endpoint shop/db]\nip = 10.1.0.5\nlabels = role=db\n[endpoint shop/web]\nip = 10.1.0.6\nlabels = role=web\n'
says() { # STATUS PATTERN ARGUMENT...
	run_bulkhead "${@:3}"
	is $? "$1" && grep -E -- "$2" "$tmp/out" "$tmp/err" || { cat "$tmp/out" "$tmp/err" && false; }
}
policy() { # KIND NAME LINE...: audited, then enforced
	printf '%s[%s %s]\naudit = yes\n' "$pods" "$1" "$2" >"$tmp/audited.ini"
	printf '%s\n' "${@:3}" >>"$tmp/audited.ini"
	grep -v '^audit' "$tmp/audited.ini" >"$tmp/enforced.ini"
}
coloured() { # the audited cell has the colour of a warning on a terminal
	env -u NO_COLOR -u COLUMNS TERM=xterm script -qec "$(printf '%q ' "$BULKHEAD" matrix --port TCP/80 "$tmp/audited.ini")" \
		/dev/null </dev/null >"$tmp/out"
	grep -F $'shop/web\033[33m a' "$tmp/out" || { cat -v "$tmp/out" && false; }
}
flow=(--from shop/web --to shop/db --port TCP/80)
lints() {
	run_bulkhead lint "$tmp/audited.ini"
	! grep -E 'never-decides|overridden|no-isolation' "$tmp/out" "$tmp/err"
}
both() { # KIND TIER-AND-NAME STATUS: what trace says of the flow
	check "an audited $1 does not deny" says 0 "^  ingress +allow default \\(audit: deny $2\\)$" \
		trace "${flow[@]}" "$tmp/audited.ini"
	check "an enforced $1 denies" says 1 "^  ingress +deny $3" trace "${flow[@]}" "$tmp/enforced.ini"
	check "trace -v of an audited $1 agrees with the compiled policy" says 0 'audited only' trace -v "${flow[@]}" "$tmp/audited.ini"
	check "diff says what the audit keeps back of a $1" says 1 'old: .*audit: deny' diff "$tmp/audited.ini" "$tmp/enforced.ini"
	check "lint does not say that an audited $1 has no effect" lints
	check "matrix marks what an audited $1 would deny" says 0 '^2 shop/web a' matrix --port TCP/80 "$tmp/audited.ini"
	check "matrix paints what an audited $1 would deny" coloured
}
policy network-policy shop/in 'endpoints = role=db' 'ingress = from endpoints(role=none)'
both network-policy "network-policy shop/in" "network-policy: isolated by shop/in"
check "the isolation of an audited policy is no isolation" says 0 'shop/in would isolate \(audited\)' show rules "$tmp/audited.ini"
policy admin-network-policy guard 'priority = 1' 'subject = endpoints(role=db in namespaces())' 'ingress = shut: Deny from namespaces()'
both admin-network-policy "admin guard/shut" "admin guard/shut"
policy cluster-network-policy base 'tier = Baseline' 'priority = 1' 'subject = endpoints(role=db in namespaces())' 'ingress = Deny from namespaces()'
both cluster-network-policy "baseline base/ingress\\[0\\]" "baseline base/ingress\\[0\\]"
policy baseline-admin-network-policy default 'subject = endpoints(role=db in namespaces())' 'ingress = Deny from namespaces()'
both baseline-admin-network-policy "baseline default/ingress\\[0\\]" "baseline default/ingress\\[0\\]"

yaml() { # ANNOTATION [UID] [FIELD]
	printf 'apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata:\n  name: in\n  namespace: shop\n'
	[ -z "${2:-}" ] || echo "  uid: $2"
	printf '  annotations: {bulkhead.dev/audit: %s}\nspec: {podSelector: {matchLabels: {role: db}}, ingress: []%s}\n' "$1" "${3:-}"
}
printf '%s' "$pods" >"$tmp/pods.ini"
yaml '"true"' >"$tmp/p.yaml"
check "the annotation audits a policy in YAML" says 0 'audit: deny network-policy shop/in' trace "${flow[@]}" "$tmp/pods.ini" "$tmp/p.yaml"
yaml '"false"' >"$tmp/p.yaml"
check "the annotation false enforces" says 1 'deny network-policy: isolated by shop/in' trace "${flow[@]}" "$tmp/pods.ini" "$tmp/p.yaml"
yaml '"yes"' >"$tmp/p.yaml"
check "another word is refused by its line" says 2 'p.yaml:6: metadata.annotations.*audit.*neither "true" nor "false"' \
	trace "${flow[@]}" "$tmp/pods.ini" "$tmp/p.yaml"
yaml '"true"' c0ffee ', unheard: 1' >"$tmp/p.yaml"
check "an audited policy that cannot be used is set aside, and isolates nobody" says 0 'audit: deny network-policy shop/in' \
	trace "${flow[@]}" "$tmp/pods.ini" "$tmp/p.yaml"
yaml '"yes"' c0ffee >"$tmp/p.yaml"
check "an API server's policy with another word is set aside, and isolates" says 1 'deny network-policy: isolated by shop/in' \
	trace "${flow[@]}" "$tmp/pods.ini" "$tmp/p.yaml"
check_end
