#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Watch events in place of an API server's: they give the same verdicts as the same objects in a file, a
# refused object does not stop the others, and an input that is no event stream is refused.
# shellcheck source=selftests/lib/cmd.sh
. "$(dirname "$0")/lib/cmd.sh"

event() { # TYPE OBJECT
	printf '{"type": "%s", "object": %s}\n' "$1" "$2"
}
pod() { # NAME IP LABEL
	printf '{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "%s", "namespace": "shop", "labels": {"app": "%s"}},
		"spec": {"nodeName": "n1", "containers": [{"name": "c"}]}, "status": {"phase": "Running", "podIP": "%s", "podIPs": [{"ip": "%s"}]}}' \
		"$1" "$3" "$2" "$2"
}
policy() { # NAME PEER PORT [TYPE-OF-PORT]
	printf '{"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": "%s", "namespace": "shop"},
		"spec": {"podSelector": {"matchLabels": {"app": "db"}}, "policyTypes": ["Ingress"],
		"ingress": [{"from": [{"podSelector": {"matchLabels": {"app": "%s"}}}], "ports": [{"port": %s}]}]}}' "$1" "$2" "$3"
}
namespace='{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}'

objects() { # OBJECT...: a List
	local object separator=
	printf '{"apiVersion": "v1", "kind": "List", "items": ['
	for object; do
		printf '%s%s' "$separator" "$object"
		separator=,
	done
	echo ']}'
}
compiled() { # FILE: from standard input
	"$BULKHEAD" compile --events -o "$tmp/$1.bhp" -
}
same() { # FILE OBJECT...: every pair of pods is evaluated as by these objects
	objects "${@:2}" >"$tmp/$1.json"
	"$BULKHEAD" compile -o "$tmp/$1-objects.bhp" "$tmp/$1.json" >/dev/null || return
	is "$("$BULKHEAD" matrix -j --port TCP/80 "$tmp/$1.bhp")" \
		"$("$BULKHEAD" matrix -j --port TCP/80 "$tmp/$1-objects.bhp")"
}
traces() { # FILE FROM VERDICT
	"$BULKHEAD" trace --from "shop/$2" --to shop/db --port TCP/80 "$tmp/$1.bhp" | grep -q "^$3"
}

{
	event ADDED "$namespace"
	event ADDED "$(pod db 10.0.0.1 db)"
	event ADDED "$(pod web 10.0.0.2 web)"
	event ADDED "$(pod old 10.0.0.3 web)"
	event ADDED "$(policy db web 80)"
	event ADDED '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "namespace": "shop"}}'
	event BOOKMARK '{"kind": "Pod", "metadata": {"resourceVersion": "7"}}'
} >"$tmp/stream"
check "a stream of added objects compiles" compiled added <"$tmp/stream"
check "the stream of added objects gives the verdicts of the same objects in a file" same added "$namespace" "$(pod db 10.0.0.1 db)" \
	"$(pod web 10.0.0.2 web)" "$(pod old 10.0.0.3 web)" "$(policy db web 80)"
check "web is allowed by it" traces added web allow

{
	cat "$tmp/stream"
	event DELETED "$(pod old 10.0.0.3 web)"
	event ADDED "$(pod new 10.0.0.3 job)"
	event MODIFIED "$(pod web 10.0.0.2 job)"
	event MODIFIED "$(policy db job 80)"
} >"$tmp/longer"
check "a stream of changes and deletions compiles" compiled changed <"$tmp/longer"
check "the stream of changes gives the verdicts of the objects that are left" same changed "$namespace" "$(pod db 10.0.0.1 db)" \
	"$(pod web 10.0.0.2 job)" "$(pod new 10.0.0.3 job)" "$(policy db job 80)"
tr -d '\n' <"$tmp/longer" >"$tmp/one-line"
check "a stream without line ends compiles" compiled joined <"$tmp/one-line"
check "the stream without line ends compiles to the same bytes" cmp "$tmp/changed.bhp" "$tmp/joined.bhp"
bytewise() {
	local i
	for ((i = 1; i <= $(wc -c <"$tmp/stream"); i += 997)); do
		tail -c +"$i" "$tmp/stream" | head -c 997
		sleep 0.01
	done
}
check "a stream that arrives byte by byte compiles" compiled pieces < <(bytewise)
check "the stream that arrives byte by byte compiles to the same bytes" cmp "$tmp/added.bhp" "$tmp/pieces.bhp"

# The last policy has an invalid port: the version that was accepted before stays active.
{
	cat "$tmp/stream"
	event MODIFIED "$(policy db job '"1 2"')"
} >"$tmp/refused"
check "a refused change does not stop the rest" compiled refused <"$tmp/refused"
check "the refused change is named" grep -q "NetworkPolicy shop/db" <(compiled refused <"$tmp/refused" 2>&1)
check "the version before the refused change counts" same refused "$namespace" "$(pod db 10.0.0.1 db)" \
	"$(pod web 10.0.0.2 web)" "$(pod old 10.0.0.3 web)" "$(policy db web 80)"
{
	sed '/NetworkPolicy/,$d' "$tmp/stream"
	event ADDED "$(policy db web '"1 2"')"
} >"$tmp/unknown"
check "a stream with a policy that was never accepted compiles" compiled unknown <"$tmp/unknown"
check "that policy isolates the pods that it selects" traces unknown web deny

refuses() { # TEXT: with exit status 2 and these words
	"$BULKHEAD" compile --events -o "$tmp/none.bhp" - 2>"$tmp/why"
	is $? 2 && { grep -qF -- "$1" "$tmp/why" || { cat "$tmp/why" && false; }; }
}
check "an empty stream is refused" refuses "no event" </dev/null
check "a stream that ends within an event is refused" refuses "ends in the middle" < <(head -c 500 "$tmp/stream")
check "an unknown type of event is refused" refuses "event 1: type" <<<'{"type": "ERROR", "object": {}}'
check "an error of the API server is refused with what the server says" refuses "event 1: type: ERROR: the API server ended the watch: too old" \
	<<<'{"type": "ERROR", "object": {"kind": "Status", "apiVersion": "v1", "code": 410, "message": "too old"}}'
check "a stream with a byte order mark compiles" compiled marked < <(printf '\xef\xbb\xbf' && cat "$tmp/stream")
check "the stream with a byte order mark compiles to the same bytes" cmp "$tmp/added.bhp" "$tmp/marked.bhp"
endless() { # an event that begins a string, and never ends it
	printf '{"type": "' && yes a
}
check "an event without an end is refused" refuses "event 1: has more than 16 MiB" < <(endless 2>/dev/null)
check "a stream that is no JSON is refused" refuses "event 1: " <<<'apiVersion: v1'
check "the refused streams write no file" test ! -e "$tmp/none.bhp"
check_end
