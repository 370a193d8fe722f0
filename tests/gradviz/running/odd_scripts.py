"""Scripts that look at, leave or end their process in ways of their own."""

from __future__ import annotations

SCRIPTS = {
    "exit callbacks": """
        import atexit, sys
        atexit.register(print, "first registered")
        @atexit.register
        def last(): print("last registered", file=sys.stderr)
        @atexit.register
        def failing(): 1 / 0
    """,
    "exit in an exit callback": """
        import atexit, sys
        atexit.register(print, "still called")
        atexit.register(sys.exit, 3)
    """,
    "exit in a thread": """
        import sys, threading
        thread = threading.Thread(target=sys.exit, args=[3])
        thread.start(); thread.join()
        print("main thread goes on")
    """,
    "error in a thread": """
        import threading
        threading.Thread(target=lambda: 1 / 0, name="worker").start()
    """,
    "thread outlives the script": """
        import atexit, threading
        atexit.register(print, "callback")
        def work():
            threading.main_thread().join()
            print("main is alive:", threading.main_thread().is_alive())
        threading.Thread(target=work).start()
    """,
    "daemon thread waits": """
        import threading
        threading.Thread(target=threading.Event().wait, daemon=True).start()
        print("end")
    """,
    "open executor": """
        from concurrent.futures import ThreadPoolExecutor
        pool = ThreadPoolExecutor(2)
        print(pool.submit(lambda: 1).result())
        pool.submit(print, "second")
    """,
    "open process pool": """
        import multiprocessing
        from concurrent.futures import ProcessPoolExecutor
        pool = ProcessPoolExecutor(1, multiprocessing.get_context("fork"))
        print(pool.submit(abs, -1).result())
    """,
    "asyncio": """
        import asyncio
        async def main():
            print(await asyncio.to_thread(lambda: 2))
            asyncio.create_task(asyncio.sleep(9))
        asyncio.run(main())
    """,
    "spawned process": """
        import multiprocessing, os
        class Point: pass
        def work(queue, point): queue.put((__name__, type(point).__module__))
        if __name__ == "__main__":
            context = multiprocessing.get_context("spawn")
            queue = context.Queue()
            child = context.Process(target=work, args=(queue, Point()))
            child.start(); print(queue.get()); child.join(); print(child.exitcode)
    """,
    "forked process": """
        import multiprocessing, sys
        context = multiprocessing.get_context("fork")
        child = context.Process(target=sys.exit, args=[7])
        child.start(); child.join(); print(child.exitcode)
    """,
    "fork that runs to its end": """
        import atexit, os, sys
        atexit.register(lambda: print("callback", child == 0, flush=True))
        child = os.fork()
        if child:
            print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
        else:
            sys.exit(5)
    """,
    "handler of its own": """
        import signal
        signal.signal(signal.SIGTERM, lambda *_: print("mine"))
        signal.raise_signal(signal.SIGTERM)
    """,
    "interrupt": "import signal; signal.raise_signal(signal.SIGINT)",
    "interrupt caught": """
        import signal
        try: signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt: print("caught")
    """,
    "told to end": "import signal; signal.raise_signal(signal.SIGTERM)",
    "terminal closed": "import signal; signal.raise_signal(signal.SIGHUP)",
    "killed": "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
    "ignored signal": """
        import signal
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.raise_signal(signal.SIGTERM); print("on")
    """,
    "abort": "import os; os.abort()",
    "os._exit": "import os; print('lost'); os._exit(4)",
    "os._exit in a thread": """
        import os, threading
        threading.Thread(target=os._exit, args=[6]).start(); threading.Event().wait()
    """,
    "exec": """
        import os, sys
        os.execvp(sys.executable, [sys.executable, "-c", "print('other'); exit(9)"])
    """,
    "exec of nothing": """
        import os
        try: os.execvp("no-such-program", ["x"])
        except FileNotFoundError as error: print(error)
    """,
    "fault handler": """
        import faulthandler, sys
        faulthandler.enable(); print(faulthandler.is_enabled())
    """,
    "excepthook replaced": """
        import sys
        sys.excepthook = lambda kind, error, trace: print(kind, trace.tb_lineno)
        1 / 0
    """,
    "excepthook fails": """
        import sys
        def hook(*_): [][1]
        sys.excepthook = hook
        1 / 0
    """,
    "excepthook exits": """
        import sys
        sys.excepthook = lambda *_: sys.exit(8)
        1 / 0
    """,
    "last error": """
        import atexit, sys
        atexit.register(lambda: print(sys.last_type, sys.last_value is not None))
        1 / 0
    """,
    "message of sys.exit": "import sys; print('out'); sys.exit(['not', 'a number'])",
    "exit status": "raise SystemExit(-1)",
    "depth of recursion": """
        def depth(n):
            try: return depth(n + 1)
            except RecursionError: return n
        print(depth(0))
    """,
    "endless recursion": "def f(): f()\nf()",
    "long expression": "z = 0\nprint(" + "+".join(["z"] * 2900) + ")",
    "names of main": """
        import sys
        for name, value in list(globals().items()):
            print(name, type(value).__name__, value if name != "__loader__" else "")
        main = sys.modules["__main__"]
        print(main.__dict__ is globals(), main, __loader__.name == "__main__")
        print(__loader__.get_filename() == __file__)
    """,
    "pickled class": """
        import pickle, dataclasses, inspect
        @dataclasses.dataclass(slots=True)
        class Point:
            x: int = 1
        print(pickle.loads(pickle.dumps(Point())), inspect.getsource(Point))
        print(inspect.getmodule(Point), inspect.getfile(Point))
    """,
    "annotations": "x: int = 1\nprint(__annotations__)",
    "runpy": """
        import pathlib, runpy
        pathlib.Path("other.py").write_text("print(__name__, __file__)")
        print(sorted(runpy.run_path("other.py", run_name="__main__"))[-1])
        print(__name__)
    """,
    "another folder": """
        import os
        os.makedirs("deep/er"); os.chdir("deep/er"); print(os.path.relpath(__file__))
        open("left.txt", "w").write("here")
        1 / 0
    """,
    "lost folder": """
        import os
        os.mkdir("gone"); os.chdir("gone"); os.rmdir("../gone")
        1 / 0
    """,
    "no stdout": "import sys; sys.stdout = None; print('nobody'); sys.exit('told')",
    "no streams": "import sys; sys.stdout = sys.stderr = None; print('nobody'); 1 / 0",
    "closed streams": "import sys; sys.stdout.close(); sys.stderr.close()",
    "closed stdout then error": "import sys; sys.stdout.close(); 1 / 0",
    "closed stderr then exit": "import sys; sys.stderr.close(); sys.exit(3)",
    "closed descriptors": "import os; print('lost'); os.close(1); os.close(2)",
    "detached stderr": "import sys; sys.stderr.detach(); print('out')",
    "stderr into a file": """
        import sys
        sys.stderr = open("log.txt", "w"); print("logged", file=sys.stderr)
    """,
    "redirected": """
        import contextlib, io, sys
        kept = io.StringIO(); sys.stdout = kept
        print("kept"); sys.__stdout__.write(kept.getvalue())
    """,
    "generator left open": """
        def numbers():
            try: yield 1
            finally: print("closed")
        left = numbers(); print(next(left))
    """,
    "finalizers": """
        import atexit, weakref
        class Thing:
            def __del__(self): print("deleted")
        thing, other = Thing(), Thing()
        weakref.finalize(other, print, "finalized")
        atexit.register(print, "callback")
    """,
    "unwaited coroutine": "async def f(): pass\nf()",
    "warning": "import warnings; warnings.warn('careful')",
    "temporary folder": """
        import tempfile
        kept = tempfile.TemporaryDirectory(); print("made")
    """,
    "logging": """
        import atexit, logging
        logging.basicConfig(format="%(name)s %(message)s %(filename)s %(lineno)d")
        logging.warning("w"); atexit.register(logging.warning, "late")
    """,
    "arguments": "import sys; print(sys.argv, sys.path[0])",
    "syntax error": "x = = 1",
    "unicode error in output": r"print('\ud800')",
    "import of main": "import __main__; print(__main__.__dict__ is globals())",
}
"""What each does, and how: none of it may depend on who started the script."""
