/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A seccomp filter made of lists of system calls. Each sandbox of sandbox.h combines the lists that
 * it needs. Calls in no list get the filter's default action; no list may have that same action.
 */
#pragma once

#include "base/array.h"

#include <linux/ioctl.h>
#include <seccomp.h>
#include <stddef.h>
#include <stdint.h>

/* Calls that get one action whatever their arguments are. */
struct call_list {
	uint32_t action;
	const int *calls;
	size_t count;
};
#define CALL_LIST(list_action, array)                     \
	{                                                 \
		(list_action), (array), ARRAY_SIZE(array) \
	}

/* A call whose action depends on its arguments: it applies if all conditions hold. */
struct conditional_call {
	int call;
	uint32_t action;
	unsigned int condition_count;
	struct scmp_arg_cmp conditions[3];
};

struct conditional_call_list {
	const struct conditional_call *calls;
	size_t count;
};
#define CONDITIONAL_CALL_LIST(array)       \
	{                                  \
		(array), ARRAY_SIZE(array) \
	}

#define IS(number, value)                                                            \
	{                                                                            \
		.arg = (number), .op = SCMP_CMP_EQ, .datum_a = (scmp_datum_t)(value) \
	}
#define HAS_BITS(number, mask, value)                                                            \
	{                                                                                        \
		.arg = (number), .op = SCMP_CMP_MASKED_EQ, .datum_a = (mask), .datum_b = (value) \
	}

#define CALL_OF(name, number, value)               \
	{                                          \
		SCMP_SYS(name), SCMP_ACT_ALLOW, 1, \
		{                                  \
			IS((number), (value))      \
		}                                  \
	}
#define BPF_OF(command)	  CALL_OF(bpf, 0, command)
#define FCNTL_OF(command) CALL_OF(fcntl, 1, command)
#define PRCTL_OF(option)  CALL_OF(prctl, 0, option)

/*
 * TCP and UDP alone. All conditions compare the whole argument, which is stricter than what the
 * kernel reads.
 */
#define SOCKET_OF(family, type, protocol)                                                      \
	{                                                                                      \
		SCMP_SYS(socket), SCMP_ACT_ALLOW, 3,                                           \
		{                                                                              \
			IS(0, (family)), HAS_BITS(1, ~(SOCK_CLOEXEC | SOCK_NONBLOCK), (type)), \
				IS(2, (protocol))                                              \
		}                                                                              \
	}
#define SOCKETS_OF(family)                                                              \
	SOCKET_OF(family, SOCK_STREAM, 0), SOCKET_OF(family, SOCK_STREAM, IPPROTO_TCP), \
		SOCKET_OF(family, SOCK_DGRAM, 0), SOCKET_OF(family, SOCK_DGRAM, IPPROTO_UDP)

/* Pairs of unix sockets. */
#define PAIRS_OF(type)                                                                       \
	{                                                                                    \
		SCMP_SYS(socketpair), SCMP_ACT_ALLOW, 2,                                     \
		{                                                                            \
			IS(0, AF_UNIX), HAS_BITS(1, ~(SOCK_CLOEXEC | SOCK_NONBLOCK), (type)) \
		}                                                                            \
	}

/* PROCMAP_QUERY of <linux/fs.h>, which older headers lack: what is mapped at an address? */
#define MAPPING_QUERY _IOWR('f', 17, char[104])

/* Flags of clone() and the like. */
#define NEW_NAMESPACES                                                                 \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | \
		CLONE_NEWPID | CLONE_NEWNET)

struct call_filter {
	uint32_t default_action;
	const struct call_list *lists;
	size_t list_count;
	const struct conditional_call_list *conditional_lists;
	size_t conditional_list_count;
	int own_signal; /* the signal that the process may send itself; 0: any, -1: the default
			   action applies */
};

/*
 * Installs the filter; it cannot be removed. Calls of another architecture kill. Returns 0 or
 * -errno.
 */
int call_filter_load(const struct call_filter *filter);

/* --- lists that several sandboxes share --- */

/* Reading, writing and sending on open descriptors; managing own memory; ending. */
extern const struct call_list own_calls;
extern const struct conditional_call_list own_conditional_calls;

/* Calls that no library makes, but an intruder would: they kill. */
extern const struct call_list killing_calls;

/* The same for all but the broker, which starts and watches the others. */
extern const struct call_list process_calls;

/*
 * What a program with libraries needs: its own state, time, waiting, open descriptors, and names of
 * files, but neither opening nor changing them.
 */
extern const struct call_list program_calls;
extern const struct conditional_call_list program_conditional_calls;

/* What an engine needs beyond a program: its files, its sockets, waiting, and its maps. */
extern const struct call_list engine_calls;
extern const struct conditional_call_list engine_conditional_calls;

/* Opening and creating files by name, but none with these rights. */
#define LENT_RIGHTS (S_ISUID | S_ISGID)
extern const struct conditional_call_list opening_calls;
