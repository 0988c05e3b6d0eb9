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

/* When conntrack has forgotten an open connection of a host that may call the pod, a segment of
 * another host has its port of the node, and no SYN has told so. */
#define HOST_GOES_ON(ip)                                                                          \
	{                                                                                         \
		.policies = {{.rules[BRIDGED_D] = {ISOLATES(PEER(HOST_1))}}}, .n = 7,             \
		.steps = {                                                                        \
			{CALL, .id = 0, .actor = HOST_1, .version = ip, .protocol = IPPROTO_TCP,  \
			 .target = MASKED, .to = 3, .segment = SYN},                              \
			{REPLY, .id = 0, .version = ip, .protocol = IPPROTO_TCP,                  \
			 .segment = SYN_ACK},                                                     \
			{AGAIN, .id = 0, .version = ip, .protocol = IPPROTO_TCP, .segment = ACK}, \
			{FORGET},                                                                 \
			{CALL, .id = 1, .actor = HOST_2, .version = ip, .protocol = IPPROTO_TCP,  \
			 .target = MASKED, .to = 3, .segment = ACK},                              \
			{AGAIN, .id = 1, .version = ip, .protocol = IPPROTO_TCP, .segment = ACK}, \
			{REPLY, .id = 1, .version = ip, .protocol = IPPROTO_TCP, .segment = ACK}, \
		},                                                                                \
	}

/* Another host that may call the pod opens a connection by the port of one that is half-open. */
#define HOST_OPENS_AGAIN(ip)                                                                      \
	{                                                                                         \
		.policies = {{.rules[POD_A] = {{}, ISOLATES(PEER(HOST_1))}}}, .n = 6,             \
		.steps = {                                                                        \
			{CALL, .id = 0, .actor = HOST_2, .version = ip, .protocol = IPPROTO_TCP,  \
			 .target = MASKED, .to = 4, .segment = SYN},                              \
			{FORGET},                                                                 \
			{AGAIN, .id = 0, .version = ip, .protocol = IPPROTO_TCP, .backend = 2,    \
			 .segment = ACK},                                                         \
			{CALL, .id = 1, .actor = HOST_1, .version = ip, .protocol = IPPROTO_TCP,  \
			 .target = MASKED, .to = 0, .segment = SYN},                              \
			{REPLY, .id = 1, .version = ip, .protocol = IPPROTO_TCP,                  \
			 .segment = SYN_ACK},                                                     \
			{AGAIN, .id = 1, .version = ip, .protocol = IPPROTO_TCP, .segment = ACK}, \
		},                                                                                \
	}

/* When the programs have forgotten a call to a Service, the backend's answer looks like a call from
 * the Service's address. What goes back, when conntrack ends the call, keeps that address and
 * leaves the node. */
#define SERVICE_OPENS(ip)                                                                          \
	{                                                                                          \
		.policies = {{.rules[POD_A] = {{}, ISOLATES(PEER(POD_B))}}}, .n = 4,               \
		.steps = {                                                                         \
			{CALL, .id = 0, .actor = POD_A, .version = ip, .protocol = IPPROTO_SCTP,   \
			 .target = CLUSTER, .to = 5, .segment = SYN},                              \
			{LOSE},                                                                    \
			{REPLY, .id = 0, .version = ip, .protocol = IPPROTO_SCTP, .segment = FIN}, \
			{AGAIN, .id = 0, .version = ip, .protocol = IPPROTO_SCTP,                  \
			 .segment = RST_DATA},                                                     \
		},                                                                                 \
	}

/* The node calls an isolated pod, and conntrack forgets. What the pod then answers to a denied host
 * behind the same port of the node is no answer to the node. */
#define ANSWERS_NODE(ip)                                                                         \
	{                                                                                        \
		.policies = {{.rules[POD_B] = {ISOLATES(0), ISOLATES(0)}}}, .n = 4,              \
		.steps = {                                                                       \
			{CALL, .id = 0, .actor = NODE, .version = ip, .protocol = IPPROTO_UDP,   \
			 .target = DIRECT, .to = POD_B},                                         \
			{FORGET},                                                                \
			{CALL, .id = 1, .actor = HOST_1, .version = ip, .protocol = IPPROTO_UDP, \
			 .target = MASKED, .to = 5},                                             \
			{REPLY, .id = 1, .version = ip, .protocol = IPPROTO_UDP},                \
		},                                                                               \
	}

