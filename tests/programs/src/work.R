# SPDX-License-Identifier: GPL-2.0-or-later
fibonacci <- function(n) if (n < 2) n else fibonacci(n - 1) + fibonacci(n - 2)
seed <- 0
repeat {
  words <- paste0("word", seed * seq_len(500) %% 101)
  counts <- sapply(split(words, words), length)
  m <- matrix(runif(2500), 50)
  seed <- seed + sum(solve(m) > 0) %% 3 + nchar(gsub("word([0-9]+)", "<\\1>", words[1])) + fibonacci(8) %% 2
}
