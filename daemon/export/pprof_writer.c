/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/pprof_writer.h"

#include <errno.h>
#include <stdlib.h>

/*
 * Size of the buffer for one part: a field or two for each node of a stack or frame of a location.
 */
enum {
	PART_BYTES = 8 * 1024,
	PART_BYTES_PER_ELEMENT = 40,
};

void pprof_writer_free(struct pprof_writer *writer)
{
	if (!writer)
		return;
	gzip_free(writer->gzip);
	protobuf_done(&writer->part);
	pprof_tables_done(&writer->tables);
	free(writer);
}

int pprof_writer_new(const struct profile *profile, enum pprof_labels labels,
	const struct pprof_part *part, struct output *output, struct pprof_writer **ret_writer)
{
	_cleanup_(pprof_writer_freep) struct pprof_writer *writer = calloc(1, sizeof(*writer));
	size_t elements = profile->nodes.count + profile->frames.count;
	int r;

	if (!writer)
		return -ENOMEM;
	writer->profile = profile;
	protobuf_init(&writer->part, PART_BYTES + elements * PART_BYTES_PER_ELEMENT);
	r = pprof_tables_init(&writer->tables, profile, labels, part);
	if (r == 0)
		r = gzip_new(output, &writer->gzip);
	if (r < 0)
		return r;
	output_init(&writer->plain, gzip_write, writer->gzip);
	*ret_writer = TAKE_PTR(writer);
	return 0;
}

static int first_error(const struct pprof_writer *writer)
{
	return writer->part.error < 0 ? writer->part.error : writer->tables.error;
}

void pprof_writer_send(struct pprof_writer *writer)
{
	if (first_error(writer) == 0)
		output_write(&writer->plain, writer->part.bytes, writer->part.size);
	protobuf_clear(&writer->part);
}

int pprof_writer_finish(struct pprof_writer *writer)
{
	int r = first_error(writer);

	if (r == 0)
		r = output_finish(&writer->plain);
	return r < 0 ? r : gzip_finish(writer->gzip);
}

uint64_t pprof_saturate(uint64_t value)
{
	return value < INT64_MAX ? value : INT64_MAX;
}
