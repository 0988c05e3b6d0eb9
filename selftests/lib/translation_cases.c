// SPDX-License-Identifier: GPL-2.0-only
#include "selftests/lib/translation_cases.h"

#include <netinet/in.h>

#define PEER(actor) (1u << (actor))
#define ISOLATES(of)                            \
	{                                       \
		.isolates = true, .peers = (of) \
	}

/* A backend to which the call was denied sends a SYN, which is the call's reply to the kernel. When
 * the kernel has forgotten, what answers the SYN leaves the node by the Service's address. */
#define REPLY_OPENS(ip)                                                                           \
	{                                                                                         \
		.policies = {{.rules[BRIDGED_D] = {{}, ISOLATES(PEER(POD_A))},                    \
			      .rules[BRIDGED_E] = {ISOLATES(PEER(POD_C))}}},                      \
		.n = 4,                                                                           \
		.steps = {                                                                        \
			{CALL, .id = 1, .actor = BRIDGED_D, .version = ip,                        \
			 .protocol = IPPROTO_TCP, .target = CLUSTER, .to = 1, .backend = 3,       \
			 .segment = SYN},                                                         \
			{REPLY, .id = 1, .version = ip, .protocol = IPPROTO_TCP, .segment = SYN}, \
			{FORGET},                                                                 \
			{AGAIN, .id = 1, .version = ip, .protocol = IPPROTO_TCP,                  \
			 .segment = SYN_ACK},                                                     \
		},                                                                                \
	}

/* The caller's entry is of a call that was allowed. The next call gets another backend, which
 * denies it; what that sends to the node is the reply to the call. */
#define REPLY_OF_DENIED(ip)                                                                        \
	{                                                                                          \
		.policies = {{.rules[BRIDGED_D] = {ISOLATES(PEER(POD_A)),                          \
						   ISOLATES(PEER(BRIDGED_E))}}},                   \
		.n = 5,                                                                            \
		.steps = {                                                                         \
			{CALL, .id = 0, .actor = POD_C, .version = ip, .protocol = IPPROTO_SCTP,   \
			 .target = CLUSTER, .to = 3, .backend = 1, .segment = SYN},                \
			{REPLY, .id = 0, .version = ip, .protocol = IPPROTO_SCTP,                  \
			 .segment = SYN_ACK},                                                      \
			{FORGET},                                                                  \
			{CALL, .id = 2, .actor = POD_C, .version = ip, .protocol = IPPROTO_SCTP,   \
			 .target = CLUSTER, .to = 3, .mode = MASQUERADE, .segment = SYN},          \
			{REPLY, .id = 2, .version = ip, .protocol = IPPROTO_SCTP, .segment = ACK}, \
		},                                                                                 \
	}

/* A pod calls itself behind the node's address, so the entry says that the node calls. A segment of
 * an outside host by the same ports must not decide about another host's call. */
#define NODE_OR_HOST(ip)                                                                         \
	{                                                                                        \
		.policies = {{.rules[POD_B] = {ISOLATES(PEER(HOST_1))}}}, .n = 6,                \
		.steps = {                                                                       \
			{CALL, .id = 0, .actor = POD_B, .version = ip, .protocol = IPPROTO_TCP,  \
			 .target = CLUSTER, .to = 5, .mode = MASQUERADE, .segment = SYN},        \
			{REPLY, .id = 0, .version = ip, .protocol = IPPROTO_TCP,                 \
			 .segment = SYN_ACK},                                                    \
			{CALL, .id = 1, .actor = WORSE, .version = ip, .protocol = IPPROTO_TCP,  \
			 .target = CLUSTER, .to = 5, .mode = MASQUERADE, .segment = SYN},        \
			{FORGET},                                                                \
			{AGAIN, .id = 1, .version = ip, .protocol = IPPROTO_TCP,                 \
			 .mode = MASQUERADE, .segment = ACK},                                    \
			{CALL, .id = 2, .actor = HOST_1, .version = ip, .protocol = IPPROTO_TCP, \
			 .port = 2, .target = CLUSTER, .to = 5, .mode = RANDOM, .segment = SYN}, \
		},                                                                               \
	}

/* Two pods have one port of the node after each other, and only the first may call the host. */
#define PORT_AGAIN(ip)                                                                          \
	{                                                                                       \
		.policies = {{.rules = {[POD_A] = {{}, ISOLATES(PEER(HOST_1))},                 \
					[POD_B] = {{}, ISOLATES(PEER(HOST_2))}}}},              \
		.n = 3,                                                                         \
		.steps = {                                                                      \
			{CALL, .id = 0, .actor = POD_A, .version = ip, .protocol = IPPROTO_UDP, \
			 .target = CLUSTER, .to = 2, .mode = MASQUERADE, .backend = 0},         \
			{FORGET},                                                               \
			{CALL, .id = 1, .actor = POD_B, .version = ip, .protocol = IPPROTO_UDP, \
			 .target = CLUSTER, .to = 2, .mode = MASQUERADE, .backend = 0},         \
		},                                                                              \
	}

/* The same by TCP: the second pod's connection was to another backend. */
#define BACKEND_CHANGES(ip)                                                        \
	{                                                                          \
		.policies = {{.rules = {[POD_A] = {{}, ISOLATES(PEER(HOST_1))},    \
					[POD_B] = {{}, ISOLATES(PEER(HOST_2))}}}}, \
		.n = 9,                                                            \
		.steps = {                                                         \
			OPEN(ip, 0, POD_A, 0),                                     \
			{FORGET},                                                  \
			OPEN(ip, 1, POD_B, 1),                                     \
			{FORGET},                                                  \
			{AGAIN, .id = 1, .version = ip, .protocol = IPPROTO_TCP,   \
			 .mode = MASQUERADE, .backend = 0, .segment = ACK},        \
		},                                                                 \
	}

/* A connection of a pod to one of the two hosts. */
#define OPEN(ip, number, pod, host)                                                                \
	{CALL,                                                                                     \
	 .id = number,                                                                             \
	 .actor = pod,                                                                             \
	 .version = ip,                                                                            \
	 .protocol = IPPROTO_TCP,                                                                  \
	 .target = CLUSTER,                                                                        \
	 .to = 2,                                                                                  \
	 .mode = MASQUERADE,                                                                       \
	 .backend = host,                                                                          \
	 .segment = SYN},                                                                          \
		{REPLY, .id = number, .version = ip, .protocol = IPPROTO_TCP, .segment = SYN_ACK}, \
	{                                                                                          \
		AGAIN, .id = number, .version = ip, .protocol = IPPROTO_TCP, .segment = ACK        \
	}

const struct translation_case translation_cases[] = {
	{"a Service's backend opens, IPv4 TCP", REPLY_OPENS(4)},
	{"a Service's backend opens, IPv6 TCP", REPLY_OPENS(6)},
	{"a denied backend replies, IPv4 SCTP", REPLY_OF_DENIED(4)},
	{"a denied backend replies, IPv6 SCTP", REPLY_OF_DENIED(6)},
	{"a call by the node's ports, IPv4 TCP", NODE_OR_HOST(4)},
	{"a call by the node's ports, IPv6 TCP", NODE_OR_HOST(6)},
	{"two pods by one port of the node, IPv4 UDP", PORT_AGAIN(4)},
	{"two pods by one port of the node, IPv6 UDP", PORT_AGAIN(6)},
	{"two pods by one port of the node, IPv4 TCP", BACKEND_CHANGES(4)},
	{"two pods by one port of the node, IPv6 TCP", BACKEND_CHANGES(6)},
	{},
};
