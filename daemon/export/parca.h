/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes a profile as a batch for Parca (pilotlight/parca_batch.h): the series of service_series.h
 * in a WriteRawRequest, as the JSON that its server takes at /api/profiles/writeraw, with the label
 * `node` for the host.
 *
 * Parca names what was sent without a name as soon as it has debug information of the binary's
 * build-id. So the batch tells which binaries have locations without a name, and later batches are
 * asked for their names: once a binary's symbol file has been made, its functions are in the batch
 * as an ELF file (symbol_elf.h). Only binaries of owners that are trusted take part: the names of
 * another user's file with that build-id would be shown for all hosts.
 *
 * Format: https://github.com/parca-dev/parca/blob/main/proto/parca/profilestore/v1alpha1
 */
#pragma once

#include "aggregate/profile.h"
#include "base/output.h"
#include "symbolize/cached_symbol_source.h"

struct parca_options {
	const char *host, *attributes;	      /* as those of service_series_write() */
	struct cached_symbol_source *symbols; /* NULL: there are none */
	/* "BUILD-ID:SYMBOLS,…" in hexadecimal digits, as earlier batches told them: binaries whose
	 * names are wanted once their symbol file is another one. NULL: none. */
	const char *late_names;
};

/*
 * As service_series_write(), and holds up to PILOTLIGHT_PARCA_ELF_BYTES_MAX of ELF files. Does not
 * flush `output`. Also returns the first error of `output`.
 */
int parca_write(
	const struct profile *profile, const struct parca_options *options, struct output *output);
