/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a kernel test needs of its machine. */
#pragma once

/* NULL, or why BPF programs cannot be loaded here, for a skip. */
const char *privilege_lacks_bpf(void);
