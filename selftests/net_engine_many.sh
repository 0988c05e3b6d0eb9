#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A namespace has many refused policies when an engine begins to lead. The engine tells of each by an Event, few at a time: all
# at once they would take its memory, and the API server's time. Its log has a line for a policy of another namespace, too.
# shellcheck source=selftests/lib/api.sh
. "$(dirname "$0")/lib/api.sh"

MANY=300
api_world
policies=${API_POLICIES/shop/evil}
for ((i = 0; i < MANY; i++)); do
	printf 'next\nrequest = POST\nurl = "http://127.0.0.1:%s%s"\ndata = "%s"\noutput = /dev/null\n' "$API_PORT" $policies \
		'{\"metadata\": {\"name\": \"p'$i'\"}, \"spec\": {\"podSelector\": {}, \"ingress\": [{\"from\": [{\"ipBlock\": {\"cidr\": \"10.0.0.0/99\"}}]}]}}'
done | tail -n +2 >"$NET_TMP/many"
net_check "$MANY policies that Bulkhead refuses" net_on node curl -s -f -Z -K "$NET_TMP/many"
net_check "a policy of another namespace that Bulkhead refuses" eval \
	'api POST $API_POLICIES "{\"metadata\": {\"name\": \"other\"}, \"spec\": {\"podSelector\": 7}}" >/dev/null'
SENT=POST_/api/v1/namespaces/evil/events
events() { # how many there are
	api GET /api/v1/namespaces/evil/events | grep -o '"reason":"Refused"' | wc -l
}

api_holds evil/events # the answers wait
api_begin
net_check "the log has a line for the refused policy of the other namespace" api_await api_logged engine-one warning \
	"engine: an object is refused: NetworkPolicy shop/other"
net_check "the log has no line for most of the many" test \
	"$(grep -c "an object is refused: NetworkPolicy evil/" "$NET_TMP/engine-one.log")" -lt 200
before=$(api_generation)
net_check "another namespace's policy changes" api_change
net_check "the engine rolls the change out" api_await api_rolled_out "$before"
net_check "the engine sends an Event" api_await api_counts "$SENT" 0
net_check "the engine sends few Events at a time: $(api_count "$SENT")" test "$(api_count "$SENT")" -le 8
api_holds ""
# The list of all Events is read once so many were sent: the engine takes minutes for them.
net_check "the engine sends an Event for each policy" api_await api_counts "$SENT" $((MANY - 1))
net_check "each policy has an Event" api_await eval '[ "$(events)" = $MANY ]'
net_end