/* What a pod sends to a port of the node, where a host was, does not let another host in. */
#define NODE_LETS_IN(ip)                                                                          \
	{                                                                                         \
		.policies = {{.rules[POD_B] = {ISOLATES(0)}}}, .n = 4,                            \
		.steps = {                                                                        \
			{CALL, .id = 0, .actor = HOST_2, .version = ip, .protocol = IPPROTO_SCTP, \
			 .target = MASKED, .to = 5, .segment = SYN},                              \
			{REPLY, .id = 0, .version = ip, .protocol = IPPROTO_SCTP,                 \
			 .segment = SYN_ACK},                                                     \
			{FORGET},                                                                 \
			{CALL, .id = 1, .actor = HOST_1, .version = ip, .protocol = IPPROTO_SCTP, \
			 .target = MASKED, .to = 5, .segment = SYN},                              \
		},                                                                                \
	}

/* An isolated pod calls a Service, of whose backends it may call one; the other one answers. */
#define UNLIKE_ANSWERS(ip)                                                                        \
	{                                                                                         \
		.policies = {{.rules[POD_A] = {ISOLATES(0), ISOLATES(PEER(BRIDGED_D))}}}, .n = 2, \
		.steps = {                                                                        \
			{CALL, .id = 0, .actor = POD_A, .version = ip, .protocol = IPPROTO_SCTP,  \
			 .target = CLUSTER, .to = 3, .backend = 1, .segment = SYN},               \
			{REPLY, .id = 0, .version = ip, .protocol = IPPROTO_SCTP,                 \
			 .segment = SYN_ACK},                                                     \
		},                                                                                \
	}

/* A denied caller's port is the number of a NodePort whose backend is the called pod itself: the
 * pod's answer looks like a call to the NodePort. */
#define ANSWERS_NODEPORT(ip)                                                                     \
	{                                                                                        \
		.policies = {{.rules[POD_B] = {ISOLATES(PEER(POD_B)), ISOLATES(PEER(POD_B))}}},  \
		.n = 2,                                                                          \
		.steps = {                                                                       \
			{CALL, .id = 0, .actor = FAR, .from_port = PORT_KEPT + 5, .version = ip, \
			 .protocol = IPPROTO_SCTP, .target = MASKED, .to = 5, .segment = SYN},   \
			{REPLY, .id = 0, .version = ip, .protocol = IPPROTO_SCTP,                \
			 .segment = SYN_ACK},                                                    \
		},                                                                               \
	}

/* A pod whose call was denied behind the translation sends a RST from a port that is a NodePort's
 * number: a NodePort's refusal would look so. */
#define DENIED_RESETS(ip)                                                                         \
	{                                                                                         \
		.policies = {{.rules[BRIDGED_D] = {{}, ISOLATES(0)}}}, .n = 2,                    \
		.steps = {                                                                        \
			{CALL, .id = 0, .actor = BRIDGED_D, .from_port = PORT_KEPT + 1,           \
			 .version = ip, .protocol = IPPROTO_TCP, .target = MASKED, .to = 3,       \
			 .backend = 1, .segment = SYN},                                           \
			{AGAIN, .id = 0, .version = ip, .protocol = IPPROTO_TCP, .segment = RST}, \
		},                                                                                \
	}

/* A host calls a pod by a NodePort, from the port at which it is called itself; the pod then calls
 * the host by a Service, from the NodePort's number: behind masquerading that call has the
 * addresses and ports of the pod's answers. Policy denies it. */
