#!/usr/bin/env python3
"""Compares what the agent assumes about cuBLAS, cuBLASLt and cuDNN with NVIDIA's headers in the given folders: the
numbers of gpu/agent/flops/math_abi.h, and the prototypes of the functions in whose place the agent's are called.

A parameter is a pointer, 4 bytes or 8 bytes: that is what a call passes.
"""
import glob
import os
import re
import subprocess
import sys

FILES = ("cublas.c", "cublaslt.c", "cudnn.c")
POINTERS = r"(cublas|cublasLt|cudnn)Handle_t|cublasLt\w+_t|cudnn\w*Descriptor_t|cudaStream_t"


def text_of(path):
    text = open(path, encoding="utf-8", errors="replace").read()
    return re.sub(r"//[^\n]*", "", re.sub(r"/\*.*?\*/", "", text, flags=re.S))


def numbers_of(text):
    found = {name: int(value) for name, value in re.findall(
        r"\b((?:CUDA_[RC]|CUBLAS|CUBLASLT|CUDNN)_\w+)(?:\s+CUDNN_DEPRECATED_ENUM)?\s*=\s*(\d+)\b", text)}
    found.update((name, int(value)) for name, value in re.findall(r"#define (CUDNN_DIM_MAX) (\d+)", text))
    return found


def kind(parameter):
    if "*" in parameter or "[" in parameter:
        return "p"
    words = [w for w in re.findall(r"\w+", parameter) if w != "const"]
    if re.fullmatch(POINTERS, words[0]) and not words[0].endswith("Algo_t"):
        return "p"
    return "8" if words[0] in ("int64_t", "size_t", "long") else "4"


def prototype(parameters):
    return "".join(kind(p.strip()) for p in parameters.split(","))


def ours():
    """The prototypes of the agent's functions, by the name of the one that each stands for."""
    found = {}
    for name in FILES:
        text = subprocess.run(["gcc", "-E", "-P", "-I.", "gpu/agent/flops/" + name], check=True, stdout=subprocess.PIPE,
                              text=True).stdout
        functions = dict(re.findall(r"static int (\w+)\(([^()]*)\)\s*\{", text))
        for theirs, mine in re.findall(r'\{ ?("[\w" ]+"), 0, \(uintptr_t\) ?\(?(\w+)\)? ?\}', text):
            found[re.sub(r'[" ]', "", theirs)] = prototype(functions[mine])
    return found


def theirs(text):
    found = {}
    for name, parameters in re.findall(r"\b((?:cublas|cublasLt|cudnn)[A-Z]\w*)\(([^()]+)\);", text):
        found.setdefault(name, prototype(parameters)) # calls in inline functions come later
    return found


mine, mine_numbers = ours(), numbers_of(text_of("gpu/agent/flops/math_abi.h"))
assert len(mine) > 60 and len(mine_numbers) > 40, (len(mine), len(mine_numbers))
seen, wrong = set(), []
for folder in sys.argv[1:]:
    real, real_numbers = {}, {}
    for path in glob.glob(os.path.join(folder, "*.h")):
        if re.match(r"(cublas_api|cublasLt|cudnn|library_types)", os.path.basename(path)):
            real.update(theirs(text_of(path)))
            real_numbers.update(numbers_of(text_of(path)))
    both = [(n, mine[n], real[n]) for n in mine if n in real]
    both += [(n, mine_numbers[n], real_numbers[n]) for n in mine_numbers if n in real_numbers]
    wrong += ["%s: %s here, %s in %s" % (n, a, b, folder) for n, a, b in both if a != b]
    seen.update(n for n, _, _ in both)
    print("%d prototypes and numbers: %s" % (len(both), folder))
for name in sorted((set(mine) | set(mine_numbers)) - seen):
    print("not in these headers: " + name)
assert not wrong, "\n".join(wrong)
assert seen, "nothing to compare in these folders"
