(* SPDX-License-Identifier: GPL-2.0-or-later *)
exception Deepest of int

let rec fibonacci n = if n < 2 then n else fibonacci (n - 1) + fibonacci (n - 2)
let rec descend n = if n = 0 then raise (Deepest n) else 1 + descend (n - 1)

let turn seed =
  let words = Hashtbl.create 16 in
  for i = 1 to 500 do
    Hashtbl.replace words (Printf.sprintf "word%d" (seed * i mod 101)) i
  done;
  let list = List.sort compare (Hashtbl.fold (fun key _ rest -> key :: rest) words []) in
  (try descend 20 with Deepest n -> n) + String.length (String.concat " " list) + fibonacci 18

let () =
  let seed = ref 0 in
  while true do
    seed := !seed + (turn !seed land 3)
  done
