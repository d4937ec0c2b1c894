/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requirements of kernel tests. */
#pragma once

/* Returns NULL, or why BPF programs cannot be loaded here, as the reason for a skip. */
const char *privilege_lacks_bpf(void);
