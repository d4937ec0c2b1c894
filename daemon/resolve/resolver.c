/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "resolve/resolver.h"

#include "base/clock.h"
#include "process/process_scan.h"

#include <errno.h>
#include <string.h>

/* Modules and BPF programs come and go; this bounds how often a stray address has us look again. */
#define KERNEL_RENEWAL_NS (5ULL * NSEC_PER_SEC)
/* Where the file behind a build-id cannot be read: no file's text reaches so far. */
#define OFFSET_PLAUSIBLE_MAX (1ULL << 40)
/* perf's markers between kernel and user frames (PERF_CONTEXT_…) are the last 4095 values. */
#define CONTEXT_MARKER_MIN ((uint64_t)-4095)

struct resolver {
	struct broker *broker;
	struct process_table *processes;
	struct kernel_symbols *kernel;
	struct binary_table *binaries;
	uint64_t kernel_renewed_ns;
	bool kernel_is_read;
	struct resolver_counters counters;
};

/* A stack while it is resolved: leaf first, turned around at the end. */
struct stack {
	const struct raw_sample *sample;
	pid_t pid;
	struct resolved_frame *frames;
	size_t count;
};

int resolver_new(struct broker *broker, struct process_table *processes,
	struct kernel_symbols *kernel, struct binary_table *binaries,
	struct resolver **ret_resolver)
{
	struct resolver *resolver = calloc(1, sizeof(*resolver));

	if (!resolver)
		return -ENOMEM;
	resolver->broker = broker;
	resolver->processes = processes;
	resolver->kernel = kernel;
	resolver->binaries = binaries;
	*ret_resolver = resolver;
	return 0;
}

void resolver_free(struct resolver *resolver)
{
	free(resolver);
}

void resolver_counters(const struct resolver *resolver, struct resolver_counters *ret_counters)
{
	*ret_counters = resolver->counters;
}

static void push(struct stack *stack, uint32_t binary, uint64_t address, const char *name)
{
	stack->frames[stack->count++] =
		(struct resolved_frame){ .address = address, .binary = binary, .name = name };
}

/* The stack ends here, and says why. */
static void cut(struct stack *stack, uint64_t *counter, const char *reason)
{
	*counter += stack->sample->count;
	push(stack, RESOLVED_SYNTHETIC, 0, reason);
}

/*
 * Reads kallsyms anew if one of the sample's addresses is in nothing that it had. Before the frames
 * are made, since they borrow its names.
 */
static void follow_kernel(struct resolver *resolver, const struct raw_sample *sample)
{
	struct kernel_symbol symbol;
	uint64_t now_ns;
	bool is_current = true;

	for (size_t i = 0; is_current && i < sample->kernel_count; i++)
		is_current = sample->kernel_ips[i] >= CONTEXT_MARKER_MIN ||
			     kernel_symbols_find(resolver->kernel, sample->kernel_ips[i], &symbol);
	if (is_current)
		return;
	now_ns = clock_monotonic_ns();
	if (resolver->kernel_is_read && now_ns - resolver->kernel_renewed_ns < KERNEL_RENEWAL_NS)
		return;
	resolver->kernel_is_read = true;
	resolver->kernel_renewed_ns = now_ns;
	/* Without it kernel frames are nameless; doctor tells why. */
	(void)kernel_symbols_renew(resolver->kernel);
}

static int resolve_kernel(struct resolver *resolver, struct stack *stack)
{
	const struct raw_sample *sample = stack->sample;
	struct kernel_symbol symbol;
	struct kernel_image image;
	uint32_t binary;
	int r;

	follow_kernel(resolver, sample);
	for (size_t i = 0; i < sample->kernel_count; i++) {
		uint64_t ip = sample->kernel_ips[i];

		if (ip >= CONTEXT_MARKER_MIN)
			continue;
		if (stack->count > 0)
			ip--; /* a return address */
		if (!kernel_symbols_find(resolver->kernel, ip, &symbol)) {
			/* Its address would tell nothing elsewhere, and KASLR's secret here. */
			push(stack, RESOLVED_SYNTHETIC, 0, "[kernel]");
			continue;
		}
		kernel_symbols_image(resolver->kernel, symbol.image, &image);
		r = binary_table_find_kernel_image(
			resolver->binaries, symbol.image, &image, &binary);
		if (r == -E2BIG) {
			push(stack, RESOLVED_SYNTHETIC, 0, "[kernel]");
			continue;
		}
		if (r < 0)
			return r;
		push(stack, binary, symbol.image_offset, symbol.name);
	}
	return 0;
}

/*
 * The location of a file offset; `is_return` where it is behind the call. Returns 1, 0 where the
 * offset is in none of the file's code, or -errno.
 */
