%% SPDX-License-Identifier: GPL-2.0-or-later
-module(work).
-export([main/0]).

fibonacci(N) when N < 2 -> N;
fibonacci(N) -> fibonacci(N - 1) + fibonacci(N - 2).

turn(Seed) ->
    Words = [integer_to_list(Seed * I rem 101) || I <- lists:seq(1, 500)],
    Map = maps:from_list([{W, length(W)} || W <- lists:sort(Words)]),
    binary:part(term_to_binary(Map), 0, 4),
    fibonacci(15).

main() -> loop(0).

loop(Seed) -> turn(Seed), loop(Seed + 1).
