/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A node of three endpoints for packet tests: the programs of kern/, loaded without the loader,
 * with maps filled by hand, run by BPF_PROG_TEST_RUN in a network namespace that ends with the
 * test.
 *
 *   A  egress: to B TCP 1-1023 and 8080, UDP 53 and 500-599, SCTP 80, all other
 *      protocols; to C nothing; to the world TCP 80 and UDP; to the office nothing, by an
 *      AdminNetworkPolicy; to a remote endpoint all. Ingress: no policy.
 *   B  ingress: from A TCP 80, 443, 900 and 8080, UDP 53 and 500-549, SCTP, all
 *      other protocols; from the world TCP 443; from C all; from a remote
 *      endpoint TCP 80; from the office its port named "redis", TCP 6379; from the
 *      node TCP 7946.
 *      Egress: no policy.
 *   C  no policy.
 *
 * Two more segments for packet_node_assign(): CLOSED, as B but with an ingress that allows nothing,
 * and MUTE, as A but with an egress that allows nothing.
 */
#ifndef BULKHEAD_SELFTESTS_PACKET_NODE_H
#define BULKHEAD_SELFTESTS_PACKET_NODE_H

#include "maps/conntrack.h"
#include "maps/counter.h"
#include "maps/event.h"
#include "selftests/lib/packet.h"

/* The hook at which a packet meets a program. */
enum packet_hook {
	FROM_A,
	TO_A,
	FROM_B,
	TO_B,
	FROM_C,
	TO_C,
	FROM_UNASSIGNED,
	TO_UNASSIGNED,
	UPLINK, /* XDP */
	UPLINK_TC,
	LEAVE, /* at the uplink */
	PACKET_HOOKS,
};

extern const char *const packet_hook_names[PACKET_HOOKS];

/* The result of a packet. */
struct packet_result {
	bool passed;
	int reason; /* enum bh_reason whose counter went up; -1: none; -2: more than one */
	bool audited; /* its audit column moved */
};

/*
 * Loads the programs, or, called again, makes the node what it was after the first call: the kernel
 * verifies programs for longer than most tests run. Exits with 4 and the reason if the kernel lacks
 * what a test needs, with 1 on a failure.
 */
void packet_node_open(void);
void packet_node_open_redirect(void); /* with the tunable `redirect` */

/* The number of entries of all maps but arrays. */
int packet_node_entries(void);

/*
 * The interface by which the packet came to the node. VIA_BRIDGE: the bridge of A's port;
 * VIA_OTHER: an interface that is neither an endpoint's nor an uplink.
 */
enum packet_via { VIA_PEER, VIA_NOWHERE, VIA_UPLINK, VIA_C, VIA_OWN, VIA_BRIDGE, VIA_OTHER };

#define PACKET_BRIDGE 9001 /* ifindexes */
#define PACKET_OTHER 9002

struct packet_result packet_node_run(enum packet_hook hook, const struct packet_spec *spec,
				     enum packet_via via);
struct packet_result packet_node_run_frame(enum packet_hook hook, const void *frame, size_t length,
					   uint32_t ingress);

/* Returns 1 if the frame passes, 0 if it is dropped, -1 if the kernel refuses it for a test run. */
int packet_node_verdict(enum packet_hook hook, const void *frame, size_t length, uint32_t ingress);

/* From now on the first buffer of a frame at XDP has so many bytes, as drivers leave it: mlx5
 * leaves it empty. SIZE_MAX: all. A kernel that refuses this in a test run gets the frame as one
 * buffer. */
void packet_node_split(size_t bytes);

/* The same at an endpoint's interface, by its number. @to: the endpoint receives the frame. */
int packet_node_verdict_at(bool to, uint32_t ifindex, const void *frame, size_t length,
			   uint32_t ingress);

uint32_t packet_node_ifindex(enum packet_hook hook);

/*
 * Makes @n more endpoints, an even number, each with an interface of its own. Address and MAC of
 * the nth are C's with PACKET_CROWD + nth as the last two bytes.
 */
#define PACKET_CROWD 0x8000
void packet_node_crowd(uint32_t n);
uint32_t packet_node_crowd_ifindex(uint32_t nth);

/* Puts the first @n of these endpoints in a segment, and in a namespace (bh_namespace(); 0: none).
 */
void packet_node_crowd_assign(uint32_t n, uint32_t slot, uint64_t ns);

/* Forgets connections and fragments. */
void packet_node_forget(void);

/* Forgets connections only, without packet_node_void_caches(). */
void packet_node_forget_quietly(void);

/* Clears the flow caches and the records of denials, which would serve the next packet without its
 * entry, or without an evaluation. */
void packet_node_void_caches(void);

/* Keeps the test on the CPU where it is, since the caches are per CPU. Returns that CPU. */
int packet_node_stay(void);

/* Saves the few open connections; restores exactly these. */
void packet_node_save(void);
void packet_node_restore(void);

void packet_node_set_generation(uint64_t generation);

/*
 * Marks the beginning and the end of a command's changes, as the command does. The functions of
 * this header that write to maps do both.
 */
void packet_node_changes(bool begin);

/* Puts an endpoint in another segment from @generation on. */
void packet_node_assign(enum packet_host host, uint32_t generation, uint32_t slot);

