// SPDX-License-Identifier: GPL-2.0-only
#include <arpa/inet.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/fou.h>
#include <linux/genetlink.h>
#include <linux/l2tp.h>
#include <stdlib.h>
#include <string.h>

#include "node/kernel/fou.h"

/* Bytes of the largest part of a dump that the kernel sends at once. */
#define BUFFER 32768

struct fou_answer {
	uint16_t fou, l2tp; /* IDs of the families; 0: the kernel has none */
	uint32_t *ports;
	size_t n;
	bool full; /* memory is short */
};

static void close_socket(struct mnl_socket **socket)
{
	if (*socket)
		mnl_socket_close(*socket);
}

static int each_family(const struct nlmsghdr *message, void *data)
{
	const struct nlattr *attribute;
	struct fou_answer *answer = data;
	const char *name = "";
	uint16_t id = 0;

	mnl_attr_for_each(attribute, message, sizeof(struct genlmsghdr)) {
		if (mnl_attr_get_type(attribute) == CTRL_ATTR_FAMILY_NAME)
			name = mnl_attr_get_str(attribute);
		if (mnl_attr_get_type(attribute) == CTRL_ATTR_FAMILY_ID)
			id = mnl_attr_get_u16(attribute);
	}
	if (!strcmp(name, FOU_GENL_NAME))
		answer->fou = id;
	if (!strcmp(name, L2TP_GENL_NAME))
		answer->l2tp = id;
	return MNL_CB_OK;
}

/* @port: in host byte order. */
static int add_port(struct fou_answer *answer, uint16_t port)
{
	uint32_t *grown = reallocarray(answer->ports, answer->n + 1, sizeof(*grown));

	if (!grown) {
		answer->full = true;
		return MNL_CB_ERROR;
	}
	answer->ports = grown;
	grown[answer->n++] = port;
	return MNL_CB_OK;
}

static int each_port(const struct nlmsghdr *message, void *data)
{
	const struct nlattr *attribute;
	int status = MNL_CB_OK;

	mnl_attr_for_each(attribute, message, sizeof(struct genlmsghdr)) {
		if (mnl_attr_get_type(attribute) == FOU_ATTR_PORT)
			status = add_port(data, ntohs(mnl_attr_get_u16(attribute)));
		if (status == MNL_CB_ERROR)
			return status;
	}
	return MNL_CB_OK;
}

/* A tunnel of L2TP. One over IP has no port: kern/tunnel.h knows its protocol. */
static int each_l2tp(const struct nlmsghdr *message, void *data)
{
	const struct nlattr *attribute;
	uint16_t port = 0;

	mnl_attr_for_each(attribute, message, sizeof(struct genlmsghdr)) {
		if (mnl_attr_get_type(attribute) == L2TP_ATTR_UDP_SPORT)
			port = mnl_attr_get_u16(attribute); /* in host byte order */
	}
	return port ? add_port(data, port) : MNL_CB_OK;
}

/* Gives each part of a dump to @each. */
static int dump(struct mnl_socket *socket, uint16_t family, uint8_t command, mnl_cb_t each,
		struct fou_answer *answer)
{
	char buffer[BUFFER];
	struct nlmsghdr *request = mnl_nlmsg_put_header(buffer);
	struct genlmsghdr *generic = mnl_nlmsg_put_extra_header(request, sizeof(*generic));
	int status = MNL_CB_OK;
	ssize_t n;

	request->nlmsg_type = family;
	request->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	request->nlmsg_seq = family;
	*generic = (struct genlmsghdr){.cmd = command, .version = 1};
	if (mnl_socket_sendto(socket, request, request->nlmsg_len) < 0)
		return -errno;
	while (status > MNL_CB_STOP) {
		n = mnl_socket_recvfrom(socket, buffer, sizeof(buffer));
		if (n < 0)
			return -errno;
		status = mnl_cb_run(buffer, n, family, mnl_socket_get_portid(socket), each, answer);
	}
	return status < 0 ? (answer->full ? -ENOMEM : -errno) : 0;
}

int fou_ports(uint32_t **ports, size_t *n)
{
	__attribute__((cleanup(close_socket))) struct mnl_socket *socket =
		mnl_socket_open2(NETLINK_GENERIC, SOCK_CLOEXEC);
	struct fou_answer answer = {};
	int error;

	*ports = NULL;
	*n = 0;
	if (!socket || mnl_socket_bind(socket, 0, MNL_SOCKET_AUTOPID))
		return errno == EPROTONOSUPPORT ? 0 : -errno;
	/* a request for one family by its name would make the kernel load the module */
	error = dump(socket, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, each_family, &answer);
	if (!error && answer.fou)
		error = dump(socket, answer.fou, FOU_CMD_GET, each_port, &answer);
	if (!error && answer.l2tp)
		error = dump(socket, answer.l2tp, L2TP_CMD_TUNNEL_GET, each_l2tp, &answer);
	if (error) {
		free(answer.ports);
		return error;
	}
	*ports = answer.ports;
	*n = answer.n;
	return 0;
}