#define CALLS_BACK(ip, proto, pod, service, ...)                                                \
	{CALL,		.id = 0,	   .actor = HOST_1, .from_port = PORT_OPEN,             \
	 .version = ip, .protocol = proto, .target = KEPT,  .to = service},                     \
		{REPLY, .id = 0, .version = ip, .protocol = proto, .segment = SYN_ACK},         \
		__VA_ARGS__, {FORGET},                                                          \
	{                                                                                       \
		CALL, .id = 1, .actor = pod, .from_port = PORT_KEPT + (service), .version = ip, \
		      .protocol = proto, .target = CLUSTER, .to = 2, .mode = MASQUERADE         \
	}
#define ANSWERS_BACK(ip, proto)                                                      \
	{                                                                            \
		REPLY, .id = 1, .version = ip, .protocol = proto, .segment = SYN_ACK \
	}

/* The pod takes calls of the host at one port, and the host's answer comes to another one. */
#define ONE_PORT(pod)                                                                \
	{                                                                            \
		.rules[pod] = {                                                      \
			{.isolates = true, .one_port = true, .peers = PEER(HOST_1)}, \
			ISOLATES(0)                                                  \
		}                                                                    \
	}
#define UDP_CALLS_BACK(ip)                                                                      \
	{                                                                                       \
		.policies = {ONE_PORT(POD_A)}, .n = 6,                                          \
		.steps = {CALLS_BACK(ip, IPPROTO_UDP, POD_A, 0,                                 \
				     {AGAIN, .id = 0, .version = ip, .protocol = IPPROTO_UDP}), \
			  ANSWERS_BACK(ip, IPPROTO_UDP)},                                       \
	}
#define TCP_CALLS_BACK(ip)                                                                    \
	{                                                                                     \
		.policies = {ONE_PORT(POD_A)}, .n = 7,                                        \
		.steps = {CALLS_BACK(ip, IPPROTO_TCP, POD_A, 0,                               \
				     {AGAIN, .id = 0, .version = ip, .protocol = IPPROTO_TCP, \
				      .segment = ACK},                                        \
				     {REPLY, .id = 0, .version = ip, .protocol = IPPROTO_TCP, \
				      .segment = ACK}),                                       \
			  ANSWERS_BACK(ip, IPPROTO_TCP)},                                     \
	}

/* A pod that may call one of two hosts has begun to be called by the other one, and calls that by a
 * Service from the same port. */
#define SYN_CALLS_BACK(ip)                                                                         \
	{                                                                                          \
		.policies = {{.rules[BRIDGED_E] = {{}, ISOLATES(PEER(HOST_1))}}}, .n = 4,          \
		.steps = {                                                                         \
			{CALL, .id = 0, .actor = BRIDGED_E, .version = ip,                         \
			 .protocol = IPPROTO_TCP, .target = CLUSTER, .to = 2, .segment = SYN},     \
			{ASTRAY, .id = 0, .actor = HOST_2, .version = ip, .protocol = IPPROTO_TCP, \
			 .segment = SYN},                                                          \
			{FORGET},                                                                  \
			{CALL, .id = 1, .actor = BRIDGED_E, .version = ip,                         \
			 .protocol = IPPROTO_TCP, .target = CLUSTER, .to = 2, .backend = 1,        \
			 .segment = SYN},                                                          \
		},                                                                                 \
	}

/* On a bridge another pod than the one that was called calls the host so. */
#define NEIGHBOUR_CALLS_BACK(ip)                                                                 \
	{                                                                                        \
		.policies = {{.rules[BRIDGED_E] = {ISOLATES(0), ISOLATES(0)}}}, .n = 5,          \
		.steps = {CALLS_BACK(ip, IPPROTO_UDP, BRIDGED_E, 3,                              \
				     {AGAIN, .id = 0, .version = ip, .protocol = IPPROTO_UDP})}, \
	}

/* The backend of a denied call may itself call the caller, but its answer is none: the node gives
 * it the address that was called. */
#define DENIED_ANSWERS(ip)                                                                       \
	{                                                                                        \
		.policies = {{.rules[POD_A] = {ISOLATES(0)}}}, .n = 2,                           \
		.steps = {                                                                       \
			{CALL, .id = 0, .actor = HOST_1, .version = ip, .protocol = IPPROTO_UDP, \
			 .target = KEPT, .to = 0},                                               \
			{REPLY, .id = 0, .version = ip, .protocol = IPPROTO_UDP},                \
		},                                                                               \
	}

