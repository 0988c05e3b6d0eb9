// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/netlink.h>
#include <linux/xfrm.h>

#include "node/kernel/ipsec.h"

static void close_socket(struct mnl_socket **socket)
{
	if (*socket)
		mnl_socket_close(*socket);
}

static int each(const struct nlmsghdr *message, void *data)
{
	const struct nlattr *attribute;
	uint32_t *n = data;

	mnl_attr_for_each(attribute, message, sizeof(uint32_t)) {
		const struct xfrmu_spdinfo *info = mnl_attr_get_payload(attribute);

		if (mnl_attr_get_type(attribute) == XFRMA_SPD_INFO &&
		    mnl_attr_get_payload_len(attribute) >= sizeof(*info))
			*n = info->outcnt;
	}
	return MNL_CB_OK;
}

int ipsec_outgoing(uint32_t *n)
{
	struct mnl_socket *socket __attribute__((cleanup(close_socket))) =
		mnl_socket_open(NETLINK_XFRM);
	char buffer[4096];
	struct nlmsghdr *request = mnl_nlmsg_put_header(buffer);
	ssize_t size;

	*n = 0;
	if (!socket)
		return errno == EPROTONOSUPPORT ? 0 : -errno;
	request->nlmsg_type = XFRM_MSG_GETSPDINFO;
	request->nlmsg_flags = NLM_F_REQUEST;
	mnl_nlmsg_put_extra_header(request, sizeof(uint32_t)); /* flags: none */
	if (mnl_socket_bind(socket, 0, MNL_SOCKET_AUTOPID) ||
	    mnl_socket_sendto(socket, request, request->nlmsg_len) < 0)
		return -errno;
	size = mnl_socket_recvfrom(socket, buffer, sizeof(buffer));
	if (size < 0 || mnl_cb_run(buffer, size, 0, 0, each, n) < 0)
		return errno == EPERM ? 0 : -errno;
	return 0;
}
