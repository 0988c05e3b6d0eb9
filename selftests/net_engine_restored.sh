#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The API server's store is put back to a backup: objects are those of an older time, versions count from there on, and a
# watch from a later version tells nothing. Engine and follower notice that, at once where the streams end, and within a
# minute or so where they stay open. Then the node has the policy of the objects that there are.
# shellcheck source=selftests/lib/api.sh
. "$(dirname "$0")/lib/api.sh"

NET_PORTS="80 443 7000"
API_SECONDS=${SECS:-150}
api_world db web
restores() { # HOW VERSION
	api PUT /test/restore "$1 $2" >/dev/null
}
opens() { # PORT: alone
	local port
	for port in 80 443 7000; do
		if [ "$port" = "$1" ]; then
			net_allowed web tcp "$(net_ip db)" "$port" "$2: port $port is open"
		else
			net_denied web tcp "$(net_ip db)" "$port" "$2: port $port is closed"
		fi
	done
}
noticed() { # TIMES
	[ "$(grep -c "warning: .*: all objects are listed anew" "$NET_TMP/engine-one.log")" -ge "$1" ] &&
		[ "$(grep -c "warning: .*: all objects are listed anew" "$NET_TMP/follow-worker-1.log")" -ge "$1" ]
}
is_open() { # PORT
	net_on web timeout 1 bash -c ": >/dev/tcp/$(net_ip db)/$1" 2>/dev/null
}

api_engine one --node-limit 20
api_follower worker-1
net_check "a policy opens port 80" api_follows api_opens POST db 80
backup=$(api GET /test/version)
net_check "a later policy opens port 443" api_follows api_opens PUT db 443
net_check "a further pod is there" api_pod worker-3 late late 10.9.9.9
net_check "a still later policy opens port 7000" api_follows api_opens PUT db 7000
opens 7000 "before the restore"

net_check "the backup is restored while the API server is down" restores down "$backup"
net_check "engine and follower notice" api_await noticed 1
net_check "the node has the backup's policy" api_await is_open 80
opens 80 "after the restore"
net_check "a policy after the restore opens port 443" api_follows api_opens PUT db 443
opens 443 "a policy of the new time"

backup=$(api GET /test/version)
net_check "a later policy opens port 7000" api_follows api_opens PUT db 7000
touches() { # COUNT: so many versions of an object that nobody watches
	local i
	api POST /api/v1/namespaces/shop/configmaps '{"metadata": {"name": "x"}}' >/dev/null
	for ((i = 0; i < $1; i++)); do
		api PATCH /api/v1/namespaces/shop/configmaps/x '{"data": {"x": "'"$i"'"}}' >/dev/null || return
	done
}
net_check "the store's versions go on" touches 200
net_check "a watch hears of them" api_follows api_opens PUT db 7001
net_check "the backup is restored and no stream ends" restores silent "$backup"
net_check "engine and follower notice, though their watches tell nothing" api_await noticed 2
net_check "the node has the silent backup's policy" api_await is_open 443
opens 443 "after the silent restore"
net_check "a policy after the silent restore opens port 80" api_follows api_opens PUT db 80
opens 80 "a policy of the newest time"
net_check "the maps are as the policy says" net_bulkhead status --check
net_end
