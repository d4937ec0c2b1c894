/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/symbol_source.h"

#include <stdlib.h>

void symbol_batch_done(struct symbol_batch *batch)
{
	free(batch->frames);
	batch->frames = NULL;
	batch->frame_count = 0;
	batch->frame_capacity = 0;
}

void symbol_source_free(struct symbol_source *source)
{
	if (source)
		source->free(source);
}
