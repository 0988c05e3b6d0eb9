/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What endpoints have learned from DNS answers. An answer teaches before the endpoint gets it. It
 * must come from a resolver, and answer a question that this endpoint has asked that resolver:
 * connection, transaction ID, name and type agree. What one endpoint has learned opens nothing for
 * another one. None of these maps depends on a generation, and each load keeps them.
 *
 * bh_resolvers: the DNS servers whose answers teach, by the address that endpoints call, and by the
 * backend's where the node translates that one. Pin name `resolvers`. HASH. The loader writes it.
 *
 * bh_questions: the questions without an answer yet, in buckets of each endpoint. Pin name
 * `questions`. HASH. The programs write it. In a full bucket a new question replaces the oldest.
 *
 * bh_learned: the names by which an endpoint has learned an address. Pin name `learned`. HASH. The
 * programs write it. An entry stays after its time is over: open connections go on by it. When an
 * endpoint has BH_LEARNED_SHARE addresses, the next one replaces the one it learned first.
 *
 * bh_learn_order: the addresses of each endpoint in the order in which it learned them. Pin name
 * `learn_order`. HASH. bh_learners: the place of the next one. Pin name `learners`. HASH.
 *
 * bh_streams: the TCP connections to resolvers, each direction, in buckets of each endpoint: where
 * the next message begins. Pin name `streams`. HASH, key as of bh_questions. The programs write it
 * from the SYN on; a connection that is older teaches nothing. In a full bucket a new connection
 * replaces the one that was silent for the longest time.
 *
 * bh_carries: the messages over TCP that are in several segments, until their last one, and room
 * for later ones. Pin name `carries`. HASH, key as of bh_questions. The programs write it.
 *
 * bh_dns_counts: answers by what became of them. Pin name `dns_counts`. PERCPU_ARRAY, index enum
 * bh_dns_result.
 *
 * Who may fill them: bh_resolvers only the loader. bh_learners and bh_questions an endpoint, by a
 * question to a resolver about a name of a policy (with dns-aliases=1, about any). bh_streams, and
 * then bh_learners, an endpoint or a resolver, by the SYN of a connection between the two.
 * bh_carries these two, by what they send on such a connection. bh_learned and bh_learn_order a
 * resolver, by an answer to a question that the endpoint has asked. Each key has the endpoint's
 * ifindex. No other host or endpoint adds an entry.
 *
 * An endpoint that asks and learns fills its own buckets and places only, and loses its own oldest
 * ones. BH_LEARNERS endpoints can learn at a time. A further one learns nothing, and its policy
 * denies what only names allow, until the command has freed the place of an endpoint that is gone.
 *
 *   bpftool map dump pinned /sys/fs/bpf/bulkhead/learned
 */
#ifndef BULKHEAD_MAPS_DNS_H
#define BULKHEAD_MAPS_DNS_H

#include "maps/domain_hash.h"
#include "maps/types.h"

#define BH_DNS_PORT 53
#define BH_LEARNERS 1024 /* endpoints of this node that can learn at a time */

#define BH_RESOLVER_SAID (1u << 0) /* an option or the policy's [bulkhead] names it */
#define BH_RESOLVER_SERVICE (1u << 1) /* of the Service kube-system/kube-dns */
#define BH_RESOLVER_NODE (1u << 2) /* NodeLocal DNSCache, or of the node's resolv.conf */
#define BH_RESOLVER_BACKEND (1u << 3) /* of a Service whose own address is a resolver's */

struct bh_resolver {
	__u32 flags; /* BH_RESOLVER_*, for readers: the programs do not read them */
};
_Static_assert(sizeof(struct bh_resolver) == 4, "struct bh_resolver");

#define BH_QUESTION_BUCKETS 64 /* of each endpoint; a power of two, as all of these */
#define BH_QUESTION_WAYS 8

struct bh_question_key {
	__u32 ifindex; /* of the endpoint */
	__u32 bucket;
};
_Static_assert(sizeof(struct bh_question_key) == 8, "struct bh_question_key");

