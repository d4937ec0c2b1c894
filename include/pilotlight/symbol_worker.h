/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the engine and a symbol worker say to each other over a SOCK_SEQPACKET pair: one request,
 * one report, both of fixed size. Files come with the request (daemon/child/child_request.h) as
 * descriptors of fixed numbers, whose presence it tells. The worker is this same program, started
 * as `pilotlight symbol-worker`; both sides are of one version, and `version` only guards against a
 * program that was replaced on the disk.
 *
 * On a second SOCK_SEQPACKET pair, if it has one, the worker may request split DWARF files (.dwo),
 * whose paths are in the binary's debug information. A request is the path's bytes without a NUL.
 * The reply carries the file as its one descriptor (SCM_RIGHTS) unless it reports an error. A
 * relative path starts at the binary's folder.
 */
#pragma once

#include "pilotlight/symbol_file.h"

#include <stdint.h>

enum {
	PILOTLIGHT_WORKER_VERSION = 4,

	PILOTLIGHT_WORKER_SOCKET_FD = 3,
	PILOTLIGHT_WORKER_OUTPUT_FD = 4,
	PILOTLIGHT_WORKER_SCRATCH_FD = 5,
	PILOTLIGHT_WORKER_BINARY_FD = 6,
	PILOTLIGHT_WORKER_DEBUG_FD = 7,
	PILOTLIGHT_WORKER_ALTERNATE_FD = 8,
	PILOTLIGHT_WORKER_PACKAGE_FD = 9, /* .dwp */
	PILOTLIGHT_WORKER_SPLIT_FD = 10,  /* the socket for split DWARF files */
	PILOTLIGHT_WORKER_FDS_MAX = 12,	  /* all of them, and a split DWARF file */

	PILOTLIGHT_WORKER_PATH_BYTES_MAX = 4095,
};

/* What is made of the files. */
enum pilotlight_symbol_product {
	PILOTLIGHT_PRODUCT_SYMBOLS = 0,
	PILOTLIGHT_PRODUCT_UNWIND = 1, /* pilotlight/unwind.h */
};

struct pilotlight_symbol_request {
	uint32_t version;
	uint8_t has_binary, has_debug, has_alternate; /* 0 or 1 */
	uint8_t identity_kind;
	uint8_t identity[20];
	uint8_t identity_bytes;
	uint8_t debug_rank; /* of what comes out if the debug file is taken */
	uint8_t has_package, has_split_files;
	uint64_t scratch_bytes_max;
	uint64_t memory_bytes_max; /* anonymous */
	uint32_t cpu_s_max;
	uint8_t product; /* enum pilotlight_symbol_product */
	uint8_t padding[3];
	char origin[128]; /* NUL-terminated */
};

struct pilotlight_symbol_report {
	uint32_t version;
	int32_t error; /* 0, or -errno of extraction_run() or of writing its output to the disk */
	uint8_t rank;
	uint8_t has_taken_debug; /* else it belongs to another binary */
	uint8_t has_taken_alternate;
	uint8_t padding;
	uint32_t units_failed;
	uint64_t output_bytes;
	uint64_t scratch_bytes; /* in the file or in memory in place of it */
	uint64_t reserved;	/* 0 */
	uint64_t cpu_ns;
};

struct pilotlight_split_reply {
	int32_t error; /* 0, or -errno: the file cannot be had */
};

_Static_assert(sizeof(struct pilotlight_symbol_request) == 184, "request");
_Static_assert(sizeof(struct pilotlight_symbol_report) == 48, "report");
