/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Variables that the sampler's two objects have in common (sending.bpf.h). They are in a section
 * and so in a map of their own, which the engine has mapped, too.
 */
#pragma once

#include <bpf/bpf_helpers.h>

#define SHARED SEC(".data.shared")
