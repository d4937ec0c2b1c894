{ SPDX-License-Identifier: GPL-2.0-or-later }
{$mode objfpc}
program work;
uses sysutils;

function fibonacci(n: integer): integer;
begin
  if n < 2 then
    result := n
  else
    result := fibonacci(n - 1) + fibonacci(n - 2);
end;

procedure descend(n: integer);
begin
  if n = 0 then
    raise exception.create('deepest');
  descend(n - 1);
end;

function turn(seed: integer): integer;
var
  text: string;
  i: integer;
begin
  text := '';
  for i := 1 to 100 do
    text := format('%s %d', [copy(text, 1, 100), (seed * i) mod 101]);
  try
    descend(5);
  except
    on exception do
      result := length(text) + fibonacci(18);
  end;
end;

var
  seed: integer = 0;
begin
  while true do
    seed := seed + turn(seed) mod 3;
end.
