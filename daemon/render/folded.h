/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Folded stacks: one line for each distinct stack of names, `comm;frame;…;frame COUNT`, root first,
 * lines in the order of their frames. A suffix gives the kind: _[k] kernel, _[j] JIT, _[i] inlined,
 * _[p] Python, _[v] JavaScript (V8), _[r] Ruby, _[h] PHP, _[e] Perl. Methods of Java are _[j], too.
 * A ';' in a name is written as ':', since ';' separates frames. Names have no line breaks. By
 * line, a frame is `function (file.c:123)`, or `function (file.c)` if the line is unknown. Losses
 * have lines without a comm: `[lost: ring full] COUNT` (I1). Nothing is elided: the counts add up
 * to all samples, stored and lost. A count is in samples, whatever the event.
 */
#pragma once

#include "base/output.h"
#include "render/frame_labels.h"

/* "_[k]"; "": the kind has none. */
const char *folded_suffix(enum frame_kind kind);

/* Returns 0, -ENOMEM or -E2BIG; errors of the output are output_finish()'s to report. */
int folded_write(const struct profile *profile, enum frame_detail detail, struct output *output);
