/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The messages between an unprivileged engine and the broker over an AF_UNIX SOCK_SEQPACKET pair.
 * Each request gets one answer. Both have a fixed size and the machine's byte order. An answer of 0
 * carries descriptors (SCM_RIGHTS): one for an opened file, two for a started child. Both sides are
 * the same program; `version` only guards against a program that was replaced on disk.
 *
 * A request is malformed, and answered with -EBADMSG, if it has another size or version, carries a
 * descriptor, or has an unknown operation. It is also malformed if anything is set that its
 * operation does not use: padding, bytes after the NUL of a text, or bytes of an absent text.
 * Invalid values of fields that it uses are refused as broker.h documents.
 */
#pragma once

#include <stdint.h>

enum {
	PILOTLIGHT_BROKER_VERSION = 1,

	PILOTLIGHT_BROKER_PATH_BYTES = 4096, /* with the NUL; the kernel's limit */
	PILOTLIGHT_BROKER_NAME_BYTES = 256,
};

/* The function of that name in daemon/broker/broker.h, and the fields that the request uses. */
enum pilotlight_broker_operation {
	PILOTLIGHT_BROKER_MAPS = 1,	  /* process */
	PILOTLIGHT_BROKER_PROCESS_FILE,	  /* process, file */
	PILOTLIGHT_BROKER_MAPPING,	  /* process, range; path or none */
	PILOTLIGHT_BROKER_MARKER,	  /* process, range; path or none */
	PILOTLIGHT_BROKER_PERF_MAP,	  /* process, ns_pid */
	PILOTLIGHT_BROKER_EXECUTABLE,	  /* process */
	PILOTLIGHT_BROKER_PATH,		  /* path */
	PILOTLIGHT_BROKER_DEBUG_FILE,	  /* build-id */
	PILOTLIGHT_BROKER_DEBUG_PACKAGE,  /* build-id */
	PILOTLIGHT_BROKER_DEBUGLINK,	  /* path of the binary, name of the debug file */
	PILOTLIGHT_BROKER_ALTERNATE_FILE, /* path, build-id */
	PILOTLIGHT_BROKER_KERNEL_FILE,	  /* file */
	PILOTLIGHT_BROKER_MODULE_NOTE,	  /* name of the module */
	PILOTLIGHT_BROKER_CGROUP,	  /* path; name: where cgroup2 is mounted, or none */
	PILOTLIGHT_BROKER_START_CHILD, /* file: enum broker_child; answered with two descriptors */
	PILOTLIGHT_BROKER_PROCESS_CONTEXT, /* process */
	PILOTLIGHT_BROKER_OPERATIONS,	   /* one more than the last */
};

struct pilotlight_broker_request {
	uint32_t version;
	uint32_t operation; /* enum pilotlight_broker_operation */
	uint64_t number;    /* chosen by the client; the answer repeats it */

	/* The process's start time: CLOCK_BOOTTIME, or 0 for any process with that pid. */
	uint64_t start_ns;
	/* The range of a mapping, addresses in the process, the end exclusive; or both 0. */
	uint64_t range_start, range_end;
	int32_t pid;

	uint32_t ns_pid; /* of the process in its own namespace */
	uint32_t file;	 /* enum broker_process_file, broker_kernel_file or broker_child */

	uint8_t build_id[20];
	uint8_t build_id_bytes; /* up to 20 */

	/* 0, or 1: the text is present. It may be empty and ends with a NUL. */
	uint8_t has_path, has_name;
	uint8_t padding[5];
	char path[PILOTLIGHT_BROKER_PATH_BYTES];
	char name[PILOTLIGHT_BROKER_NAME_BYTES];
};

struct pilotlight_broker_answer {
	uint32_t version;
	int32_t result;	 /* 0 with descriptors, or -errno without */
	uint64_t number; /* of the request; 0 if the request had another size */
};

/*
 * How a child ended, as in waitid(2). It is the one message on the socket that reports the child's
 * end, the second descriptor of PILOTLIGHT_BROKER_START_CHILD. Anything that the client sends
 * there, except the priorities below, kills the child.
 */
struct pilotlight_child_end {
	int32_t signal; /* the fatal signal; 0: it exited */
	int32_t exit_status;
	uint64_t cpu_ns;
};

/* A one-byte message that sets the child's scheduling policy. */
enum pilotlight_child_priority {
	PILOTLIGHT_CHILD_IDLE = 1, /* SCHED_IDLE */
	PILOTLIGHT_CHILD_NORMAL,   /* SCHED_OTHER; refused if the broker lacks CAP_SYS_NICE */
};

_Static_assert(sizeof(struct pilotlight_child_end) == 16, "end");
_Static_assert(sizeof(struct pilotlight_broker_request) == 4432, "request");
_Static_assert(
	__builtin_offsetof(struct pilotlight_broker_request, path) == 80, "no hidden padding");
_Static_assert(sizeof(struct pilotlight_broker_answer) == 16, "answer");
