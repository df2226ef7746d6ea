#!/usr/bin/env python3
"""Prints collapsed stacks, all different, the number that is asked for: NUMBER [SHAPE].

  growing   20 000 functions; each stack begins like the one before it (the default; 138 MB a million)
  shuffled  the same stacks in random order
  deep      1 200 short names, 8 to 120 frames: walks over a call graph in which a function mostly
            calls the same other one, in no order
  bushy     the same, but a function calls each of its callees equally often, so that stacks share
            little but their root and nearly every frame is a box of its own

Every run with PYTHONHASHSEED=0 prints the same."""
import random
import sys


def growing(nr):
    names = [f"ns{i % 37}::module_{i % 211}::function_{i}<int, std::vector<char>>(void const*, unsigned long)"
             [:random.randint(8, 70)] for i in range(20000)]
    last, kept, seen = ["app"], [["app"]], set()
    while len(seen) < nr:
        path = random.choice(kept) if random.random() < .3 else last
        path = path[:random.randint(1, len(path))]
        while len(path) < 3 or random.random() < .45 and len(path) < 40:
            path = path + [names[min(int(random.expovariate(1 / 3000)), 19999)]]
        last, text = path, ";".join(path)
        if random.random() < .01:
            kept.append(path)
        if hash(text) not in seen:
            seen.add(hash(text))
            yield text


def walks(nr, first):
    names = [f"f{i}" for i in range(1200)]
    calls = [[int(random.paretovariate(.6)) * (i + 7) % 1200 for _ in range(1 + i % 5)] for i in range(1200)]
    seen = set()
    while len(seen) < nr:
        at, path = random.randrange(4), ["main"]
        for _ in range(min(8 + int(random.expovariate(1 / 18)), 120)):
            path.append(names[at])
            at = calls[at][0] if random.random() < first else random.choice(calls[at])
        text = ";".join(path)
        if hash(text) not in seen:
            seen.add(hash(text))
            yield text


def shuffled(nr):
    stacks = list(growing(nr))
    random.shuffle(stacks)
    return stacks


random.seed(7)
shapes = {"growing": growing, "shuffled": shuffled, "deep": lambda nr: walks(nr, .85), "bushy": lambda nr: walks(nr, 0)}
for stack in shapes[sys.argv[2] if len(sys.argv) > 2 else "growing"](int(sys.argv[1])):
    print(stack, random.randint(1, 9))
