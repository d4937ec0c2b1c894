/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What an engine without privileges and the broker say to each other over an AF_UNIX SOCK_SEQPACKET
 * pair: one request, one answer, both of fixed size and in the machine's byte order; with an answer
 * of 0 goes the opened file as its one descriptor (SCM_RIGHTS), or the two of a child that was
 * started. Both sides are of one program, and `version` only guards against one that was replaced
 * on the disk.
 *
 * A request is malformed, and answered with -EBADMSG, if it has another size, comes with a
 * descriptor, has another version or an unknown operation, or if anything is set that its operation
 * does not use: padding, what follows the NUL of a text, and the bytes of a text that is not there.
 * Values that it uses and that make no sense are refused as broker.h tells.
 */
#pragma once

#include <stdint.h>

enum {
	PILOTLIGHT_BROKER_VERSION = 1,

	PILOTLIGHT_BROKER_PATH_BYTES = 4096, /* with the NUL, as the kernel has it */
	PILOTLIGHT_BROKER_NAME_BYTES = 256,
};

/* What is opened, as daemon/broker/broker.h tells of the function of that name, and by what. */
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
	PILOTLIGHT_BROKER_CGROUP,	  /* path; as its name where cgroup2 is mounted, or none */
	PILOTLIGHT_BROKER_START_CHILD, /* file: enum broker_child; answered with two descriptors */
	PILOTLIGHT_BROKER_OPERATIONS,  /* one more than the last */
};

struct pilotlight_broker_request {
	uint32_t version;
	uint32_t operation; /* enum pilotlight_broker_operation */
	uint64_t number;    /* any; the answer repeats it */

	/* The process, and since when it is: CLOCK_BOOTTIME, 0 where any with that pid will do. */
	uint64_t start_ns;
	/* The range of a mapping, addresses in the process, the end exclusive; or both 0. */
	uint64_t range_start, range_end;
	int32_t pid;

	uint32_t ns_pid; /* of the process in its own namespace */
	uint32_t file;	 /* enum broker_process_file, broker_kernel_file or broker_child */

	uint8_t build_id[20];
	uint8_t build_id_bytes; /* up to 20 */

	/* 0 or 1: a text, which may be empty, with a NUL. */
	uint8_t has_path, has_name;
	uint8_t padding[5];
	char path[PILOTLIGHT_BROKER_PATH_BYTES];
	char name[PILOTLIGHT_BROKER_NAME_BYTES];
};

struct pilotlight_broker_answer {
	uint32_t version;
	int32_t result;	 /* 0 with its descriptors, or -errno with none */
	uint64_t number; /* of the request; 0 where that had another size */
};

/* How a child has ended, as waitid(2) tells: the one message on the second descriptor of its start,
 * a SOCK_SEQPACKET socket. What is sent there, but for the words below, kills the child. */
struct pilotlight_child_end {
	int32_t signal; /* that ended it; 0: it exited */
	int32_t exit_status;
	uint64_t cpu_ns;
};

/* A message of one byte: the scheduling policy that the child gets. */
enum pilotlight_child_word {
	PILOTLIGHT_CHILD_IDLE = 1, /* SCHED_IDLE: nobody waits for it */
	PILOTLIGHT_CHILD_HURRY,	   /* SCHED_OTHER; refused where the broker lacks CAP_SYS_NICE */
};

_Static_assert(sizeof(struct pilotlight_child_end) == 16, "end");
_Static_assert(sizeof(struct pilotlight_broker_request) == 4432, "request");
_Static_assert(
	__builtin_offsetof(struct pilotlight_broker_request, path) == 80, "no hidden padding");
_Static_assert(sizeof(struct pilotlight_broker_answer) == 16, "answer");
