# Builds as many Python frames as the first argument says below an endless loop, of as many
# functions as the second argument says (or one).
import sys

kinds = int(sys.argv[2]) if len(sys.argv) > 2 else 1
source = "".join(
    "def deep%d(n):\n    return deep%d(n - 1) if n else loop()\n\n\n" % (i, (i + 1) % kinds) for i in range(kinds)
)


def loop():
    while not warming:
        for i in range(1000):
            i * i


exec(compile(source, __file__, "exec"))
warming = True  # first calls differ: the interpreter specializes them
for _ in range(100):
    deep0(kinds)
warming = False
deep0(int(sys.argv[1]))
