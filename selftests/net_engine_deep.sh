#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# An object that is nested deeper than a reader of JSON takes by default: whoever may write a NetworkPolicy may put
# such a list of fields into its metadata. The policy counts, and the engine goes on to read what others write.
# shellcheck source=selftests/lib/api.sh
. "$(dirname "$0")/lib/api.sh"

nested() { # DEPTH
	local i
	for ((i = 0; i < $1; i++)); do printf '{"f:x": '; done
	printf '{}'
	for ((i = 0; i < $1; i++)); do printf '}'; done
}
deep() { # DEPTH CIDR
	echo '{"metadata": {"name": "deep", "managedFields": [{"manager": "x", "operation": "Update", "apiVersion":
		"networking.k8s.io/v1", "fieldsType": "FieldsV1", "fieldsV1": '"$(nested "$1")"'}]},
		"spec": {"podSelector": {}, "ingress": [{"from": [{"ipBlock": {"cidr": "'"$2"'"}}]}]}}'
}

api_world
api_begin
net_check "a deep policy is rolled out" api_rolls api POST $API_POLICIES "$(deep 100 10.1.0.0/16)"
net_check "another policy is rolled out beside it" api_rolls
net_check "a very deep version of it" api PUT $API_POLICIES/deep "$(deep 3000 10.2.0.0/16)"
net_check "another policy is rolled out beside that" api_rolls
api_end engine-one TERM
api_engine two --node-limit 20
net_check "an engine that begins anew goes on" api_rolls

net_end
