#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The alert rules by promtool: each fires when it should, with its text, and is silent beside; each has a section in
# RUNBOOK.md whose commands exist.
# shellcheck source=selftests/lib/cmd.sh
. "$(dirname "$0")/lib/cmd.sh"

command -v promtool >/dev/null || { echo "1..0 # SKIP needs prometheus" && exit 4; }
sed -n '/^spec:/,$ s/^  //p' "$top/tools/deploy/monitoring/rules.yaml" >"$tmp/rules.yaml"
cp "$top"/selftests/lib/alerts{,_day}.yaml "$tmp/"
mapfile -t alerts < <(sed -n 's/^ *- alert: //p' "$tmp/rules.yaml")
check "there are alerts" test ${#alerts[@]} -ge 18
check "promtool reads the rules" promtool check rules "$tmp/rules.yaml"
check "each alert fires when it should, and not beside" promtool test rules "$tmp"/alerts{,_day}.yaml

# All expressions are replaced by one that is never true, and by one that always is: promtool names each test that fails.
# At each fifth minute the tests come to the same: so many evaluations of what is always true take longest.
mkdir "$tmp/other" && cp "$tmp/alerts_day.yaml" "$tmp/other/"
sed 's/^evaluation_interval: 1m$/evaluation_interval: 5m/' "$tmp/alerts.yaml" >"$tmp/other/alerts.yaml"
noticed() { # EXPRESSION
	local alert bad=0
	awk -v other="$1" '
		skip && /^ *for:/ { skip = 0 }
		/^ *expr:/ { sub(/expr:.*/, "expr: " other); print; skip = 1; next }
		!skip { print }' "$tmp/rules.yaml" >"$tmp/other/rules.yaml"
	promtool check rules "$tmp/other/rules.yaml" >"$tmp/said" || return
	promtool test rules "$tmp"/other/alerts{,_day}.yaml >"$tmp/said" 2>&1 && return 1
	for alert in "${alerts[@]}"; do
		grep -q "alertname: *$alert," "$tmp/said" || { echo "$alert" && bad=1; }
	done
	return $bad
}
check "an alert that never fires fails its test" noticed "vector(0) == 1"
check "an alert that always fires fails its test" noticed "vector(1)"

runbook=$top/RUNBOOK.md
sections() {
	diff <(printf '%s\n' "${alerts[@]}" | sort) <(sed -n 's/^## //p' "$runbook" | sort)
}
check "each alert has a section of the runbook, and each section an alert" sections
anchors() {
	diff <(printf '%s\n' "${alerts[@]}" | tr 'A-Z' 'a-z') <(sed -n 's/.*runbook: RUNBOOK.md#//p' "$tmp/rules.yaml")
}
check "each alert leads to its own section" anchors
commands() { # `bulkhead COMMAND --option...` of the runbook: the command has these options
	local line command option bad=0
	while read -r line; do
		command=$(awk '{ print $2 }' <<<"$line")
		"$BULKHEAD" help "$command" >"$tmp/help" 2>/dev/null || { echo "$line" && bad=1 && continue; }
		for option in $(grep -oE -- '--[a-z-]+' <<<"$line"); do
			grep -q -- "$option" "$tmp/help" || { echo "$line: $option" && bad=1; }
		done
	done < <(tr '\n' ' ' <"$runbook" | grep -oE '`bulkhead [a-z][^`]*`' | tr -d '`')
	return $bad
}
check "the runbook's commands and options exist" commands
reasons() { # what the runbook quotes of `show counters` is a line of it
	local text bad=1
	while read -r text; do
		bad=0
		grep -qF "\"$text\"" "$top/maps/counter.h" || { echo "$text" && return 1; }
	done < <(tr '\n' ' ' <"$runbook" | grep -oE '`bulkhead show counters` \(drops "[^"]*"' | cut -d'"' -f2)
	return $bad
}
check "the counters that the runbook names are printed" reasons
check "the runbook names no other counter" is \
	"$(tr '\n' ' ' <"$runbook" | grep -oE '`bulkhead show counters` \([^d]')" ""
metrics() { # of all documents: the source has each. Those of the plugin have their prefix from one place.
	local name bad=1
	for name in $(cat "$top"/*.md "$top"/*/README.md "$top"/*/*/README.md | grep -oE '(^|[^-a-z])bulkhead_[a-z_]+' | grep -oE 'bulkhead_.*' | sort -u); do
		name=${name#bulkhead_} name=${name#cni_} bad=0
		grep -rqE "\"(bulkhead_|cni_)?${name%_bucket}\\\\?[\"{]" "$top/user" || { echo "$name" && return 1; }
	done
	return $bad
}
check "the metrics that documents name are exported" metrics
check_end
