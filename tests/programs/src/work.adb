--  SPDX-License-Identifier: GPL-2.0-or-later
with Ada.Containers.Ordered_Maps;
with Ada.Strings.Unbounded; use Ada.Strings.Unbounded;

procedure Work is
   package Maps is new Ada.Containers.Ordered_Maps (Unbounded_String, Integer);
   Deepest : exception;

   function Fibonacci (N : Integer) return Integer is
     (if N < 2 then N else Fibonacci (N - 1) + Fibonacci (N - 2));

   procedure Descend (N : Integer) is
   begin
      if N = 0 then
         raise Deepest;
      end if;
      Descend (N - 1);
   end Descend;

   procedure Turn (Seed : Integer) is
      Words : Maps.Map;
   begin
      for I in 1 .. 300 loop
         Words.Include (To_Unbounded_String ("word" & Integer'Image (Seed * I mod 101)), I);
      end loop;
      Descend (5 + Fibonacci (18) mod 2);
   exception
      when Deepest => null;
   end Turn;
begin
   for Seed in 0 .. Integer'Last loop
      Turn (Seed mod 1000);
   end loop;
end Work;
