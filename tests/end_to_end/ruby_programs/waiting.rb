# SPDX-License-Identifier: GPL-2.0-or-later
# waiting.rb FILE: threads that wait in methods of these names. Writes FILE once all do: the methods of each as Ruby
# tells them, innermost first, each on a line, and an empty line behind each thread.
require 'socket'

READER, WRITER = UNIXSocket.pair
HELD = Mutex.new
HELD.lock

def in_sleep
  sleep
end

def in_lock
  HELD.lock
end

def in_queue
  Queue.new.pop
end

def in_socket
  READER.readpartial(1)
end

def in_block
  [1].each { sleep }
end

def nested(depth)
  depth > 0 ? nested(depth - 1) : in_sleep
end

def in_nested
  nested(20)
end

# More methods than a sample of a thread that runs may be the first to meet.
70.times { |number| eval "def many_#{number}; many_#{number + 1}; end" }

def many_70
  in_sleep
end

def in_many
  many_0
end

def wait_for_ever(name)
  send(name)
end

waiting = %i[in_sleep in_lock in_queue in_socket in_block in_nested in_many]
threads = waiting.map { |name| Thread.new { wait_for_ever(name) } }
sleep 0.01 until threads.all? { |thread| thread.status == 'sleep' }
sleep 0.2
chains = threads.map { |thread| thread.backtrace_locations.map { |at| at.label.sub(/[^ ]*[#.]/, '') + "\n" }.join }
File.write("#{ARGV[0]}.part", chains.join("\n"))
File.rename("#{ARGV[0]}.part", ARGV[0])
sleep
