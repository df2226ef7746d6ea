"""Puts a profiler's kernels into the steps of a program that waits for the GPU at the end of each: (begin, end) in ns, both on the
clock of that profiler."""
from bisect import bisect_right

SLACK_NS = 50000 # CUPTI interpolates GPU times


def span(kernels):
    """How many, the first one's begin, the last one's end."""
    return [len(kernels), min((k[0] for k in kernels), default=0), max((k[1] for k in kernels), default=0)]


def steps_of(steps, kernels):
    """`inside`: for each step its begin and end, and span() of the kernels that began in it; `outside`: span() of the others."""
    steps = sorted(set(map(tuple, steps)))
    begins, held, outside = [s[0] for s in steps], [[] for _ in steps], []
    for kernel in kernels:
        at = [bisect_right(begins, kernel[0] + slack) - 1 for slack in (0, SLACK_NS)]
        found = [i for i in at if i >= 0 and kernel[0] <= steps[i][1]]
        found += [i for i in at if i >= 0 and kernel[0] <= steps[i][1] + SLACK_NS]
        (held[found[0]] if found else outside).append(kernel)
    return {"inside": [[*s, *span(k)] for s, k in zip(steps, held)], "outside": span(outside)}