struct bh_question {
	__u64 flow; /* hash of the connection's key; 0: the place is free, or is being written */
	__u64 name; /* hash of the name (domain_hash.h) */
	__u32 asked; /* tick */
	__be16 id; /* of the transaction */
	__be16 type; /* of the question */
};
_Static_assert(sizeof(struct bh_question) == 24, "struct bh_question");

struct bh_questions {
	struct bh_question way[BH_QUESTION_WAYS];
	__u32 next; /* number of questions so far */
	__u32 pad;
};
_Static_assert(sizeof(struct bh_questions) == 200, "struct bh_questions");

#define BH_STREAM_BUCKETS 64 /* of each endpoint */
#define BH_STREAM_WAYS 16

#define BH_STREAM_FRESH 2u /* in `flow`: no byte has come since the SYN */

struct bh_stream {
	/* hash of the connection's key, the direction and the node's translation, odd, and
	 * BH_STREAM_FRESH; 0: the place is free */
	__u64 flow;
	__u32 begin; /* sequence number of the first byte of the message that has not ended */
	__u32 seen; /* tick of the last segment */
};
_Static_assert(sizeof(struct bh_stream) == 16, "struct bh_stream");

struct bh_streams {
	struct bh_stream way[BH_STREAM_WAYS];
};
_Static_assert(sizeof(struct bh_streams) == 256, "struct bh_streams");

#define BH_LEARNED_SHARE 512 /* addresses that an endpoint may have learned; a power of two */
#define BH_LEARNED_NAMES 8 /* names of an address */

struct bh_learned_key {
	struct bh_addr addr;
	__u32 ifindex; /* of the endpoint */
	__u32 pad;
};
_Static_assert(sizeof(struct bh_learned_key) == 24, "struct bh_learned_key");

/*
 * An entry that is removed gives its memory to another key at once, and a program that has found it
 * before may still write there. So each time and the place are in a word that also says of which
 * key and name they are, and a word of another key or name does not count.
 *
 *   63   32 31     0
 *   stamp   the time or the place
 *
 * The stamp is a part of the keyed hashes of the entry's key and of the name.
 */
struct bh_learned {
	__u64 domain[BH_LEARNED_NAMES]; /* keys in bh_domains; 0: the place is free */
	__u64 until[BH_LEARNED_NAMES]; /* stamped tick: new connections may open until then */
	__u64 place; /* in bh_learn_order; stamped without a name */
};
_Static_assert(sizeof(struct bh_learned) == 136, "struct bh_learned");

/* Returns the hash of an entry's key. @hash: bh_domain_begin() has begun it. */
BH_DOMAIN_INLINE __u64 bh_learned_owner(struct bh_domain_hash *hash,
					const struct bh_learned_key *key)
{
	bh_domain_absorb(hash, (__u64)key->addr.word[0] << 32 | key->addr.word[1]);
	bh_domain_absorb(hash, (__u64)key->addr.word[2] << 32 | key->addr.word[3]);
	bh_domain_absorb(hash, key->ifindex);
	return bh_domain_end(hash, BH_DOMAIN_OWNER);
}

/* @domain: key in bh_domains; 0: none. */
static inline __u64 bh_learned_stamp(__u64 owner, __u64 domain, __u32 value)
{
	return ((owner ^ domain) >> 32 << 32) | value;
}

static inline _Bool bh_learned_is_stamped(__u64 word, __u64 owner, __u64 domain)
{
	return !((word ^ owner ^ domain) >> 32);
}

struct bh_learned_place {
	__u32 ifindex;
	__u32 place; /* modulo BH_LEARNED_SHARE */
};
_Static_assert(sizeof(struct bh_learned_place) == 8, "struct bh_learned_place");

struct bh_learned_at {
	struct bh_addr addr;
};
_Static_assert(sizeof(struct bh_learned_at) == 16, "struct bh_learned_at");

struct bh_learner {
	/* The endpoint's first address when it began to learn: if the interface is that of another
	 * endpoint by now, the command deletes what this one has learned. All 0: it had none. */
	struct bh_addr addr;
	__u32 next; /* place of the next address */
	__u32 replaced; /* addresses that others of the same endpoint have replaced */
};
_Static_assert(sizeof(struct bh_learner) == 24, "struct bh_learner");

