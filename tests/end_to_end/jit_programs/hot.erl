%% SPDX-License-Identifier: GPL-2.0-or-later
%% Runs heavy three times as long as light, for as many seconds of CPU time as the argument says, but
%% no longer than a minute. Turns of one length could march in step with the samples.
-module(hot).
-export([main/1]).

heavy(0, Sum) -> Sum;
heavy(N, Sum) -> heavy(N - 1, (Sum * 31 + N) band 16#ffffff).

light(0, Sum) -> Sum;
light(N, Sum) -> light(N - 1, (Sum * 31 + N) band 16#ffffff).

cpu_ms() ->
    {Milliseconds, _} = erlang:statistics(runtime),
    Milliseconds.

until(End, Latest, Sum) ->
    case cpu_ms() < End andalso erlang:monotonic_time(millisecond) < Latest of
        true ->
            Rounds = 100000 + rand:uniform(200000),
            until(End, Latest, light(Rounds, heavy(3 * Rounds, Sum)));
        false -> Sum
    end.

main([Seconds]) ->
    End = cpu_ms() + 1000 * list_to_integer(Seconds),
    Latest = erlang:monotonic_time(millisecond) + 60000,
    _ = until(End, Latest, 1),
    halt(0).