enum packet_slot {
	SLOT_WORLD = 1,
	SLOT_NODE,
	SLOT_OFFICE,
	SLOT_A,
	SLOT_B,
	SLOT_C,
	SLOT_REMOTE,
	SLOT_CLOSED,
	SLOT_MUTE,
};

/* Makes an endpoint one whose MAC the maps have, or one whose MAC is not known. */
void packet_node_tell_mac(enum packet_host host, bool known);

/* Registers or removes an endpoint's own MAC. */
void packet_node_mac(enum packet_host host, bool known);

/* Gives the node its MAC and its link-local address on a bridge. */
void packet_node_link_local(uint32_t bridge);

/* Sets or clears flags of an endpoint's interface (BH_IFACE_*). */
void packet_node_flag(enum packet_hook hook, uint32_t flags, bool set);

/* Makes an interface a port of a bridge; 0: of none. */
void packet_node_bridge(enum packet_hook hook, uint32_t bridge);

#define PACKET_SECONDS(n) ((n)*250 >> BH_TICK_SHIFT) /* in ticks, as the programs count them */

/* Ages all connections and fragments by a number of ticks; a negative one makes them newer. */
void packet_node_age(int32_t ticks);

/* The number of entries that are no half-open ones, and of those that are. */
int packet_node_connections(void);
int packet_node_half_open(void);

/* Returns the table, mapped, and sets *@n to the number of its buckets. */
struct bh_ct_group *packet_node_table(uint32_t *n);

/* Returns the hash of a connection's key. */
uint64_t packet_node_hash(const struct bh_ct_key *key);

/* Returns the first bucket of the table that has an entry; -1: none has. */
int packet_node_bucket(void);

/* Returns how many entries have a key that is not the one of their slot's tag, or a word of another
 * connection. It may be called while programs run. */
int packet_node_damaged(void);

/* Makes the payer of every connection unknown, as it is for a moment while a program fills a slot.
 */
void packet_node_payers_unknown(void);

/* Returns how many connections the table has of an endpoint, by its interface. */
int32_t packet_node_held(uint32_t payer);

/* Returns how many shares count another number of connections than the table has of them, and how
 * many holders another surplus. The surplus of all counts as one. */
int packet_node_miscounted(void);

/* Returns how many connections of all shares were refused a place, or were replaced. */
uint64_t packet_node_refused(void);
uint64_t packet_node_replaced(void);

/* Lets the garbage collector pass once over the table: some seven seconds. @packet sends a packet
 * of a connection, which starts it. At all other times it is stopped. */
void packet_node_sweep(void (*packet)(void));

/* Lets the garbage collector pass once over the table, on this CPU, and free what will be over in
 * @ahead ticks. */
void packet_node_collect(uint32_t ahead);

/* What a program does from a point on at which another CPU has changed the table
 * (helpers/midway.bpf.c). */
enum packet_midway {
	MIDWAY_COMMIT_IN_TURN,
	MIDWAY_COMMIT_AT_ONCE,
	MIDWAY_COMPLETE,
	MIDWAY_OPEN_BESIDE_LOST,
	MIDWAY_AGAIN_ANOTHERS,
	MIDWAY_ASK_OF_OTHERS,
	MIDWAY_NAMES_OF_PEER,
	MIDWAY_ERROR_TO_WORLD,
	MIDWAY_ERROR_TO_C,
	MIDWAY_ANSWER_ANOTHERS,
	MIDWAY_TOUCH,
	MIDWAY_ANSWER_OPENED,
	MIDWAY_FIN_CROSSES,
	MIDWAY_FREE,
	MIDWAY_FREE_AMID_PACKETS,
	MIDWAY_OCCUPY_AMID_PACKETS,
	MIDWAY_INSERT_AMID_OTHERS,
	MIDWAY_OCCUPY_CHOSEN,
	MIDWAY_OCCUPY_NEWER,
	MIDWAY_STORE_OWN,
	MIDWAY_STORE_ANOTHERS,
	MIDWAY_EVALUATE_ANOTHERS,
	MIDWAY_EVALUATE_MOVED,
	MIDWAY_MOVE,
	PACKET_MIDWAYS,
};

/* Goes on from the point with a packet that an endpoint has sent. Returns the reason, or 0. */
enum bh_reason packet_node_midway(enum packet_midway point, enum packet_hook hook,
				  const struct packet_spec *spec);

/* Returns how many connections have a word of the responder's end. */
int packet_node_ingress_words(void);

/* Sets the floor and the room for the surplus, as the garbage collector computes them. */
void packet_node_limit(uint32_t floor, uint32_t capacity);

/* The union of the states of all of a protocol's entries. */
uint32_t packet_node_states(uint8_t protocol);

/* The union of the states of all entries of which an end has this port or a higher one. */
uint32_t packet_node_port_states(uint16_t port);

/* Sets the number of connections that the table is to hold from packet_node_open() on; otherwise
 * there are 256. */
void packet_node_room(uint32_t connections);

/* The fd of a map by its name. */
int packet_node_map(const char *name);
int packet_node_program(enum packet_hook hook);

/* Calls @each for every program that has been loaded. */
void packet_node_programs(void (*each)(const char *program, int fd, void *arg), void *arg);

#endif
