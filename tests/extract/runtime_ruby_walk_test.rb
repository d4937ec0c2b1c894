# A program whose Ruby frames are known. It tells for each thread the frames that the thread sees itself, innermost
# first: "thread TID", then "frame LINE NAME FILE" each, of functions of C with line 0. Then its main thread runs until
# the program is killed.
C_FUNCTIONS = %w[call each each_entry fiddle instance_eval new next public_send resume sort_by synchronize tap].freeze

$reports = []
$gate = Queue.new

def report(wait)
  lines = ["thread " + File.readlink("/proc/thread-self")[/\d+$/]]
  caller_locations(0).each do |location|
    # From Ruby 3.4 on, a label has the class.
    name = location.label.sub(/(?:[\w:<>]|::)+[#.](?=[^.#]*$)/, "")
    line = C_FUNCTIONS.include?(name) ? 0 : location.lineno
    lines << "frame #{line} #{name.tr(' ', '~')} #{location.path}"
  end
  $reports << lines.join("\n")
  wait.call
end

class Shape
  def method_of_shape(&block)
    # A function of C between two of Ruby.
    [2, 1].sort_by { |number| number == 2 ? block.call : 1 }
  end

  def größe(depth, &block)
    return block.call if depth.zero?

    größe(depth - 1, &block)
  end

  define_method(:defined) { |block| block.call }
end

# From Ruby 3.4 on, backtraces show the frame of a rescue as that of its method.
def rescued(block)
  return block.call unless RUBY_VERSION < "3.4"

  begin
    raise ArgumentError, "a"
  rescue ArgumentError
    block.call
  end
end

def long_name_of_more_characters_than_a_string_of_ruby_has_in_its_own_object_or_in_those_with_more_room(block)
  block.call
end

def chain(wait)
  Shape.new.größe(20) do
    Shape.new.method_of_shape do
      rescued(lambda do
        long_name_of_more_characters_than_a_string_of_ruby_has_in_its_own_object_or_in_those_with_more_room(lambda do
          Shape.new.public_send(:defined, lambda { instance_eval { report(wait) } })
        end)
      end)
    end
  end
end

def spin
  puts $reports.join("\n"), "end"
  $stdout.flush
  while true do end
end

# Before Ruby 3.0 only the thread that has the lock can be read.
threads = RUBY_VERSION < "3" ? 0 : 2
threads.times { Thread.new { chain(lambda { $gate.pop }) } }
sleep 0.001 until $reports.size == threads
# Fibers have stacks of their own.
Fiber.new { chain(lambda { spin }) }.resume if ARGV[0] == "fiber"
chain(lambda { spin })