static int push_offset(struct resolver *resolver, struct stack *stack, uint32_t binary,
	uint64_t offset, bool is_return)
{
	struct binary description;
	uint64_t address;

	binary_table_get(resolver->binaries, binary, &description);
	if (is_return)
		offset--;
	if (!description.image) {
		/* Identity is all there is, and the offset has to stand for the vaddr. */
		if (offset >= OFFSET_PLAUSIBLE_MAX)
			return 0;
		resolver->counters.files_unread++;
		address = offset;
	} else if (!elf_image_find_vaddr(description.image, offset, &address)) {
		return 0;
	}
	push(stack, binary, address, NULL);
	return 1;
}

static bool find_mapping(struct resolver *resolver, const struct stack *stack, uint64_t ip,
	struct process_mapping *mapping)
{
	return process_table_find(
		resolver->processes, stack->pid, stack->sample->first_ns, ip, mapping);
}

/* Returns 1, 0 where no code can be at `ip`, or -errno. */
static int push_ip(struct resolver *resolver, struct stack *stack, uint64_t ip, bool is_return)
{
	const struct raw_sample *sample = stack->sample;
	struct process_mapping mapping;
	struct mapped_file file;
	uint64_t where = ip - is_return;
	uint32_t binary;
	int r;

	if (!find_mapping(resolver, stack, where, &mapping))
		return 0;
	process_table_file(resolver->processes, mapping.file, &file);
	if (!file.is_regular && strcmp(file.path, "[vdso]") != 0) {
		r = binary_table_find_jit(
			resolver->binaries, stack->pid, sample->process.start_ns, &binary);
		if (r < 0)
			return r;
		push(stack, binary, where, NULL);
		return 1;
	}
	r = binary_table_find_mapping(
		resolver->binaries, stack->pid, sample->first_ns, &mapping, &binary);
	if (r < 0)
		return r;
	return push_offset(resolver, stack, binary, ip - mapping.start + mapping.offset, is_return);
}

static int push_user_frame(struct resolver *resolver, struct stack *stack,
	const struct pilotlight_user_frame *frame, bool is_return)
{
	struct build_id id;
	uint32_t binary;
	int r;

	if (frame->status != PILOTLIGHT_FRAME_BUILD_ID)
		return push_ip(resolver, stack, frame->offset_or_ip, is_return);
	build_id_set_padded(&id, frame->build_id);
	r = binary_table_find_build_id(
		resolver->binaries, &id, stack->pid, stack->sample->first_ns, &binary);
	if (r < 0)
		return r;
	return push_offset(resolver, stack, binary, frame->offset_or_ip, is_return);
}

/* A process that the side-band has not told of: it ran before, and the scan has missed it. */
static bool know_process(struct resolver *resolver, const struct stack *stack)
{
	const struct raw_sample *sample = stack->sample;

	if (process_table_has(resolver->processes, stack->pid, sample->first_ns))
		return true;
	return process_scan_one(
		       resolver->broker, resolver->processes, stack->pid, sample->first_ns) == 0;
}

static int resolve_user(struct resolver *resolver, struct stack *stack)
{
	const struct raw_sample *sample = stack->sample;
	size_t total = sample->user_count ? sample->user_count : sample->user_ip_count;
	bool is_known = total == 0 || know_process(resolver, stack);
	size_t pushed = 0;
	int r;

	for (size_t i = 0; i < total; i++) {
		uint64_t ip = sample->user_count ? sample->user_frames[i].offset_or_ip
						 : sample->user_ips[i];
		bool has_build_id = sample->user_count &&
				    sample->user_frames[i].status == PILOTLIGHT_FRAME_BUILD_ID;

		if (!has_build_id && ip >= CONTEXT_MARKER_MIN)
			continue;
		if (!has_build_id && !is_known) {
			resolver->counters.cut_unknown += sample->count;
			push(stack, RESOLVED_SYNTHETIC, 0, "[unknown]");
			return 0;
		}
		if (sample->user_count)
			r = push_user_frame(resolver, stack, &sample->user_frames[i], pushed > 0);
		else
			r = push_ip(resolver, stack, ip, pushed > 0);
		if (r == -E2BIG) {
			cut(stack, &resolver->counters.cut_full, "[truncated: too many binaries]");
			return 0;
		}
		if (r < 0)
			return r;
		if (r == 0) {
			cut(stack, &resolver->counters.cut_garbage, "[truncated: no code there]");
			return 0;
		}
		pushed++;
	}
	if (total == PILOTLIGHT_STACK_DEPTH)
		cut(stack, &resolver->counters.cut_depth, "[truncated: depth]");
	return 0;
}

int resolver_resolve(struct resolver *resolver, const struct raw_sample *sample,
	struct resolved_frame frames[RESOLVED_FRAMES_MAX])
{
	struct stack stack = {
		.sample = sample,
		.pid = (pid_t)sample->process.tgid,
		.frames = frames,
	};
	int r;

	r = resolve_kernel(resolver, &stack);
	if (r < 0)
		return r;
	r = resolve_user(resolver, &stack);
	if (r < 0)
		return r;
	for (size_t i = 0, j = stack.count; i + 1 < j; i++) {
		struct resolved_frame frame = frames[--j];

		frames[j] = frames[i];
		frames[i] = frame;
	}
	return (int)stack.count;
}
