"""Runs cells in a real Jupyter kernel, headless: run_notebook.py OUT.json <cells

Cells are Python, with a line "# ----" between them. OUT.json gets a list with, for each cell, its
outputs as Jupyter keeps them. A cell that fails ends nothing.
"""
import json
import sys

import nbformat
from nbclient import NotebookClient

cells = [cell.strip("\n") for cell in sys.stdin.read().split("# ----\n")]
book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
NotebookClient(book, timeout=240, kernel_name="python3", allow_errors=True).execute()
with open(sys.argv[1], "w") as file:
    json.dump([cell.outputs for cell in book.cells], file)
