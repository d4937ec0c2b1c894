/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A batch for Parca, as it lies in the folder of a sink. A query process writes it
 * (export/parca.h), and another process sends it, maybe after a restart (send/parca_batch.h).
 *
 * After the header come the binaries, then the ELF files of those whose names came late, in the
 * same order, then the body of one request, up to the end: a WriteRawRequest in JSON. Binaries
 * without a file have locations without a name in this batch.
 */
#pragma once

#include <stdint.h>

#define PILOTLIGHT_PARCA_BATCH_MAGIC 0x4843544143524150ULL /* "PARCATCH" */

enum {
	PILOTLIGHT_PARCA_BATCH_VERSION = 1,
	PILOTLIGHT_PARCA_BINARIES_MAX = 128,
	PILOTLIGHT_PARCA_ELF_BYTES_MAX = 8 << 20, /* of all files of a batch together */
};

struct pilotlight_parca_batch {
	uint64_t magic;
	uint32_t version;
	uint32_t binaries;
};

struct pilotlight_parca_binary {
	/* When the symbol file was made that has no name, or in whose ELF file they are; 0: there
	 * is none. */
	uint64_t symbols_s;
	uint32_t elf_bytes;
	uint8_t build_id[20]; /* padded with zeros */
	uint8_t build_id_bytes;
	uint8_t is_named; /* its names came late: they are here, or are too large */
	uint8_t padding[6];
};

_Static_assert(sizeof(struct pilotlight_parca_batch) == 16, "batch");
_Static_assert(sizeof(struct pilotlight_parca_binary) == 40, "binary");
