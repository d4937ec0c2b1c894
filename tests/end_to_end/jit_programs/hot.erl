%% SPDX-License-Identifier: GPL-2.0-or-later
%% Runs heavy three times as long as light, for as many seconds as the argument says.
-module(hot).
-export([main/1]).

heavy(0, Sum) -> Sum;
heavy(N, Sum) -> heavy(N - 1, (Sum * 31 + N) band 16#ffffff).

light(0, Sum) -> Sum;
light(N, Sum) -> light(N - 1, (Sum * 31 + N) band 16#ffffff).

until(End, Sum) ->
    case erlang:monotonic_time(millisecond) < End of
        true -> until(End, light(200000, heavy(600000, Sum)));
        false -> Sum
    end.

main([Seconds]) ->
    End = erlang:monotonic_time(millisecond) + round(1000 * list_to_integer(Seconds)),
    _ = until(End, 1),
    halt(0).
