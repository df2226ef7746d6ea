"""%%sprof and %sprof: the flame graph of a cell, or of a statement, in IPython and Jupyter.

While the code runs, the program `sprof record` is attached to this very process by its source timer,
which needs no rights, and leaves when the code has ended. This module only starts and ends it, and
shows the picture that `sprof flame` draws.
"""
import ast
import base64
import ctypes
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_cell_magic, magics_class
from IPython.display import display

from . import PROGRAM

PR_SET_PTRACER = 0x59616D61  # prctl(2); a kernel without Yama does not know it, and asks no consent
ATTACH_S = 60
DETACH_S = 300  # the names of large programs take their time
OF_RECORD = ("F", "s", "clock")  # options of the magics, and whose they are
OF_FLAME = ("t", "column", "by", "focus", "ignore", "hide", "show-from")


class SprofError(Exception):
    """What sprof said. A traceback would show nothing but IPython's own functions."""

    def _render_traceback_(self):
        return ["SprofError: %s" % self]


class Picture:
    """A flame graph for notebooks, and a table of the same profile for terminals."""

    def __init__(self, svg, table):
        self.svg = svg
        self.table = table

    def _repr_mimebundle_(self, include=None, exclude=None):
        # In a frame of its own, its script, names and styles do not meet those of another cell.
        height = re.search(rb'<svg[^>]* height="(\d+)"', self.svg)
        frame = '<iframe src="data:image/svg+xml;base64,%s" title="flame graph" style="%s"></iframe>'
        style = "width: 100%%; height: %dpx; border: 0" % (int(height.group(1)) if height else 600)
        return {"text/html": frame % (base64.b64encode(self.svg).decode(), style),
                "text/plain": self.table}


def complaint(text):
    """What sprof wrote to its standard error, as the text of an exception."""
    return re.sub(r"(?m)^sprof: ", "", text).strip() or "sprof failed, and did not say why"


def run(*arguments):
    """Runs a command of sprof that reads. Returns what it wrote to its standard output."""
    done = subprocess.run([PROGRAM, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE)
    if done.returncode:
        raise SprofError(complaint(done.stderr.decode(errors="replace")))
    return done.stdout


def let_trace(pid):
    """Where Yama restricts ptrace(2) to parents: lets this child trace us; with 0, nobody."""
    ctypes.CDLL(None).prctl(PR_SET_PTRACER, ctypes.c_ulong(pid), 0, 0, 0)


class Recorder:
    """`sprof record` of this process. It writes to a path that does not exist before."""

    def __init__(self, path, options):
        self.path = path
        self.messages = tempfile.TemporaryFile()
        command = [PROGRAM, "record", "-p", str(os.getpid()), "-o", path, *options]
        # The shell waits until its process may trace us. In a session of its own it does not get
        # the ^C that is meant for the code.
        self.child = subprocess.Popen(
            ["/bin/sh", "-c", 'read go && exec "$@"', "sh", *command], start_new_session=True,
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=self.messages)
        let_trace(self.child.pid)
        try:
            self.child.stdin.write(b"go\n")
            self.child.stdin.close()
            self.wait_until_attached()
        except BaseException:
            self.end(signal.SIGTERM)
            raise

    def wait_until_attached(self):
        # The recording appears once the process is attached to.
        end = time.monotonic() + ATTACH_S
        while not os.path.exists(self.path):
            if self.child.poll() is not None:
                raise SprofError(complaint(self.said()) + "\nThe code was not run.")
            if time.monotonic() > end:
                raise SprofError("sprof did not attach in %d s. The code was not run." % ATTACH_S)
            time.sleep(0.005)

    def said(self):
        self.messages.seek(0)
        return self.messages.read().decode(errors="replace")

    def end(self, how=signal.SIGINT):
        """Has it leave, and write what it sampled. Returns its messages."""
        self.child.send_signal(how)
        try:
            self.child.wait(DETACH_S)
        except BaseException:
            self.child.kill()  # what it put into this process turns itself off
            self.child.wait()
            raise
        finally:
            let_trace(0)
        return self.said()


@magics_class
class SprofMagics(Magics):
    """What %load_ext sprof brings."""

    @line_cell_magic
    def sprof(self, line, cell=None):
        """Shows the flame graph of a cell, or of a statement.

        %%sprof [options]
        code

        %sprof [options] statement

        -F HZ         samples per second and CPU: 999 unless said
        -s SOURCE     how samples are taken: timer unless said, which needs no rights
        --clock wall  sample waiting threads, too
        -o FILE       keep the recording, for sprof report, sprof lines and others
        -t TITLE      the title of the picture
        --column, --by, --focus, --ignore, --hide, --show-from: as those of sprof flame
        """
        __tracebackhide__ = True  # IPython leaves such frames out of the traceback of the code
        options, code = self.take_options(line, cell)
        with tempfile.TemporaryDirectory(prefix="sprof-") as folder:
            path = os.path.join(folder, "cell.data")
            recorder = Recorder(path, ["-F999", "-stimer", *chosen(options, OF_RECORD)])
            try:
                value = self.run_code(code)
            except BaseException:
                try:
                    show(recorder, options)
                except SprofError as error:
                    print("SprofError: %s" % error, file=sys.stderr)
                raise
            show(recorder, options)
            return value

    def take_options(self, line, cell):
        """Returns the options, each a list of its values, and the code."""
        # The quotes of a statement are its own.
        options, rest = self.parse_options(
            line, "F:s:o:t:", "clock=", "column=", "by=", "focus=", "ignore=", "hide=",
            "show-from=", list_all=True, posix=cell is not None, strict=False,
            preserve_non_opts=cell is None)
        if cell is not None and rest:
            raise UsageError("%%%%sprof takes no argument beside its options: %s" % rest)
        if cell is None and not rest:
            raise UsageError("%sprof needs a statement, such as: %sprof train(model)")
        return options, rest if cell is None else cell

    def run_code(self, code):
        """Runs it as a cell. Returns the value of a last expression, which IPython shows."""
        __tracebackhide__ = True
        shell = self.shell
        text = shell.transform_cell(code)
        name = shell.compile.cache(text, shell.execution_count)
        body = shell.transform_ast(ast.parse(text, name)).body
        last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
        exec(named(compile(ast.Module(body, []), name, "exec")), shell.user_ns)
        if last is None:
            return None
        value = eval(named(compile(ast.Expression(last.value), name, "eval")), shell.user_ns)
        return None if code.rstrip().endswith(";") else value


def named(code):
    """The same code, called <cell> in the picture."""
    names = [name for name in ("co_name", "co_qualname") if hasattr(code, name)]
    return code.replace(**dict.fromkeys(names, "<cell>"))


def chosen(options, names):
    """Those options as the program takes them."""
    dashes = {name: "-" + name if len(name) == 1 else "--" + name + "=" for name in names}
    return [dashes[name] + value for name in names for value in options.get(name, [])]


def show(recorder, options):
    said = recorder.end()
    if recorder.child.returncode:
        raise SprofError(complaint(said))
    for line in said.splitlines():
        if line.startswith("sprof: warning"):
            print(line, file=sys.stderr)
    look = chosen(options, OF_FLAME)
    title = [] if "t" in options else ["-t", "a cell"]
    picture = run("flame", "-o", "-", *title, *look, recorder.path)
    table = run("report", "-n", "10", *[word for word in look if not word.startswith("-t")],
                recorder.path)
    for path in options.get("o", [])[-1:]:
        shutil.move(recorder.path, path)
    display(Picture(picture, table.decode()))
