/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/config_private.h"

#include <stdlib.h>

void config_origin_done(struct config_origin *origin)
{
	free(origin->file);
	free(origin->text);
	*origin = (struct config_origin){ 0 };
}
