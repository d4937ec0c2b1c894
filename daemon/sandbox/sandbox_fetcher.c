/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The filters of the processes that use the network, through libraries that a hostile server
 * attacks: the fetcher, which also fills a folder, and the sender. As in an engine most forbidden
 * calls fail with EPERM, and libraries do without them: the resolver goes on without nscd and
 * systemd-resolved's socket, and treats IPv4 and IPv6 as available without asking netlink.
 */
#include "sandbox/call_filter.h"
#include "sandbox/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/socket.h>

static const int folder_calls[] = {
	SCMP_SYS(mkdir),
	SCMP_SYS(mkdirat),
	SCMP_SYS(rmdir),
	SCMP_SYS(unlink),
	SCMP_SYS(unlinkat),
	SCMP_SYS(rename),
	SCMP_SYS(renameat),
	SCMP_SYS(renameat2),
};

static const int network_calls[] = {
	/* curl wakes its threads by it */
	SCMP_SYS(eventfd2),
	/* a thread begins */
	SCMP_SYS(set_robust_list),
	SCMP_SYS(rseq),
	/* No unix socket that this process has can be connected; see socketpair below. */
	SCMP_SYS(connect),
	SCMP_SYS(sendmmsg),
};

static const struct conditional_call network_conditional_calls[] = {
	/* No raw sockets, no packets, no netlink, no other protocol that loads a module. */
	SOCKETS_OF(AF_INET),
	SOCKETS_OF(AF_INET6),
	/* A pair of datagram sockets could be connected to another process's socket. */
	PAIRS_OF(SOCK_STREAM),
	/* Only threads: a process would survive when this one is killed. */
	{ SCMP_SYS(clone), SCMP_ACT_ALLOW, 1,
		{ HAS_BITS(0, CLONE_THREAD | NEW_NAMESPACES, CLONE_THREAD) } },
};

static int forbid(const struct call_list *lists, size_t count)
{
	const struct conditional_call_list conditional_lists[] = {
		own_conditional_calls,
		program_conditional_calls,
		opening_calls,
		CONDITIONAL_CALL_LIST(network_conditional_calls),
	};
	const struct call_filter filter = {
		.default_action = SCMP_ACT_ERRNO(EPERM),
		.lists = lists,
		.list_count = count,
		.conditional_lists = conditional_lists,
		.conditional_list_count = ARRAY_SIZE(conditional_lists),
	};

	return call_filter_load(&filter);
}

int sandbox_forbid_fetcher(void)
{
	const struct call_list lists[] = {
		own_calls,
		killing_calls,
		process_calls,
		program_calls,
		CALL_LIST(SCMP_ACT_ALLOW, network_calls),
		CALL_LIST(SCMP_ACT_ALLOW, folder_calls),
	};

	return forbid(lists, ARRAY_SIZE(lists));
}

int sandbox_forbid_sender(void)
{
	const struct call_list lists[] = {
		own_calls,
		killing_calls,
		process_calls,
		program_calls,
		CALL_LIST(SCMP_ACT_ALLOW, network_calls),
	};

	return forbid(lists, ARRAY_SIZE(lists));
}