/* bh_dns_work: the message that a CPU reads. Pin name `dns_work`. PERCPU_ARRAY of one, private to
 * the programs. TC programs of one CPU do not interrupt one another. */
#define BH_DNS_BYTES 4096 /* of a message that are read; a power of two, as the next */
#define BH_DNS_LABELS 128
#define BH_CARRIES 16 /* messages of an endpoint; a power of two */

#define BH_CARRY_TAKEN 2 /* `flow` while a CPU has the carry; a connection's is odd */

/* A program deletes no entry, whose memory another key would get while a CPU still has it. */
struct bh_carry {
	__u64 flow; /* of bh_stream; 0: the carry is free */
	__u32 begin; /* of bh_stream */
	__u32 filled; /* bytes of the message that are here, with the two of its length */
	__u32 length; /* of the message, once these two are here */
	__u32 pad;
	__u8 bytes[BH_DNS_BYTES];
};
_Static_assert(sizeof(struct bh_carry) == 4120, "struct bh_carry");

#define BH_DNS_RECORDS 256 /* of an answer that are read */

struct bh_dns_found {
	__u32 at; /* of the address, in the message */
	__u32 ttl; /* s: the least of the record's and its chain's */
};
_Static_assert(sizeof(struct bh_dns_found) == 8, "struct bh_dns_found");

struct bh_dns_work {
	/* A label that begins in the message may be read beyond it. The verifier takes a part of a
	 * message for as long as a whole one. */
	__u8 bytes[2 * BH_DNS_BYTES + 64];
	__u16 label[BH_DNS_LABELS]; /* offsets of a name's labels */
	__u32 labels;
	__u32 length; /* of the message */
	__u32 at, end; /* of the record that is read; of the name that was read */
	__u64 domains[BH_LEARNED_NAMES]; /* keys in bh_domains that the question's name matches */
	__u32 n_domains;
	__be16 type; /* of the question */
	__u16 broken; /* the answer breaks the format */
	struct bh_domain_hash hash; /* of the name that is hashed */
	__u64 name, target; /* hashes of the question's name and of the end of the chain so far */
	__u32 target_at; /* where the latter stands */
	__u32 ttl; /* s: the least of the chain so far */
	__u32 learned; /* number of addresses */
	__u32 n_found;
	struct bh_dns_found found[BH_DNS_RECORDS]; /* learned once the whole answer is read */
	struct bh_learned_key key; /* the address that is learned */
	__u64 owner; /* hash of the key */
	struct bh_learned value; /* a new entry */
	struct bh_questions none; /* this and the next two are 0: an empty bucket */
	struct bh_streams no_streams;
	struct bh_carry no_carry;
};

_Static_assert(sizeof(struct bh_dns_work) == 15456, "struct bh_dns_work");

/* X(identifier, name in metrics, text) */
#define BH_DNS_RESULTS(X)                                                                       \
	X(BH_DNS_QUESTION, "question", "questions noted")                                       \
	X(BH_DNS_LEARNED, "learned", "answers that taught at least one address")                \
	X(BH_DNS_UNASKED, "unasked", "answers to no open question of the endpoint")             \
	X(BH_DNS_BACKEND, "backend", "packets of a Service's backend that is no resolver")      \
	X(BH_DNS_ERROR, "error", "answers with an error, or of another opcode")                 \
	X(BH_DNS_EMPTY, "empty", "answers without an address of the name that was asked for")   \
	X(BH_DNS_MALFORMED, "malformed", "messages of another form or class")                   \
	X(BH_DNS_LONG, "long", "messages of which only the first 4,096 bytes were read")        \
	X(BH_DNS_TRUNCATED, "truncated", "answers that the resolver has cut")                   \
	X(BH_DNS_STREAM, "stream", "segments of TCP whose place among the messages is unknown") \
	X(BH_DNS_REPLACED, "replaced", "addresses for which an endpoint lost its oldest one")   \
	X(BH_DNS_FULL, "full", "addresses that were not learned: the map is full")

#define BH_DNS_IDENTIFIER(identifier, name, text) identifier,
enum bh_dns_result { BH_DNS_RESULTS(BH_DNS_IDENTIFIER) BH_DNS_RESULT_COUNT };

#endif
