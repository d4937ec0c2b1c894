# Renders a document again and again.
require "asciidoctor"

chapter = <<~TEXT
  == A chapter

  A paragraph with *bold*, _italic_ and `code`, https://example.org[a link], and {counter:number}.

  * an item
  ** an item below it

  |===
  | a | b
  | c | d
  |===

  [source,ruby]
  ----
  puts 1
  ----
TEXT
loop { Asciidoctor.convert(chapter * 30, safe: :safe) }
