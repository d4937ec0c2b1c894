/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Draws an answer and writes it within its bound, compressed for clients that take it. */
#include "answer/answer_private.h"

#include "answer/answer_failure.h"
#include "export/gzip.h"
#include "page/page_html.h"
#include "render/difference_svg.h"
#include "render/difference_table.h"
#include "render/heatmap_svg.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

int answer_write_counted(void *context, const void *bytes, size_t size)
{
	struct answer *answer = context;
	const char *at = bytes;

	if (size > answer->request->bytes_max - answer->written_bytes)
		return -EFBIG;
	answer->written_bytes += size;
	while (size > 0) {
		ssize_t n = write(answer->output_fd, at, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		at += n;
		size -= (size_t)n;
	}
	return 0;
}

static int draw_profile(struct answer *answer, struct output *output)
{
	const struct profile_format_options options = {
		.title = answer->titles[DIFFERENCE_COMPARED],
		.detail = answer->parameters.detail,
		.pprof_labels = answer->parameters.pprof_labels,
		.attributes = answer->parameters.attributes,
		.sample_hosts_ppm = answer->parameters.sample_hosts_ppm,
		.symbols = answer->names,
		.late_names = answer->parameters.late_names,
		.rows_max = answer->parameters.rows_max,
		.frames_max = answer->parameters.frames_max,
		.below = answer->parameters.below,
	};

	return answer->parameters.format->write(
		answer->profiles[DIFFERENCE_COMPARED], &options, output);
}

static int draw_difference(
	struct answer *answer, const struct profile_difference *difference, struct output *output)
{
	const char *const names[] = {
		[DIFFERENCE_BASE] = answer->titles[DIFFERENCE_BASE],
		[DIFFERENCE_COMPARED] = answer->titles[DIFFERENCE_COMPARED],
	};
	enum frame_detail detail = answer->parameters.detail;

	if (strcmp(answer->parameters.format->name, "html") == 0)
		return page_write_difference(difference, names, detail, output);
	return strcmp(answer->parameters.format->name, "svg") == 0
		       ? difference_svg_write(difference, names, detail, output)
		       : difference_table_write(difference, names, detail,
				 answer->parameters.rows_max, output, &answer->increase);
}

static void draw_heatmap(const struct answer *answer, struct output *output)
{
	const char *format = answer->parameters.format->name;

	if (strcmp(format, "json") == 0)
		heatmap_write_json(&answer->heatmap, output);
	else if (strcmp(format, "html") == 0)
		heatmap_html_write(&answer->heatmap, answer->titles[DIFFERENCE_COMPARED], output);
	else
		heatmap_svg_write(&answer->heatmap, answer->titles[DIFFERENCE_COMPARED], output);
}

int answer_fail_output(struct answer *answer, int error)
{
	uint64_t bytes_max = answer->request->bytes_max;

	if (error == -ENOMEM || error == -E2BIG)
		return answer_fail_memory(answer->reply, answer->request->memory_max);
	if (error == -EFBIG)
		return answer_fail(answer->reply, ANSWER_TOO_LARGE,
			"the answer is larger than %" PRIu64
			" KiB; select less, or use a smaller format: pprof is the smallest",
			bytes_max / 1024);
	return answer_fail(
		answer->reply, ANSWER_FAILED, "cannot write the answer: %s", strerror(-error));
}

/*
 * Folded stacks shrink to a fifteenth, a flame graph to a seventh. pprof is gzip already; time
 * lines and incidents are short.
 */
bool answer_compresses(const struct answer *answer)
{
	return answer->request->accepts_gzip && answer->request->kind < ANSWER_TIMELINE &&
	       answer->parameters.format->is_text;
}

static int draw(struct answer *answer, const struct profile_difference *difference,
	output_function write, void *context)
{
	_cleanup_free_ struct output *output = malloc(sizeof(*output));
	int r = 0, error;

	if (!output)
		return -ENOMEM;
	output_init(output, write, context);
	if (answer->request->kind == ANSWER_HEATMAP)
		draw_heatmap(answer, output);
	else if (answer->request->kind == ANSWER_METRICS)
		r = answer_metrics_write(
			&answer->parameters.metrics, answer->profiles[DIFFERENCE_COMPARED], output);
	else
		r = difference ? draw_difference(answer, difference, output)
			       : draw_profile(answer, output);
	error = output_finish(output);
	return error < 0 ? error : r;
}

static int draw_compressed(struct answer *answer, const struct profile_difference *difference)
{
	_cleanup_(gzip_freep) struct gzip *gzip = NULL;
	_cleanup_free_ struct output *output = malloc(sizeof(*output));
	int r, error;

	if (!output)
		return -ENOMEM;
	output_init(output, answer_write_counted, answer);
	r = gzip_new(output, &gzip);
	if (r == 0)
		r = draw(answer, difference, gzip_write, gzip);
	if (r == 0)
		r = gzip_finish(gzip);
	error = output_finish(output);
	return error < 0 ? error : r;
}

int answer_write(struct answer *answer)
{
	bool is_difference = answer->request->kind == ANSWER_DIFFERENCE;
	struct profile_difference difference;
	struct fault fault = { 0 };
	int r = 0;

	if (is_difference)
		r = profile_difference_init(&difference, answer->profiles[DIFFERENCE_BASE],
			answer->profiles[DIFFERENCE_COMPARED], answer->parameters.whole, &fault);
	if (r < 0)
		return answer_fail(answer->reply, ANSWER_INVALID, "%s", fault.text);
	difference.is_of_incident = answer->parameters.is_of_incident;
	r = answer_compresses(answer) ? draw_compressed(answer, is_difference ? &difference : NULL)
				      : draw(answer, is_difference ? &difference : NULL,
						answer_write_counted, answer);
	return r < 0 ? answer_fail_output(answer, r) : 0;
}
