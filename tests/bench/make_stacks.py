#!/usr/bin/env python3
"""Prints the requested number of collapsed stacks, all different, made of 20 000 functions.
Each begins like the one before it. A million are 138 MB. Every run with PYTHONHASHSEED=0 prints the
same."""
import random
import sys

random.seed(7)
names = [f"ns{i % 37}::module_{i % 211}::function_{i}<int, std::vector<char>>(void const*, unsigned long)"
         [:random.randint(8, 70)] for i in range(20000)]
last, kept, seen = ["app"], [["app"]], set()
while len(seen) < int(sys.argv[1]):
    path = random.choice(kept) if random.random() < .3 else last
    path = path[:random.randint(1, len(path))]
    while len(path) < 3 or random.random() < .45 and len(path) < 40:
        path = path + [names[min(int(random.expovariate(1 / 3000)), 19999)]]
    last, text = path, ";".join(path)
    if random.random() < .01:
        kept.append(path)
    if hash(text) not in seen:
        seen.add(hash(text))
        print(text, random.randint(1, 9))
