# Allocates and frees small objects in two threads, and checks that each keeps its content, until the
# file $END_FILE appears.
import os
import random
import sys
import threading

end_file = os.environ["END_FILE"]
wrong = []


def work(seed):
    rng = random.Random(seed)
    blocks = {}
    while not os.path.exists(end_file):
        for _ in range(2000):
            at = rng.randrange(4000)
            if at in blocks and blocks[at] != bytes([at & 255]) * len(blocks[at]):
                wrong.append(at)
            blocks[at] = bytes([at & 255]) * rng.randrange(1, 900)
            if len(blocks) > 3000:
                blocks.clear()


thread = threading.Thread(target=work, args=(1,))
thread.start()
work(2)
thread.join()
sys.exit(bool(wrong))