/* The backend of a denied call, which nobody can tell from the node's, replies to the node. What
 * either end says then about the other's packets is an ICMP error about that reply. */
#define DENIED_ERRS(ip)                                                                            \
	{                                                                                          \
		.policies = {{.rules[POD_B] = {ISOLATES(0), ISOLATES(0)}}}, .n = 5,                \
		.steps = {                                                                         \
			{CALL, .id = 0, .actor = FAR, .version = ip, .protocol = IPPROTO_SCTP,     \
			 .target = MASKED, .to = 5, .segment = SYN},                               \
			{REPLY, .id = 0, .version = ip, .protocol = IPPROTO_SCTP,                  \
			 .segment = SYN_ACK},                                                      \
			{AGAIN, .id = 0, .version = ip, .protocol = IPPROTO_SCTP, .segment = ACK}, \
			{ERROR, .id = 0, .version = ip, .protocol = IPPROTO_SCTP},                 \
			{ERROR, .id = 0, .version = ip, .protocol = IPPROTO_SCTP,                  \
			 .of_reply = true},                                                        \
		},                                                                                 \
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
	{"another host goes on, IPv4 TCP", HOST_GOES_ON(4)},
	{"another host goes on, IPv6 TCP", HOST_GOES_ON(6)},
	{"another host opens again, IPv4 TCP", HOST_OPENS_AGAIN(4)},
	{"another host opens again, IPv6 TCP", HOST_OPENS_AGAIN(6)},
	{"a Service's address opens, IPv4 SCTP", SERVICE_OPENS(4)},
	{"a Service's address opens, IPv6 SCTP", SERVICE_OPENS(6)},
	{"an answer to the node's port, IPv4 UDP", ANSWERS_NODE(4)},
	{"an answer to the node's port, IPv6 UDP", ANSWERS_NODE(6)},
	{"another host by the node's port, IPv4 SCTP", NODE_LETS_IN(4)},
	{"another host by the node's port, IPv6 SCTP", NODE_LETS_IN(6)},
	{"unlike backends answer, IPv4 SCTP", UNLIKE_ANSWERS(4)},
	{"unlike backends answer, IPv6 SCTP", UNLIKE_ANSWERS(6)},
	{"an answer to a NodePort, IPv4 SCTP", ANSWERS_NODEPORT(4)},
	{"an answer to a NodePort, IPv6 SCTP", ANSWERS_NODEPORT(6)},
	{"a denied caller resets, IPv4 TCP", DENIED_RESETS(4)},
	{"a denied caller resets, IPv6 TCP", DENIED_RESETS(6)},
	{"a pod calls its caller, IPv4 UDP", UDP_CALLS_BACK(4)},
	{"a pod calls its caller, IPv6 UDP", UDP_CALLS_BACK(6)},
	{"a pod calls its caller, IPv4 TCP", TCP_CALLS_BACK(4)},
	{"a pod calls its caller, IPv6 TCP", TCP_CALLS_BACK(6)},
	{"a pod calls its caller by a SYN, IPv4 TCP", SYN_CALLS_BACK(4)},
	{"a pod calls its caller by a SYN, IPv6 TCP", SYN_CALLS_BACK(6)},
	{"a neighbour calls a pod's caller, IPv4 UDP", NEIGHBOUR_CALLS_BACK(4)},
	{"a neighbour calls a pod's caller, IPv6 UDP", NEIGHBOUR_CALLS_BACK(6)},
	{"a denied call is answered, IPv4 UDP", DENIED_ANSWERS(4)},
	{"a denied call is answered, IPv6 UDP", DENIED_ANSWERS(6)},
	{"an error about a denied call, IPv4 SCTP", DENIED_ERRS(4)},
	{"an error about a denied call, IPv6 SCTP", DENIED_ERRS(6)},
	{},
};
