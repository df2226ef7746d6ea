"""sprof, a sampling profiler, as a Python package: its program, and magics for notebooks.

    sprof record -- python train.py
    python -m sprof report

In IPython and Jupyter, %load_ext sprof brings %%sprof and %sprof (see sprof/notebook.py).
"""
import os

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "sprof")


def main():
    """Becomes the program, so that signals, exit status and process number are its own."""
    import sys
    try:
        os.execv(PROGRAM, ["sprof"] + sys.argv[1:])
    except OSError as error:
        sys.exit("sprof: cannot run '%s': %s\nhint: install the wheel that `make wheel` makes"
                 % (PROGRAM, error.strerror))


def load_ipython_extension(shell):
    from .notebook import SprofMagics
    shell.register_magics(SprofMagics)
