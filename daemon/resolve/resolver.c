/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "resolve/resolver.h"

#include "base/clock.h"
#include "process/process_scan.h"
#include "resolve/stack_cache.h"

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
	struct stack_cache *stacks;
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
	_cleanup_(resolver_freep) struct resolver *resolver = calloc(1, sizeof(*resolver));
	int r;

	if (!resolver)
		return -ENOMEM;
	resolver->broker = broker;
	resolver->processes = processes;
	resolver->kernel = kernel;
	resolver->binaries = binaries;
	r = stack_cache_new(&stack_cache_default_limits, &resolver->stacks);
	if (r < 0)
		return r;
	*ret_resolver = TAKE_PTR(resolver);
	return 0;
}

void resolver_free(struct resolver *resolver)
{
	if (!resolver)
		return;
	stack_cache_free(resolver->stacks);
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

static const struct {
	const char *name;
	const char *frame;
} cuts[] = {
	[RESOLVER_CUT_NONE] = { "whole", NULL },
	[RESOLVER_CUT_GARBAGE] = { "no code there", "[truncated: no code there]" },
	[RESOLVER_CUT_DEPTH] = { "depth", "[truncated: depth]" },
	[RESOLVER_CUT_UNKNOWN] = { "unknown process", "[unknown]" },
	[RESOLVER_CUT_FULL] = { "too many binaries", "[truncated: too many binaries]" },
};

const char *resolver_cut_name(enum resolver_cut cut)
{
	return cuts[cut].name;
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

/* Pushes the user's frames, and says why they end. */
static int resolve_user_frames(
	struct resolver *resolver, struct stack *stack, enum resolver_cut *ret_cut)
{
	const struct raw_sample *sample = stack->sample;
	size_t total = sample->user_count ? sample->user_count : sample->user_ip_count;
	bool is_known = know_process(resolver, stack);
	size_t first = stack->count;
	int r;

	*ret_cut = total == PILOTLIGHT_STACK_DEPTH ? RESOLVER_CUT_DEPTH : RESOLVER_CUT_NONE;
	for (size_t i = 0; i < total; i++) {
		const struct pilotlight_user_frame raw = {
			.status = PILOTLIGHT_FRAME_IP,
			.offset_or_ip = sample->user_count ? 0 : sample->user_ips[i],
		};
		const struct pilotlight_user_frame *frame =
			sample->user_count ? &sample->user_frames[i] : &raw;
		bool is_raw = frame->status != PILOTLIGHT_FRAME_BUILD_ID;

		if (is_raw && frame->offset_or_ip >= CONTEXT_MARKER_MIN)
			continue;
		if (is_raw && !is_known) {
			*ret_cut = RESOLVER_CUT_UNKNOWN;
			return 0;
		}
		r = push_user_frame(resolver, stack, frame, stack->count > first);
		if (r == 1)
			continue;
		if (r < 0 && r != -E2BIG)
			return r;
		*ret_cut = r == 0 ? RESOLVER_CUT_GARBAGE : RESOLVER_CUT_FULL;
		return 0;
	}
	return 0;
}

/* The user's stack out of the cache, or resolved and put there. */
static int resolve_user(struct resolver *resolver, struct stack *stack, bool *ret_lacks_build_ids)
{
	const struct raw_sample *sample = stack->sample;
	struct cached_stack cached = {
		.version = process_table_version(resolver->processes, stack->pid, sample->first_ns),
		.ips = sample->user_ips,
		.ip_count = sample->user_ip_count,
	};
	bool is_cacheable = cached.version > 0 && cached.ip_count > 0;
	enum resolver_cut cut = RESOLVER_CUT_NONE;
	size_t first = stack->count;
	int r;

	if (sample->user_count == 0 && sample->user_ip_count == 0)
		return 0;
	if (is_cacheable && stack_cache_find(resolver->stacks, &cached)) {
		memcpy(stack->frames + first, cached.frames,
			cached.frame_count * sizeof(*cached.frames));
		stack->count += cached.frame_count;
		cut = (enum resolver_cut)cached.cut;
		resolver->counters.stacks_cached++;
	} else {
		r = resolve_user_frames(resolver, stack, &cut);
		if (r < 0)
			return r;
		cached.frames = stack->frames + first;
		cached.frame_count = stack->count - first;
		cached.cut = cut;
		/* What a bound has refused may be had later. */
		if (is_cacheable && cut != RESOLVER_CUT_FULL) {
			r = stack_cache_add(resolver->stacks, &cached);
			if (r < 0)
				return r;
		}
		*ret_lacks_build_ids = sample->user_count == 0;
		resolver->counters.stacks_resolved++;
	}
	if (cut != RESOLVER_CUT_NONE) {
		resolver->counters.cuts[cut] += sample->count;
		push(stack, RESOLVED_SYNTHETIC, 0, cuts[cut].frame);
	}
	return 0;
}

int resolver_resolve(struct resolver *resolver, const struct raw_sample *sample,
	struct resolved_frame frames[RESOLVED_FRAMES_MAX], bool *ret_lacks_build_ids)
{
	struct stack stack = {
		.sample = sample,
		.pid = (pid_t)sample->process.tgid,
		.frames = frames,
	};
	int r;

	*ret_lacks_build_ids = false;
	r = resolve_kernel(resolver, &stack);
	if (r < 0)
		return r;
	r = resolve_user(resolver, &stack, ret_lacks_build_ids);
	if (r < 0)
		return r;
	for (size_t i = 0, j = stack.count; i + 1 < j; i++) {
		struct resolved_frame frame = frames[--j];

		frames[j] = frames[i];
		frames[i] = frame;
	}
	return (int)stack.count;
}
